"""What an error leaves behind: its short text, the useful end of its traceback, and its fingerprint."""

from __future__ import annotations

import hashlib
import os
import re
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

MAX_ERROR = 300
MAX_LAST_ERROR = 4096
# So that the class and the start of the message survive whatever else has to go.
_MAX_MESSAGE = 1024
_MAX_FRAMES = 30
_MAX_CHAIN = 10
_MAX_FIELDS = 20
_WITHHELD = "•••"

_HEADER = "Traceback (most recent call last):\n"
_CAUSE = "\n\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\n\nDuring handling of the above exception, another exception occurred:\n\n"

# Cut by hand: importing pathlib for this would cost a cold start several milliseconds.
_PACKAGE = __file__.removesuffix("fault.py")
_STDLIB = os.__file__.removesuffix("os.py")
_FOREIGN = (_PACKAGE, _STDLIB, "/opt/python/", "/var/runtime/", "<")
_BASENAME = re.compile(r".*[/\\]", re.DOTALL)
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_VARIABLE = re.compile(
    r"""
      (?P<url>\b[a-z][a-z0-9+.-]{0,20}://\S+)
    | (?P<quoted>(?<!\w)(?:'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+"|`[^`]*`|“[^”]*”|«[^»]*»)(?!\w))
    | (?P<id>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{8,}\b|(?<!\w)[-+]?\w*\d\w*)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_REPEATED = re.compile(r"#(?:[\s,;:.+/-]*#)+")
# Messages of these types, and of validators' own ones, may quote what was put in.
_QUOTING = frozenset(
    {
        "assertion_error",
        "bytes_invalid_encoding",
        "get_attribute_error",
        "iteration_error",
        "mapping_type",
        "union_tag_invalid",
        "value_error",
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One failure as it is stored: `error` in the run, `last_error` and `fingerprint` in the job."""

    error: str
    last_error: str
    fingerprint: str


def from_exception(job_type: str, error: BaseException) -> Fault:
    """The fault of an exception that a handler let out."""
    kind, message = type(error).__name__, describe(error)
    return Fault(
        error=_limit(_headline(kind, message), MAX_ERROR),
        last_error=_traceback(error),
        fingerprint=_fingerprint(job_type, kind, message, _own_frame(error.__traceback__)),
    )


def from_message(job_type: str, kind: str, message: str) -> Fault:
    """The fault of a failure without an exception; `kind` stands for the class, as in "LeaseExpired"."""
    headline = _headline(kind, _storable(message))
    return Fault(
        error=_limit(headline, MAX_ERROR),
        last_error=_limit(headline, MAX_LAST_ERROR),
        fingerprint=_fingerprint(job_type, kind, message, ""),
    )


def from_validation(job_type: str, error: BaseException) -> Fault:
    """The fault of a payload that its model refused: which fields and why, never what was put in."""
    return from_message(job_type, "InvalidPayload", _validation_text(error))


def describe(error: BaseException) -> str:
    """The exception's own text without a validation error's input values, also where it quotes one.

    Never raises.
    """
    if _is_validation(error):
        return _validation_text(error)
    try:
        text = str(error)
        for each, _ in chain(error)[1:]:
            if _is_validation(each):
                text = text.replace(str(each), _validation_text(each))
        return _storable(text)
    except Exception:  # noqa: BLE001  a broken __str__ must not hide that the job failed
        return "<its text could not be made>"


def _is_validation(error: BaseException) -> bool:
    """True for pydantic's ValidationError, whose text spells out the values that it refused."""
    return type(error).__name__ == "ValidationError" and callable(getattr(error, "errors", None))


def chain(error: BaseException) -> list[tuple[BaseException, str]]:
    """The exception and what led to it, newest first, each with the words that join it to the next newer."""
    found: list[tuple[BaseException, str]] = [(error, "")]
    seen = {id(error)}
    while len(found) < _MAX_CHAIN:
        last = found[-1][0]
        cause, words = last.__cause__, _CAUSE
        if cause is None and not last.__suppress_context__:
            cause, words = last.__context__, _CONTEXT
        if cause is None or id(cause) in seen:
            break
        seen.add(id(cause))
        found.append((cause, words))
    return found


def _traceback(error: BaseException) -> str:
    text = ""
    for each, words in chain(error):
        room = MAX_LAST_ERROR - len((words + text).encode())
        block = _block(each, room)
        if text and block is None:
            break
        text = (block or "") + words + text
    return text


def _block(error: BaseException, room: int) -> str | None:
    """One exception's part of a traceback in at most `room` bytes, frames dropped from the top."""
    ending = _limit(_headline(type(error).__name__, describe(error)), _MAX_MESSAGE)
    for extra in _remarks(error):
        if len((ending + extra).encode()) <= 2 * _MAX_MESSAGE:
            ending += extra
    frames = _frames(error.__traceback__)
    shortened = ""
    while frames:
        block = _HEADER + shortened + "".join(frames) + ending
        if len(block.encode()) <= room:
            return block
        frames, shortened = frames[1:], "  …\n"
    return ending if len(ending.encode()) <= room else None


def _remarks(error: BaseException) -> Iterator[str]:
    notes = getattr(error, "__notes__", None)
    for note in notes if isinstance(notes, list | tuple) else ():
        if isinstance(note, str):
            yield "\n" + _limit(_storable(note), _MAX_MESSAGE)
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield "\n  | " + _limit(_headline(type(each).__name__, describe(each)), MAX_ERROR)


def _frames(trace: TracebackType | None) -> list[str]:
    # Our own frames at the top say only that a worker called a handler. If there is nothing else they stay.
    start = trace
    while start and start.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        start = start.tb_next
    entries = traceback.extract_tb(start or trace, limit=-_MAX_FRAMES)
    # Rebuilt without columns: the ^^^^ markers would take a third of the room.
    plain = [(entry.filename, entry.lineno or 0, entry.name, entry.line) for entry in entries]
    return [
        _limit(_storable(line), _MAX_MESSAGE) for line in traceback.StackSummary.from_list(plain).format()
    ]


def _own_frame(trace: TracebackType | None) -> str:
    """`file:function` of the innermost frame in the user's own code, without the line, which edits move."""
    own = ""
    while trace:
        code = trace.tb_frame.f_code
        path = code.co_filename
        if not path.startswith(_FOREIGN) and not _INSTALLED.search(path):
            own = f"{_BASENAME.sub('', path)}:{code.co_name}"
        trace = trace.tb_next
    return own


def _fingerprint(job_type: str, kind: str, message: str, frame: str) -> str:
    # Cut after the variable parts are gone: their lengths must not move the cut.
    text = _VARIABLE.sub(_placeholder, message[:8192])
    text = " ".join(_REPEATED.sub("#", text).split())[:500]
    parts = "\x1f".join((job_type, kind, text, frame))
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:12]


def _placeholder(match: re.Match[str]) -> str:
    return {"url": "<url>", "quoted": "<text>"}.get(match.lastgroup or "", "#")


def _validation_text(error: Any) -> str:
    try:
        safe = error.errors(include_input=False, include_context=False, include_url=False)
        full = error.errors(include_context=False)
        pairs = list(zip(safe, full, strict=True))[:_MAX_FIELDS]
        lines = [_validation_line(each, _inputs(entry)) for each, entry in pairs]
        more = [f"and {len(safe) - len(pairs)} more"] if len(safe) > len(pairs) else []
        return _storable("; ".join(lines + more))
    except Exception:  # noqa: BLE001  a look-alike of another library: better no details than a leaked value
        return "<details withheld>"


def _validation_line(entry: Mapping[str, Any], inputs: list[str]) -> str:
    message = str(entry["msg"])
    for text in inputs:
        message = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", _WITHHELD, message, flags=re.IGNORECASE)
    place = ".".join(str(part) for part in entry["loc"])
    return f"{place}: {message}" if place else message


def _inputs(entry: Mapping[str, Any]) -> list[str]:
    """The texts of all input values that this entry's message might quote, longest first."""
    # Only pydantic's own types come with a page that explains them.
    if entry["type"] not in _QUOTING and "url" in entry:
        return []
    found: set[str] = set()
    waiting = [entry.get("input")]
    while waiting and len(found) < 1000:
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, list | tuple | set | frozenset):
            waiting.extend(value)
        elif value is not None:
            found |= {str(value), repr(value).strip("'\"")}
    return sorted((text for text in found if text.strip()), key=len, reverse=True)


def _headline(kind: str, message: str) -> str:
    return f"{kind}: {message}" if message else kind


def _storable(text: str) -> str:
    """Text that UTF-8 can hold (DynamoDB refuses lone surrogates) and that cannot steer a terminal."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n"))


def _limit(text: str, size: int) -> str:
    data = text.encode()
    if len(data) <= size:
        return text
    return data[: size - len("…".encode())].decode("utf-8", "ignore") + "…"
