"""Schedules, their runs and their slots, as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from dynajobs import keys, words
from dynajobs.cli import output
from dynajobs.cli.output import View, styled
from dynajobs.jsons import dump_json

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text


def moment(at: str, timezone: str, now: datetime) -> str:
    """`Thu 2026-11-19 02:00 CET (in 5h)`"""
    slot = keys.parse_time(at)
    local = slot.astimezone(ZoneInfo(timezone))
    return f"{local:%a %Y-%m-%d %H:%M %Z} ({words.relative(slot, now)})"


def schedule_table(schedules: Sequence[View], now: datetime) -> None:
    """A list of schedules."""
    table = output.plain_table("NAME", "WHEN", "JOB", "NEXT", "LAST", "RUNS", "OK", right=("RUNS", "OK"))
    for each in schedules:
        table.add_row(
            styled(each["name"], "bold" if each["enabled"] else "dim"),
            styled(_timing(each)),
            styled(each["job_type"] or f"{each['template']} (template)"),
            styled(_relative(each["next_run_at"], now)) if each["enabled"] else styled("disabled", "dim"),
            styled(_relative(each["last_run_at"], now)),
            styled(f"{each['total_runs']:,}"),
            _rate(each["success_rate"]),
        )
    output.show(table)


def schedule_detail(schedule: View, runs: Sequence[View], coming: Sequence[str], now: datetime) -> None:
    """All there is to know about one."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table

    head = styled("").append_text(styled(schedule["name"], "bold")).append("  ")
    head.append_text(styled("● enabled", "green") if schedule["enabled"] else styled("● disabled", "dim"))
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, value in _facts(schedule, now).items():
        facts.add_row(f"  {name}", styled(value))
    parts: list[RenderableType] = [head]
    if schedule["description"]:
        parts.append(styled(schedule["description"]))
    parts += [styled(""), facts]
    sections: list[tuple[str, RenderableType]] = []
    title = "Next" if schedule["enabled"] else "Next, if it were enabled"
    sections.append((title, _slots(coming, schedule["timezone"], now)))
    if runs:
        sections.append(("Recent runs, UTC", run_table(runs, now)))
    if schedule["template"] is None:
        sections.append(("Payload", styled(words.indented(dump_json(schedule["payload"])))))
    elif schedule["param_overrides"]:
        sections.append(
            ("Over the template's", styled(words.indented(dump_json(schedule["param_overrides"]))))
        )
    if schedule["warnings"]:
        sections.append(("Changes of clocks", styled("\n".join(schedule["warnings"]), "yellow")))
    for title, body in sections:
        parts += [styled(""), styled(title, "bold"), Padding(body, (0, 0, 0, 2))]
    output.show(Group(*parts))


def _facts(schedule: View, now: datetime) -> dict[str, str]:
    facts = {"Runs": _timing(schedule)}
    if schedule["cron_words"]:
        facts["Cron"] = f"{schedule['cron']} in {schedule['timezone']}"
    if schedule["template"]:
        facts["Template"] = schedule["template"]
    else:
        facts["Job type"] = schedule["job_type"]
    if schedule["priority"]:
        facts["Priority"] = str(schedule["priority"])
    if schedule["max_attempts"]:
        facts["Attempts"] = f"at most {schedule['max_attempts']}"
    window = words.length(timedelta(seconds=schedule["catchup_window"]))
    facts["Catch-up"] = schedule["catchup"] + ("" if schedule["catchup"] == "none" else f", within {window}")
    facts["Overlap"] = schedule["overlap"]
    facts["Last run"] = _relative(schedule["last_run_at"], now) or "never"
    facts["Last success"] = _relative(schedule["last_success_at"], now) or "never"
    rate = schedule["success_rate"]
    facts["In all"] = words.plural(schedule["total_runs"], "run") + (
        "" if rate is None else f", {rate:.0%} of the recent ones succeeded"
    )
    if schedule["average_duration"] is not None:
        average, longest = (
            words.length(timedelta(seconds=schedule[name])) for name in ("average_duration", "max_duration")
        )
        facts["Takes"] = f"{average} on average, {longest} at most"
    return facts


def run_table(runs: Sequence[View], now: datetime) -> RenderableType:
    """Runs, newest first."""
    table = output.plain_table("SLOT, UTC", "BY", "OUTCOME", "TOOK", "JOB", "", right=("TOOK",))
    for run in runs:
        outcome = run["outcome"] if run["count"] == 1 else f"{run['outcome']} x{run['count']:,}"
        table.add_row(
            styled(words.clock(keys.parse_time(run["scheduled_for"]))[:-4]),
            styled(run["triggered_by"] if run["job_id"] else ""),
            output.state(outcome, of=run["outcome"]),
            styled(_took(run, now)),
            styled(run["job_id"] or ""),
            styled(words.first_line(run["message"] or ""), "red" if run["success"] is False else ""),
        )
    return table


def slot_table(slots: Sequence[str], timezone: str, now: datetime) -> None:
    """Coming slots, local and UTC."""
    output.show(_slots(slots, timezone, now))


def _slots(slots: Sequence[str], timezone: str, now: datetime) -> RenderableType:
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    zone = ZoneInfo(timezone)
    for slot in map(keys.parse_time, slots):
        local = slot.astimezone(zone)
        cells = [f"{local:%a %Y-%m-%d %H:%M %Z}", f"{slot:%Y-%m-%d %H:%M} UTC", words.relative(slot, now)]
        table.add_row(*map(styled, cells if timezone != "UTC" else cells[:1] + cells[2:]))
    return table


def show_preview(view: View, expression: str, timezone: str, now: datetime) -> None:
    """What an expression would do."""
    click.echo(f"{view['cron_words'] or expression} in {timezone}, {_per_day(view['per_day'])}.\n")
    slot_table([slot["utc"] for slot in view["next"]], timezone, now)


def _per_day(number: float) -> str:
    if number >= 1:
        return f"{number:g} times a day" if number != 1 else "once a day"
    # It was counted over a week.
    return f"{words.plural(round(number * 7), 'time')} in the next 7 days"


def show_changes(changes: Sequence[View], *, dry_run: bool) -> None:
    """What declarations did, or would do."""
    would = "would be " if dry_run else ""
    for change in changes:
        name, drift = change["name"], change["drift"]
        if change["action"] == "unchanged":
            click.echo(f"{name} is as declared." if not drift else f"{name} is unchanged.")
        else:
            what = f": {', '.join(change['changed'])}" if change["changed"] else ""
            click.echo(f"{name} {would or 'is '}{change['action']}{what}.")
        for argument, each in drift.items():
            stored, declared = _brief(each["stored"]), _brief(each["declared"])
            click.echo(f"  {argument} is {stored} here; declared is {declared}. It stays.")
    if not changes:
        click.echo("No schedules are declared.")


def _brief(value: Any) -> str:
    return words.printable(dump_json(value))


def _timing(schedule: View) -> str:
    zone = "" if schedule["timezone"] == "UTC" else f" in {schedule['timezone']}"
    return f"{schedule['cron_words'] or schedule['cron']}{zone}"


def _relative(text: str | None, now: datetime) -> str:
    return words.relative(keys.parse_time(text), now) if text else ""


def _rate(rate: float | None) -> Text:
    if rate is None:
        return styled("")
    return styled(f"{rate:.0%}", "green" if rate == 1 else "yellow" if rate >= 0.5 else "red")


def _took(run: View, now: datetime) -> str:
    if run["duration"] is not None:
        return words.length(timedelta(seconds=run["duration"]))
    if run["outcome"] == "running" and run["started_at"]:
        return f"{words.length(now - keys.parse_time(run['started_at']))} so far"
    return ""
