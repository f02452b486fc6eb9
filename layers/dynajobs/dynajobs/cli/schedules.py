"""`dynajobs schedules`: recurring jobs, their history and their coming runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dynajobs.cli import output, timetable
from dynajobs.cli.arguments import ATTEMPTS, LIMIT, PRIORITY, TYPE, duration, instant, payload, shared
from dynajobs.cli.failure import say
from dynajobs.cli.stack import open_queue

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue
    from dynajobs.schedule import Schedule

Command = TypeVar("Command", bound=Callable[..., Any])
NAME = click.argument("name", metavar="NAME")


@click.group()
def schedules() -> None:
    """List, show and change schedules; run them by hand."""


def arguments(command: Command) -> Command:
    """What a schedule is made of, except its name."""
    for option in reversed(
        (
            click.option("--job-type", **TYPE, help="The job to run; or give --template."),
            click.option("--template", metavar="NAME", help="The template to run."),
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
@shared
def list_schedules(table: str | None, as_json: bool) -> None:
    """List all schedules, by name."""
    from dynajobs.views import schedule_view

    with open_queue(table) as queue:
        views = [schedule_view(each, queue.settings) for each in queue.schedules.list()]
    if as_json:
        output.print_json({"schedules": views})
    elif views:
        timetable.schedule_table(views, queue.now())
    else:
        click.echo("No schedules.")


@schedules.command()
@NAME
@shared
def show(name: str, table: str | None, as_json: bool) -> None:
    """Show one schedule: when it runs, what it makes, how its runs went."""
    from dynajobs.views import runs_view, schedule_view

    with open_queue(table) as queue:
        view = schedule_view(queue.schedules.get(name), queue.settings)
        if as_json:
            output.print_json(view)
            return
        runs = runs_view(queue.schedules.runs(name, limit=10), queue.settings)["runs"]
        coming = queue.schedules.next(name, 3)
    timetable.schedule_detail(view, runs, coming, queue.now())


@schedules.command()
@click.option("--name", required=True, metavar="NAME", help="Letters, digits, '_', '.', '-'; at most 64.")
@arguments
@shared
def create(name: str, table: str | None, as_json: bool, cron: str | None, **given: Any) -> None:
    """Create a schedule."""
    if cron is None:
        raise click.UsageError("no --cron: say when it runs, such as --cron '0 8 * * *'")
    chosen = {argument: value for argument, value in given.items() if value is not None}
    with open_queue(table) as queue:
        made = queue.schedules.create(name, cron=cron, **chosen)
    _answer(queue, made, as_json, f"{name} is created, {_when(queue, made)}.")


@schedules.command()
@NAME
@arguments
@shared
def update(name: str, table: str | None, as_json: bool, **given: Any) -> None:
    """Change a schedule; what is left out stays."""
    chosen = {argument: value for argument, value in given.items() if value is not None}
    if not chosen:
        raise click.UsageError("nothing to change: give at least one option")
    with open_queue(table) as queue:
        changed = queue.schedules.update(name, **chosen)
    _answer(queue, changed, as_json, f"{name} is changed, {_when(queue, changed)}.")


@schedules.command()
@NAME
@shared
def enable(name: str, table: str | None, as_json: bool) -> None:
    """Run it from its next slot on."""
    with open_queue(table) as queue:
        enabled = queue.schedules.enable(name)
    _answer(queue, enabled, as_json, f"{name} is enabled, {_when(queue, enabled)}.")


@schedules.command()
@NAME
@shared
def disable(name: str, table: str | None, as_json: bool) -> None:
    """Run it no more until it is enabled; its history stays."""
    with open_queue(table) as queue:
        disabled = queue.schedules.disable(name)
    _answer(queue, disabled, as_json, f"{name} is disabled. Jobs it has made already still run.")


@schedules.command()
@NAME
@shared
def delete(name: str, table: str | None, as_json: bool) -> None:
    """Forget a schedule; its history stays until it expires."""
    with open_queue(table) as queue:
        queue.schedules.delete(name)
    if as_json:
        output.print_json({"name": name, "deleted": True})
    else:
        click.echo(f"{name} is deleted. Jobs it has made already still run.")


@schedules.command()
@NAME
@shared
def trigger(name: str, table: str | None, as_json: bool) -> None:
    """Run it once now; its slots stay as they are."""
    with open_queue(table) as queue:
        job = queue.schedules.trigger(name)
    if as_json:
        output.print_json({"job_id": job.id})
    else:
        click.echo(f"{job.id} is enqueued, due now: it runs {name} once.")


@schedules.command()
@NAME
@click.option("--limit", type=LIMIT, metavar="N", default=50, help="Runs on a page, 1 to 200; else 50.")
@click.option("--cursor", help="The next page: what the page before ended with.")
@shared
def runs(name: str, table: str | None, as_json: bool, limit: int, cursor: str | None) -> None:
    """List its runs, newest first, missed and skipped slots included."""
    from dynajobs.views import runs_view

    with open_queue(table) as queue:
        page = queue.schedules.runs(name, limit=limit, cursor=cursor)
        view = runs_view(page, queue.settings)
    if as_json:
        output.print_json(view)
        return
    if view["runs"]:
        output.show(timetable.run_table(view["runs"], queue.now()))
    else:
        click.echo("No runs so far.")
    if page.cursor:
        say(f"there may be more: repeat it with --cursor {page.cursor}")


@schedules.command("next")
@NAME
@click.option("-n", "--n", "count", type=click.IntRange(1, 1000), default=5, metavar="N", help="How many; 5.")
@shared
def next_runs(name: str, table: str | None, as_json: bool, count: int) -> None:
    """List its coming slots, in its time zone and in UTC."""
    from dynajobs import keys

    with open_queue(table) as queue:
        slots = queue.schedules.next(name, count)
        if as_json:
            output.print_json({"next": [keys.timestamp(slot) for slot in slots]})
            return
        schedule = queue.schedules.get(name)
    timetable.slot_table(slots, schedule.timezone, queue.now())
    for warning in schedule.warnings:
        say(warning)


@schedules.command()
@NAME
@click.option("--start", callback=instant, required=True, metavar="TIME", help="The first slot, from here.")
@click.option("--end", callback=instant, required=True, metavar="TIME", help="Slots before this.")
@shared
def backfill(name: str, table: str | None, as_json: bool, start: datetime, end: datetime) -> None:
    """Run slots of the past that had no job, at most 100."""
    with open_queue(table) as queue:
        jobs = queue.schedules.backfill(name, start, end)
    if as_json:
        output.print_json({"job_ids": [job.id for job in jobs]})
    else:
        click.echo(f"{len(jobs)} slots are enqueued, due now." if jobs else "Every slot there has its job.")


@schedules.command()
@click.argument("source", metavar="FILE.yaml|MODULE:REGISTRY")
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@shared
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
    with open_queue(table) as queue:
        changes = queue.schedules.sync(found, dry_run=dry_run)
    if as_json:
        output.print_json({"schedules": [timetable.change_view(change) for change in changes]})
    else:
        timetable.show_changes(changes, dry_run=dry_run)


def _when(queue: JobQueue, schedule: Schedule) -> str:
    if schedule.next_run_at is None:
        return "and disabled"
    return f"next {timetable.moment(schedule.next_run_at, schedule.timezone, queue.now())}"


def _answer(queue: JobQueue, schedule: Schedule, as_json: bool, sentence: str) -> None:
    from dynajobs.views import schedule_view

    if as_json:
        output.print_json(schedule_view(schedule, queue.settings))
        return
    click.echo(sentence)
    for warning in schedule.warnings:
        say(warning)
