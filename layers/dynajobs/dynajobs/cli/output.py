"""How answers look: one JSON document for programs, tables for people."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from dynajobs import keys, words
from dynajobs.words import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

_COLOURS = {
    "pending": "cyan",
    "queued": "cyan",
    "missed": "yellow",
    "skipped": "yellow",
    "in_progress": "bright_blue",
    "running": "bright_blue",
    "completed": "green",
    "failed": "yellow",
    "expired": "yellow",
    "snoozed": "cyan",
    "dead_letter": "red",
    "discarded": "red",
    "cancelled": "magenta",
}
ONE_LINE = 118
"""Columns from which a job, its whole id included, fits on one line."""
_PIPED = 160
_NARROWEST = 76
"""Narrower terminals break lines themselves: an id that is cut is of no use."""

View = dict[str, Any]


def print_json(view: View) -> None:
    """One document, readable by people too; nothing in it can steer a terminal."""
    text = json.dumps(view, ensure_ascii=False, allow_nan=False, indent=2)
    text = words.UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(view, allow_nan=False, indent=2)
    click.echo(text)


def console() -> Console:
    """Stdout: coloured if it is a terminal and NO_COLOR is not set; a pipe has room for whole lines."""
    from rich.console import Console

    width = shutil.get_terminal_size(fallback=(_PIPED, 24)).columns
    return Console(width=max(width, _NARROWEST), highlight=False, markup=False, emoji=False)


def show(thing: RenderableType, *, onto: Console | None = None) -> None:
    """Print it without the blanks that rich puts at the end of lines."""
    onto = onto or console()
    with onto.capture() as captured:
        onto.print(thing)
    text = "\n".join(line.rstrip() for line in captured.get().splitlines())
    click.echo(text, color=onto.is_terminal)


def styled(text: object, style: str = "") -> Text:
    """Text that came from a table, harmless to a terminal."""
    from rich.text import Text

    return Text(printable(str(text)), style=style)


def state(status: str, *, of: str | None = None) -> Text:
    """A state as a word with its colour; `of` names the state where more is said than its name."""
    return styled(f"● {status}", _COLOURS.get(of or status, ""))


def plain_table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """A table without lines: what is in it is enough."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", expand=False)
    for name in columns:
        table.add_column(
            name, justify="right" if name in right else "left", no_wrap=True, overflow="ellipsis"
        )
    return table


_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("!", "yellow")}


def check_table(checks: Iterable[tuple[bool | None, str, str]]) -> None:
    """What was looked at, one line each: fine, wrong, or not to be known."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for ok, name, evidence in checks:
        table.add_row(styled(*_MARKS[ok]), styled(name, "bold"), styled(evidence))
    show(table)


def job_table(jobs: list[View], now: datetime, max_attempts: int) -> None:
    """A list of jobs: one line each where there is room, else two; an id is never cut."""
    onto = console()
    wide = onto.width >= ONE_LINE
    columns = ("STATE", "ID", "TYPE", "WHEN", "TRIES", "") if wide else ("STATE", "JOB", "WHEN", "TRIES")
    table = plain_table(*columns, right=("TRIES",))
    table.expand = True
    if wide:
        table.columns[2].max_width = 32
    flexible = table.columns[-1 if wide else 1]
    flexible.ratio, flexible.min_width = 1, 20 if wide else 36
    for job in jobs:
        kind, about = _kind(job), _about(job)
        tries = styled(attempts(job, max_attempts))
        when = styled(when_text(job, now))
        if wide:
            table.add_row(state(job["status"]), styled(job["id"]), kind, when, tries, about)
        else:
            cell = styled("").append_text(kind).append("  ").append_text(about).append(f"\n{job['id']}")
            table.add_row(state(job["status"]), cell, when, tries)
    show(table, onto=onto)


def _kind(job: View) -> Text:
    kind = styled("").append_text(styled(job["job_type"], "bold"))
    return kind.append(f" P{job['priority']}", style="yellow") if job["priority"] else kind


def _about(job: View) -> Text:
    """What tells this job from others of its type: its error, how far it is, or its payload."""
    if job["status"] in ("failed", "dead_letter") and (error := headline(job)):
        return styled(" ".join(error.split()), "red")
    if job["cancel_requested"]:
        return styled("asked to stop", "magenta")
    if job["status"] == "in_progress" and job["progress"]:
        return styled(progress(job), "bright_blue")
    return styled(words.summary(job["payload"]), "dim")


def headline(job: View) -> str:
    """The last error in a few words."""
    runs = [run["error"] for run in job["runs"] if run["error"]]
    if job["last_error"] and runs:
        return str(runs[-1])
    return words.first_line(job["last_error"] or "")


def progress(job: View) -> str:
    """`3/10 files`"""
    told = job["progress"]
    share = f"{told.get('done')}" + (f"/{told['total']}" if told.get("total") is not None else "")
    return f"{share} {told.get('message') or ''}".strip()


def attempts(job: View, default: int) -> str:
    """Failed attempts of those allowed; a job that never began has the default ahead of it."""
    return f"{job['attempts']}/{job['max_attempts'] or default}"


def when_text(job: View, now: datetime) -> str:
    """The time that matters in this state."""
    scheduled_for = keys.parse_time(job["scheduled_for"])
    match job["status"]:
        case "pending":
            return words.due(scheduled_for, now)
        case "failed":
            return f"retry {words.due(scheduled_for, now)}"
        case "in_progress":
            open_run = next((run for run in job["runs"] if run["status"] == "running"), None)
            if open_run is None or not open_run["started_at"]:
                return "claimed"
            time = now - keys.parse_time(open_run["started_at"])
            return f"for {words.roughly(time) or words.length(time)}"
        case _:
            return words.relative(keys.parse_time(job["finished_at"]), now) if job["finished_at"] else ""
