"""`dynajobs jobs`: look at jobs, make them, change them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from dynajobs import keys, words
from dynajobs.cli import output
from dynajobs.cli.arguments import (
    ATTEMPTS,
    LIMIT,
    PRIORITY,
    STATE,
    TYPE,
    checked_due,
    due,
    payload,
    shared,
)
from dynajobs.cli.failure import say
from dynajobs.cli.stack import open_queue
from dynajobs.job import Job, Status

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue


@click.group()
def jobs() -> None:
    """List, show, enqueue and change jobs."""


@jobs.command("list")
@click.option("--state", type=STATE, help="Only jobs in this state.")
@click.option("--type", "job_type", **TYPE, help="Only jobs of this type.")
@click.option("--org-id", metavar="ID", help="Only jobs of this organisation.")
@click.option("--schedule-name", metavar="NAME", help="Only jobs of this schedule.")
@click.option("--limit", type=LIMIT, metavar="N", default=50, help="Jobs on a page, 1 to 200; else 50.")
@click.option("--cursor", help="The next page: what the page before ended with.")
@shared
def list_jobs(
    table: str | None, as_json: bool, state: str | None, cursor: str | None, **options: Any
) -> None:
    """List live jobs, then finished ones.

    Live jobs come in the order they will run, finished ones newest first.
    """
    from dynajobs.views import page_view

    with open_queue(table) as queue:
        page = queue.list(status=state, cursor=cursor, **options)
        view = page_view(page, queue.settings)
    if as_json:
        output.print_json(view)
        return
    if view["jobs"]:
        output.job_table(view["jobs"], queue.now(), queue.settings.max_attempts)
    else:
        wanted = f"{state} jobs" if state else "jobs"
        filtered = any(value for name, value in options.items() if name != "limit")
        click.echo(f"No {wanted}{' that match' if filtered else ''}{' so far' if page.cursor else ''}.")
    if page.cursor:
        say(f"there may be more: repeat it with --cursor {page.cursor}")


@jobs.command()
@click.argument("job_id", metavar="ID")
@shared
def show(job_id: str, table: str | None, as_json: bool) -> None:
    """Show one job: times, runs, error, payload, result."""
    from dynajobs.cli.detail import job_detail
    from dynajobs.views import job_view

    with open_queue(table) as queue:
        view = job_view(queue.get(job_id), queue.settings, detail=True)
    if as_json:
        output.print_json(view)
    else:
        job_detail(view, queue.now(), queue.settings.max_attempts)


@jobs.command()
@click.argument("job_type", **TYPE)
@click.option("--payload", callback=payload, metavar="JSON", help="A JSON object, @FILE, or - for stdin.")
@due
@click.option("--priority", type=PRIORITY, metavar="N", default=0, help="0 to 3; 3 runs first.")
@click.option("--max-attempts", type=ATTEMPTS, metavar="N", help="1 to 100 failures make it a dead letter.")
@click.option("--org-id", metavar="ID", help="The organisation it belongs to.")
@click.option("--group-id", metavar="ID", help="The group it belongs to.")
@click.option("--dedup-key", metavar="KEY", help="One job per key and window; a second one is not made.")
@click.option("--dedup-window", metavar="LABEL", default=keys.ACTIVE, help="active, a date or any label.")
@click.option("--job-id", metavar="UUID", help="Its id; a new one if left out.")
@shared
def enqueue(
    job_type: str,
    payload: dict[str, Any] | None,
    table: str | None,
    as_json: bool,
    run_at: datetime | None,
    delay: timedelta | None,
    **options: Any,
) -> None:
    """Enqueue a job: due now, at a time, or after a while."""
    checked_due(run_at, delay)
    with open_queue(table) as queue:
        job = queue.enqueue(job_type, payload, run_at=run_at, delay=delay, **options)
    if job.created:
        _answer(queue, job, as_json, f"{job.id} is enqueued, {_due(queue, job)}.")
    else:
        _answer(queue, job, as_json, f"{job.id} was there already ({job.status}): nothing new is enqueued.")


@jobs.command()
@click.argument("job_id", metavar="ID")
@shared
def retry(job_id: str, table: str | None, as_json: bool) -> None:
    """Run a job again.

    A failed job is due now; a finished one runs again as a new job, once.
    """
    with open_queue(table) as queue:
        job = queue.retry(job_id)
    if job.created:
        sentence = f"{job.id} is enqueued, due now: it runs {job.retry_of} again."
    elif job.id == keys.canonical_id(job_id):
        sentence = f"{job.id} is {job.status}, {_due(queue, job)}."
    else:
        sentence = f"{job.id} runs it again already ({job.status}): nothing new is enqueued."
    _answer(queue, job, as_json, sentence)


@jobs.command()
@click.argument("job_id", metavar="ID")
@shared
def cancel(job_id: str, table: str | None, as_json: bool) -> None:
    """Cancel a waiting job; ask a running one to stop."""
    with open_queue(table) as queue:
        job = queue.cancel(job_id)
    if job.status is Status.CANCELLED:
        _answer(queue, job, as_json, f"{job.id} is cancelled.")
    else:
        _answer(queue, job, as_json, f"{job.id} is running: it is asked to stop.")


@jobs.command()
@click.argument("job_id", metavar="ID")
@due
@click.option("--priority", type=PRIORITY, metavar="N", help="0 to 3; 3 runs first.")
@click.option("--before", metavar="ID", help="Right ahead of this waiting job.")
@shared
def reschedule(
    job_id: str,
    table: str | None,
    as_json: bool,
    run_at: datetime | None,
    delay: timedelta | None,
    priority: int | None,
    before: str | None,
) -> None:
    """Move a waiting job to another time or place.

    Give a time, a priority or both, or the job it is to run ahead of.
    """
    checked_due(run_at, delay)
    if run_at is None and delay is None and priority is None and before is None:
        raise click.UsageError("nothing to change: give --run-at, --delay, --priority or --before")
    if before is not None and (run_at or delay is not None or priority is not None):
        raise click.UsageError("--before is given together with a time or priority: give it alone")
    with open_queue(table) as queue:
        job = queue.reschedule(job_id, run_at=run_at, delay=delay, priority=priority, before=before)
    with_priority = f" with priority {job.priority}" if job.priority else ""
    _answer(queue, job, as_json, f"{job.id} is {job.status}, {_due(queue, job)}{with_priority}.")


def _due(queue: JobQueue, job: Job) -> str:
    now = queue.now()
    if job.scheduled_for <= now:
        return "due now"
    rough, exact = words.relative(job.scheduled_for, now), words.clock(job.scheduled_for)
    return f"due {exact}" if exact.startswith(rough) else f"due {rough} ({exact})"


def _answer(queue: JobQueue, job: Job, as_json: bool, sentence: str) -> None:
    from dynajobs.views import job_view

    if as_json:
        output.print_json(job_view(job, queue.settings))
    else:
        click.echo(sentence)
