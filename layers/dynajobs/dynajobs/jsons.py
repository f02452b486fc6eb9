"""JSON as it is stored: what fits exactly, how it is written, how it is cut."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from dynajobs.errors import InvalidJob

_MAX_DEPTH = 200
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character: DynamoDB refuses it, JSON text written elsewhere may hold it as an escape."""

_MAX_BITS = 14_000
"""Of a whole number: Python reads no more than 4,300 digits of one."""

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
TOKEN = re.compile(
    rf"(?P<key>{_STRING}\s*:\s*)|(?P<string>{_STRING})|(?P<open>[{{\[])|(?P<close>[}}\]])"
    r"|(?P<comma>,)|(?P<space>\s+)|(?P<word>[^\s\[\]{},\"]+)"
)
"""What JSON text is made of; put together again, the parts are the text. A key has its colon with it."""


def dump_json(value: Any) -> str:
    """Compact JSON text that UTF-8 can hold; NaN and Infinity are refused."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if not text.isascii() and _SURROGATE.search(text):
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text


def load_json(text: str) -> Any:
    """The value of JSON text; ValueError for anything that is no JSON, NaN and Infinity included."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def cut_text(text: str, most: int) -> str:
    """The text, or as much of its start as fits into `most` bytes with a mark that says so."""
    raw = text.encode(errors="replace")
    if len(raw) <= most:
        return raw.decode()
    mark = f"… [truncated, {len(raw)} bytes]"
    return raw[: most - len(mark.encode())].decode(errors="ignore") + mark


def cut_json(value: Any, most: int) -> Any:
    """The value, or the start of its JSON text with a mark if that has more than `most` bytes."""
    text = dump_json(value)
    if len(text.encode()) <= most:
        return value
    room = most - 2
    # Written as JSON once more, the quotes in it double.
    while (over := len(dump_json(cut_text(text, room)).encode()) - most) > 0:
        room -= (over + 1) // 2
    return cut_text(text, room)


def exact(value: Any, path: str, depth: int = 0) -> Any:
    """The value as plain JSON data; `InvalidJob` names the place of anything else."""
    if depth > _MAX_DEPTH:
        raise InvalidJob(f"{path[:80]}… is nested deeper than {_MAX_DEPTH} levels")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > _MAX_BITS:
            raise InvalidJob(f"{path} has too many digits: JSON readers refuse such a number")
        return value
    if isinstance(value, str):
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise InvalidJob(f"{path} has a lone surrogate: it cannot be written as UTF-8") from None
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidJob(f"{path} is {value}: JSON has no such number")
        return value
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise InvalidJob(f"{path} has the key {name!r}: JSON keys are strings")
        return {
            exact(name, path, depth): exact(inner, f"{path}.{name}", depth + 1)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [exact(inner, f"{path}[{place}]", depth + 1) for place, inner in enumerate(value)]
    raise InvalidJob(
        f"{path} is a {type(value).__name__}: JSON cannot hold it; convert it, or pass a BaseModel that does"
    )
