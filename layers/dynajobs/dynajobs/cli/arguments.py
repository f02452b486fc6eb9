"""What commands accept: times, durations, payloads, and the options they share."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from dynajobs import keys
from dynajobs.cli.completion import SCHEDULES, TEMPLATES, TYPES
from dynajobs.cli.desk import chosen
from dynajobs.job import Status
from dynajobs.jsons import load_json

Command = TypeVar("Command", bound=Callable[..., Any])

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(?:[0-9.]+[dhms])+", re.ASCII)
_SNIPPET = 60


def instant(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """A point in time, with its offset from UTC."""
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is no time: write one such as 2026-11-18T07:00:00Z", ctx, param
        ) from None
    if moment.tzinfo is None:
        raise click.BadParameter(
            f"{value!r} has no offset from UTC: write {_with_offset(value, moment)}", ctx, param
        )
    try:
        return keys.parse_time(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from None


def _with_offset(text: str, moment: datetime) -> str:
    text = text if len(text) > 10 else moment.isoformat(timespec="minutes")
    utc, here = f"{text}Z for UTC", ""
    with suppress(OverflowError, ValueError, OSError):
        local = moment.astimezone()
        if local.utcoffset():
            here = f", {text}{local.isoformat()[-6:]} for this machine's time zone"
    return utc + here


def duration(ctx: click.Context, param: click.Parameter, value: str | None) -> timedelta | None:
    """A length of time: seconds, or numbers with units."""
    if value is None:
        return None
    parts = re.findall(r"([0-9.]+)([dhms])", value) if _DURATION.fullmatch(value) else [(value, "s")]
    try:
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    except ValueError:
        seconds = -1
    if not seconds >= 0:  # NaN is not, either
        raise click.BadParameter(
            f"{value!r} is no duration: write seconds, or 90s, 5m, 2h, 3d, 1h30m", ctx, param
        )
    try:
        length = timedelta(seconds=seconds)
        _ = datetime.now(UTC) + length
    except OverflowError:
        raise click.BadParameter(f"{value!r} from now is beyond the year 9999", ctx, param) from None
    return length


def payload(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, Any] | None:
    """A JSON object: as text, from a file (@name) or from stdin (-)."""
    if value is None:
        return None

    def bad(message: str) -> click.BadParameter:
        return click.BadParameter(message, ctx, param)

    try:
        text, source = _read(value)
    except (OSError, UnicodeDecodeError) as error:
        raise bad(f"{value!r} cannot be read: {error}") from None
    try:
        found = load_json(text)
    except json.JSONDecodeError as error:
        raise bad(f"{source} is not JSON: {_place(error)}") from None
    except ValueError as error:
        raise bad(f"{source} is not JSON: {error}") from None
    if not isinstance(found, dict):
        kind = "null" if found is None else type(found).__name__
        raise bad(f'{source} is a JSON {kind}: it must be an object such as {{"user_id": "u1"}}')
    return found


def _read(value: str) -> tuple[str, str]:
    if value == "-":
        return sys.stdin.read(), "what came from stdin"
    if value.startswith("@"):
        return Path(value[1:]).read_text(encoding="utf-8"), value[1:]
    return value, "it"


def _place(error: json.JSONDecodeError) -> str:
    """Where the JSON is wrong, with the line and a mark under the place."""
    if not error.doc.strip():
        return "it is empty"
    start = error.pos - error.colno + 1
    line = error.doc[start:].split("\n", 1)[0]
    left = max(error.colno - 1 - _SNIPPET // 2, 0)
    mark = " " * (error.colno - 1 - left) + "^"
    where = f"line {error.lineno}, column {error.colno}" if "\n" in error.doc else f"column {error.colno}"
    shown = re.sub(r"\s", " ", line[left : left + _SNIPPET])
    return f"{error.msg[0].lower()}{error.msg[1:]} at {where}\n  {shown}\n  {mark}"


def shared(command: Command) -> Command:
    """The options of every command that works on the table or through the API: it is told `where`."""

    @wraps(command)
    def told(*args: Any, **given: Any) -> Any:
        for name in ("table", "url", "token"):
            del given[name]
        return command(*args, where=chosen(click.get_current_context()), **given)

    for option in (
        click.option(
            "--token",
            envvar="DYNAJOBS_TOKEN",
            metavar="TOKEN",
            help="The API's token; rather set DYNAJOBS_TOKEN, which no process list shows.",
        ),
        click.option(
            "--url", envvar="DYNAJOBS_URL", metavar="URL", help="Go through this HTTP API; DYNAJOBS_URL."
        ),
    ):
        told = option(told)
    return cast(Command, direct(told))


def direct(command: Command) -> Command:
    """The options of every command that works on the table."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document, and nothing else."),
        click.option("--table", metavar="NAME", help="The table; DYNAJOBS_TABLE if left out."),
    ):
        command = option(command)
    return command


def due(command: Command) -> Command:
    """When a job is to run."""
    for option in (
        click.option(
            "--delay", callback=duration, metavar="DURATION", help="Run after 90 (seconds), 90s, 5m, 2h, 3d."
        ),
        click.option("--run-at", callback=instant, metavar="TIME", help="Run at 2026-11-18T07:00:00Z."),
    ):
        command = option(command)
    return command


def checked_due(run_at: datetime | None, delay: timedelta | None) -> None:
    """One of the two, or neither."""
    if run_at is not None and delay is not None:
        raise click.UsageError("--run-at and --delay are both given: give one of them")


STATE = click.Choice([status.value for status in Status], case_sensitive=False)
PRIORITY, ATTEMPTS, LIMIT = click.IntRange(0, 3), click.IntRange(1, 100), click.IntRange(1, 200)
TYPE: dict[str, Any] = {"metavar": "TYPE", "shell_complete": TYPES}
SCHEDULE: dict[str, Any] = {"metavar": "NAME", "shell_complete": SCHEDULES}
TEMPLATE: dict[str, Any] = {"metavar": "NAME", "shell_complete": TEMPLATES}
