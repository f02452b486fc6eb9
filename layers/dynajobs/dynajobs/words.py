"""Times, lengths, counts and payloads as people read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from dynajobs.jsons import TOKEN, dump_json

UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_PLAIN = re.compile(r"[\w.:/@+#-]+")
_STEPS = (("s", 1, 60), ("m", 60, 60), ("h", 3600, 24), ("d", 86400, 8))
_MAX_SUMMARY = 500
COUNTED = 1000
"""Counting stops here for each kind of job."""


def printable(text: str) -> str:
    """The text with what would steer a terminal, or turn its direction, written out.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    return UNPRINTABLE.sub(lambda match: ascii(match[0])[1:-1], text)


def relative(moment: datetime, now: datetime) -> str:
    """`in 3m`, `5h ago`, `now`; beyond a week the date."""
    seconds = (moment - now).total_seconds()
    if abs(seconds) < 1:
        return "now"
    rough = roughly(moment - now)
    if rough is None:
        return f"{moment:%Y-%m-%d}"
    return f"in {rough}" if seconds > 0 else f"{rough} ago"


def roughly(time: timedelta) -> str | None:
    """`42s`, `3m`, `5h`, `2d`; None beyond a week."""
    seconds = abs(time.total_seconds())
    for unit, size, many in _STEPS:
        if (number := round(seconds / size)) < many:
            return f"{number}{unit}"
    return None


def due(moment: datetime, now: datetime) -> str:
    """When a waiting job is due; if it should run already, that is said."""
    return relative(moment, now) if moment > now else f"due {relative(moment, now)}"


def clock(moment: datetime, *, exact: bool = False) -> str:
    """`2026-11-18 07:00:00 UTC`; exact: to the millisecond, without the zone."""
    if exact:
        return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}"
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def length(time: timedelta) -> str:
    """`840ms`, `3.2s`, `4m 05s`, `2h 10m`, `3d 4h`."""
    seconds = max(time.total_seconds(), 0)
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d {whole % 86400 // 3600}h"


def count(number: int, *, truncated: bool = False) -> str:
    """`12,480`; `1,000+` where counting stopped."""
    return f"{number:,}" + ("+" if truncated and number >= COUNTED else "")


def plural(number: int, noun: str) -> str:
    """`1 job`, `2 jobs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def summary(payload: Mapping[str, Any]) -> str:
    """A payload on one line, or its start: `user_id=u1 plan="two words"`."""
    return " ".join(f"{name}={_value(value)}" for name, value in payload.items())[:_MAX_SUMMARY]


def _value(value: Any) -> str:
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else dump_json(value)


def first_line(error: str) -> str:
    """What an error says in one line: a traceback says it in its last one."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    if not lines:
        return ""
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]


def indented(text: str) -> str:
    """JSON text on many lines; numbers and strings stay as they are written."""
    written: list[str] = []
    depth, before = 0, ""
    for token in TOKEN.finditer(text):
        kind, part = token.lastgroup or "", token[0]
        if kind == "space":
            continue
        depth -= kind == "close"
        empty = before == "open" and kind == "close"
        if not empty and (kind == "close" or before in ("open", "comma")):
            written.append("\n" + "  " * depth)
        written.append(part.rstrip().rstrip(":").rstrip() + ": " if kind == "key" else part)
        depth += kind == "open"
        before = kind
    return "".join(written)
