"""`dynajobs schedules`: recurring jobs, their history and their coming runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from dynajobs import words
from dynajobs.cli import output, timetable
from dynajobs.cli.arguments import (
    ATTEMPTS,
    LIMIT,
    PRIORITY,
    SCHEDULE,
    TEMPLATE,
    TYPE,
    direct,
    duration,
    instant,
    payload,
    shared,
)
from dynajobs.cli.desk import Desk, Where, at, at_table
from dynajobs.cli.failure import say
from dynajobs.cli.output import View
from dynajobs.cli.watch import watch, watched

Command = TypeVar("Command", bound=Callable[..., Any])
NAME = click.argument("name", **SCHEDULE)


@click.group()
def schedules() -> None:
    """List, show and change schedules; run them by hand."""


def arguments(command: Command) -> Command:
    """What a schedule is made of, except its name."""
    for option in reversed(
        (
            click.option("--job-type", **TYPE, help="The job to run; or give --template."),
            click.option("--template", **TEMPLATE, help="The template to run."),
            click.option("--param-overrides", callback=payload, metavar="JSON", help="Over the template's."),
            click.option("--cron", metavar="EXPRESSION", help="Five fields, such as '0 8 * * 1-5'."),
            click.option("--timezone", metavar="ZONE", help="Such as Europe/Berlin; UTC if left out."),
            click.option("--payload", callback=payload, metavar="JSON", help="A JSON object, @FILE, or -."),
            click.option("--description", metavar="TEXT", help="What it is for."),
            click.option("--enabled", type=click.BOOL, metavar="true|false", help="Whether it runs."),
            click.option("--priority", type=PRIORITY, metavar="N", help="0 to 3; 3 runs first."),
            click.option("--max-attempts", type=ATTEMPTS, metavar="N", help="1 to 100."),
            click.option(
                "--catchup",
                type=click.Choice(["latest", "all", "none"]),
                help="After an outage: one late run, each missed one, or none.",
            ),
            click.option(
                "--catchup-window", callback=duration, metavar="DURATION", help="How late is too late; 1d."
            ),
            click.option(
                "--overlap",
                type=click.Choice(["allow", "skip", "queue_one"]),
                help="While a run is not over: start beside it, skip, or wait for it.",
            ),
        )
    ):
        command = option(command)
    return command


@schedules.command("list")
@watch
@shared
def list_schedules(where: Where, as_json: bool, every: float | None) -> None:
    """List all schedules, by name."""
    with at(where) as desk:

        def draw() -> None:
            view = desk.operator.schedules.list()
            if as_json:
                output.print_json(view)
            elif view["schedules"]:
                timetable.schedule_table(view["schedules"], desk.now())
            else:
                click.echo("No schedules.")

        watched(draw, every)


@schedules.command()
@NAME
@shared
def show(name: str, where: Where, as_json: bool) -> None:
    """Show one schedule: when it runs, what it makes, how its runs went."""
    with at(where) as desk:
        view = desk.operator.schedules.get(name)
        if as_json:
            output.print_json(view)
            return
        runs = desk.operator.schedules.runs(name, limit=10)["runs"]
        coming = desk.operator.schedules.next(name, 3)["next"]
    timetable.schedule_detail(view, runs, coming, desk.now())


@schedules.command()
@click.option("--name", required=True, metavar="NAME", help="Letters, digits, '_', '.', '-'; at most 64.")
@arguments
@shared
def create(name: str, where: Where, as_json: bool, cron: str | None, **given: Any) -> None:
    """Create a schedule."""
    if cron is None:
        raise click.UsageError("no --cron: say when it runs, such as --cron '0 8 * * *'")
    chosen = {argument: value for argument, value in given.items() if value is not None}
    with at(where) as desk:
        made = desk.operator.schedules.create(name, cron=cron, **chosen)
    _answer(made, as_json, f"{name} is created, {_when(desk, made)}.")


@schedules.command()
@NAME
@arguments
@shared
def update(name: str, where: Where, as_json: bool, **given: Any) -> None:
    """Change a schedule; what is left out stays."""
    chosen = {argument: value for argument, value in given.items() if value is not None}
    if not chosen:
        raise click.UsageError("nothing to change: give at least one option")
    with at(where) as desk:
        changed = desk.operator.schedules.update(name, **chosen)
    _answer(changed, as_json, f"{name} is changed, {_when(desk, changed)}.")


@schedules.command()
@NAME
@shared
def enable(name: str, where: Where, as_json: bool) -> None:
    """Run it from its next slot on."""
    with at(where) as desk:
        enabled = desk.operator.schedules.enable(name)
    _answer(enabled, as_json, f"{name} is enabled, {_when(desk, enabled)}.")


@schedules.command()
@NAME
@shared
def disable(name: str, where: Where, as_json: bool) -> None:
    """Run it no more until it is enabled; its history stays."""
    with at(where) as desk:
        disabled = desk.operator.schedules.disable(name)
    _answer(disabled, as_json, f"{name} is disabled. Jobs it has made already still run.")


@schedules.command()
@NAME
@shared
def delete(name: str, where: Where, as_json: bool) -> None:
    """Forget a schedule; its history stays until it expires."""
    with at(where) as desk:
        desk.operator.schedules.delete(name)
    if as_json:
        output.print_json({"name": name, "deleted": True})
    else:
        click.echo(f"{name} is deleted. Jobs it has made already still run.")


@schedules.command()
@NAME
@shared
def trigger(name: str, where: Where, as_json: bool) -> None:
    """Run it once now; its slots stay as they are."""
    with at(where) as desk:
        view = desk.operator.schedules.trigger(name)
    if as_json:
        output.print_json(view)
    else:
        click.echo(f"{view['job_id']} is enqueued, due now: it runs {name} once.")


@schedules.command()
@NAME
@click.option("--limit", type=LIMIT, metavar="N", default=50, help="Runs on a page, 1 to 200; else 50.")
@click.option("--cursor", help="The next page: what the page before ended with.")
@shared
def runs(name: str, where: Where, as_json: bool, limit: int, cursor: str | None) -> None:
    """List its runs, newest first, missed and skipped slots included."""
    with at(where) as desk:
        view = desk.operator.schedules.runs(name, limit=limit, cursor=cursor)
    if as_json:
        output.print_json(view)
        return
    if view["runs"]:
        output.show(timetable.run_table(view["runs"], desk.now()))
    else:
        click.echo("No runs so far.")
    if view["cursor"]:
        say(f"there may be more: repeat it with --cursor {view['cursor']}")


@schedules.command("next")
@NAME
@click.option("-n", "--n", "count", type=click.IntRange(1, 1000), default=5, metavar="N", help="How many; 5.")
@shared
def next_runs(name: str, where: Where, as_json: bool, count: int) -> None:
    """List its coming slots, in its time zone and in UTC."""
    with at(where) as desk:
        view = desk.operator.schedules.next(name, count)
        if as_json:
            output.print_json(view)
            return
        schedule = desk.operator.schedules.get(name)
    timetable.slot_table(view["next"], schedule["timezone"], desk.now())
    for warning in schedule["warnings"]:
        say(warning)


@schedules.command()
@click.option("--cron", required=True, metavar="EXPRESSION", help="Five fields, such as '0 8 * * 1-5'.")
@click.option("--timezone", default="UTC", metavar="ZONE", help="Such as Europe/Berlin; UTC if left out.")
@click.option("-n", "--n", "count", type=click.IntRange(1, 100), default=5, metavar="N", help="How many; 5.")
@shared
def preview(where: Where, as_json: bool, cron: str, timezone: str, count: int) -> None:
    """Say what a cron expression would do, and make nothing."""
    with at(where) as desk:
        view = desk.operator.schedules.preview(cron, timezone, count)
    if as_json:
        output.print_json(view)
        return
    timetable.show_preview(view, cron, timezone, desk.now())
    for warning in view["warnings"]:
        say(warning)


@schedules.command()
@NAME
@click.option("--start", callback=instant, required=True, metavar="TIME", help="The first slot, from here.")
@click.option("--end", callback=instant, required=True, metavar="TIME", help="Slots before this.")
@shared
def backfill(name: str, where: Where, as_json: bool, start: datetime, end: datetime) -> None:
    """Run slots of the past that had no job, at most 100."""
    with at(where) as desk:
        view = desk.operator.schedules.backfill(name, start, end)
    if as_json:
        output.print_json(view)
        return
    made = words.plural(len(view["job_ids"]), "slot")
    click.echo(f"{made} enqueued, due now." if view["job_ids"] else "There are no new slots to run there.")


@schedules.command()
@click.argument("source", metavar="FILE.yaml|MODULE:REGISTRY")
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@direct
def sync(source: str, table: str | None, as_json: bool, dry_run: bool) -> None:
    """Bring declared schedules into the table.

    New ones are created and changed declarations applied. What was changed here since, a disable above all,
    stays; the difference is told.
    """
    from dynajobs.cli.worker import load_registry
    from dynajobs.declared import read_file

    found: Any
    if source.endswith((".yaml", ".yml")):
        try:
            found = read_file(Path(source))
        except OSError as error:
            raise click.UsageError(f"{source} cannot be read: {error.strerror}") from None
    else:
        found = load_registry(source)
    with at_table(table) as operator:
        view = operator.schedules.sync(found, dry_run=dry_run)
    if as_json:
        output.print_json(view)
    else:
        timetable.show_changes(view["schedules"], dry_run=dry_run)


def _when(desk: Desk, schedule: View) -> str:
    if schedule["next_run_at"] is None:
        return "and disabled"
    return f"next {timetable.moment(schedule['next_run_at'], schedule['timezone'], desk.now())}"


def _answer(schedule: View, as_json: bool, sentence: str) -> None:
    if as_json:
        output.print_json(schedule)
        return
    click.echo(sentence)
    for warning in schedule["warnings"]:
        say(warning)
