"""Which values are secret, and how data looks once they are masked."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from dynajobs.jsons import TOKEN

MASK = "•••"

_SECRETS = (
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "auth",
    "authorization",
    "bearer",
    "jwt",
    "otp",
    "credential",
    "cookie",
    "csrf",
    "xsrf",
    "cvv",
    "cvc",
    "api key",
    "access key",
    "account key",
    "private key",
    "signing key",
    "encryption key",
    "ssh key",
    "session id",
    "session key",
    "connection string",
)
# Deeper data is masked whole: it fails closed, and far below Python's own recursion limit.
_MAX_DEPTH = 100
_KEY = re.compile(r'"([^"\\]*)"\s*:')
_BOUNDARY = re.compile(
    r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[a-z])"
)


def mask(value: Any, extra: Collection[str] = ()) -> Any:
    """A copy of JSON-like data in which the values under secret keys read MASK.

    >>> mask({"user": "u1", "dbPassword": "x", "items": [{"X-Api-Key": 1}]}, extra=["user"])
    {'user': '•••', 'dbPassword': '•••', 'items': [{'X-Api-Key': '•••'}]}
    """
    return _mask(value, _forms(tuple(extra)), _MAX_DEPTH)


def mask_json(text: str, extra: Collection[str] = ()) -> str:
    """JSON text in which the values under secret keys read MASK and every other byte is as it was.

    >>> mask_json('{"n": 1.0,  "token": [1, 2]}')
    '{"n": 1.0,  "token": "•••"}'
    """
    forms = _forms(tuple(extra))
    kept: list[str] = []
    depth, secret, end = 0, False, 0
    hidden_from: int | None = None  # the depth around a value that is being left out
    for token in TOKEN.finditer(text):
        if token.start() != end:
            break
        kind, part, end = token.lastgroup, token[0], token.end()
        depth += (kind == "open") - (kind == "close")
        if hidden_from is not None:
            hidden_from = None if depth == hidden_from else hidden_from
        elif secret or depth > _MAX_DEPTH:
            kept.append(f'"{MASK}"')
            hidden_from = depth - 1 if kind == "open" else None
            secret = False
        else:
            kept.append(_mask_within(part, extra) if kind == "string" else part)
            secret = kind == "key" and _matches(json.loads(part[: part.rindex('"') + 1]), forms)
    tail = text[end:]
    if tail:  # no JSON from here on: text that was cut
        unsafe = secret or hidden_from is not None or any(_matches(key, forms) for key in _KEY.findall(tail))
        kept.append(MASK if unsafe else tail)
    return "".join(kept)


def mask_text(text: str, extra: Collection[str] = ()) -> str:
    """Any text; if it looks like JSON, or like the start of some, what is secret in it is masked.

    >>> mask_text('{"token": "abc and mo… [truncated, 20000 bytes]')
    '{"token": •••'
    """
    return mask_json(text, extra) if text.lstrip()[:1] in ("{", "[") else text


def _mask_within(part: str, extra: Collection[str]) -> str:
    """A JSON string that may hold JSON itself; as it is if nothing in that is secret."""
    if not part.startswith(('"{', '"[')):
        return part
    inner = json.loads(part)
    masked = mask_text(inner, extra)
    return part if masked == inner else json.dumps(masked, ensure_ascii=False)


def is_secret(key: str, extra: Collection[str] = ()) -> bool:
    """True if the value under this key is to be masked."""
    return _matches(key, _forms(tuple(extra)))


def mask_model(model: Any, extra: Collection[str] = ()) -> Any:
    """A pydantic model as masked JSON-like data; None where it cannot be dumped safely."""
    from pydantic_core import to_jsonable_python

    try:
        # Serialisation warnings would print field values to stderr.
        dumped = mask(model.model_dump(warnings=False), extra)
        plain = to_jsonable_python(dumped, bytes_mode="base64", inf_nan_mode="strings", fallback=_stand_in)
        return mask(plain, extra)
    except Exception:  # noqa: BLE001  a user's own serialiser may raise anything
        return None


def secret_names(model: Any) -> frozenset[str]:
    """The names (and aliases) of a pydantic model class's secret fields, nested models included.

    A payload that failed validation is plain data: its secret fields can only be told by their names.
    """
    found: set[str] = set()
    seen: set[Any] = set()
    waiting = [model]
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        for name, field in (getattr(each, "model_fields", None) or {}).items():
            for kind in _parts(getattr(field, "annotation", None)):
                if hasattr(kind, "get_secret_value"):
                    aliases = (getattr(field, "alias", None), getattr(field, "validation_alias", None))
                    found.update(text for text in (name, *aliases) if isinstance(text, str))
                elif hasattr(kind, "model_fields"):
                    waiting.append(kind)
    return frozenset(found)


def _parts(annotation: Any) -> list[Any]:
    inner = [part for each in getattr(annotation, "__args__", ()) for part in _parts(each)]
    return [annotation, *inner, getattr(annotation, "__origin__", None)]


def _stand_in(value: Any) -> str:
    # Not repr: an unknown object's repr may spell out the very fields that are to be masked.
    return MASK if hasattr(value, "get_secret_value") else f"<{type(value).__name__}>"


def _mask(value: Any, forms: frozenset[str], depth: int) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if depth == 0 or hasattr(value, "get_secret_value"):
        return MASK
    if isinstance(value, Mapping):
        return {
            key: MASK if isinstance(key, str) and _matches(key, forms) else _mask(each, forms, depth - 1)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_mask(each, forms, depth - 1) for each in value]
    return value


@lru_cache(maxsize=4096)
def _matches(key: str, forms: frozenset[str]) -> bool:
    words = _words(key)
    longest = max(map(len, forms))
    for start in range(len(words)):
        span = ""
        for word in words[start : start + longest]:
            span += word
            if len(span) > longest:
                break
            if span in forms:
                return True
    return False


@lru_cache(maxsize=64)
def _forms(extra: tuple[str, ...]) -> frozenset[str]:
    """Every listed name written as one word, singular and plural: `api key` is also met as `apikeys`."""
    found: set[str] = set()
    for name in (*_SECRETS, *extra):
        word = "".join(_words(name))
        if not word:
            continue
        found |= {word, word + "s"}
        if word.endswith(("s", "x", "z", "ch", "sh")):
            found.add(word + "es")
        if word.endswith("y"):
            found.add(word[:-1] + "ies")
        if word.endswith("ies"):
            found.add(word[:-3] + "y")
        elif word.endswith("s") and not word.endswith("ss"):
            found.add(word[:-1])
    return frozenset(found)


def _words(key: str) -> list[str]:
    return [word.lower() for word in _BOUNDARY.split(key) if word]
