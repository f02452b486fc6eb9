"""`dynajobs jobs`: look at jobs, make them, change them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import click

from dynajobs import keys, words
from dynajobs.cli import output
from dynajobs.cli.arguments import (
    ATTEMPTS,
    LIMIT,
    PRIORITY,
    SCHEDULE,
    STATE,
    TYPE,
    checked_due,
    due,
    payload,
    shared,
)
from dynajobs.cli.bulk import bulk
from dynajobs.cli.desk import Desk, Where, at
from dynajobs.cli.failure import say
from dynajobs.cli.output import View
from dynajobs.cli.watch import watch, watched


@click.group()
def jobs() -> None:
    """List, show, enqueue and change jobs."""


@jobs.command("list")
@click.option("--state", type=STATE, help="Only jobs in this state.")
@click.option("--type", "job_type", **TYPE, help="Only jobs of this type.")
@click.option("--org-id", metavar="ID", help="Only jobs of this organisation.")
@click.option("--schedule-name", **SCHEDULE, help="Only jobs of this schedule.")
@click.option("--fingerprint", metavar="ID", help="Only jobs that failed like this; see `errors`.")
@click.option("--limit", type=LIMIT, metavar="N", default=50, help="Jobs on a page, 1 to 200; else 50.")
@click.option("--cursor", help="The next page: what the page before ended with.")
@watch
@shared
def list_jobs(
    where: Where,
    as_json: bool,
    state: str | None,
    limit: int,
    cursor: str | None,
    every: float | None,
    **filters: Any,
) -> None:
    """List live jobs, then finished ones.

    Live jobs come in the order they will run, finished ones newest first.
    """
    with at(where) as desk:

        def draw() -> None:
            view = desk.operator.jobs.list(status=state, limit=limit, cursor=cursor, **filters)
            if as_json:
                output.print_json(view)
                return
            if view["jobs"]:
                output.job_table(view["jobs"], desk.now(), desk.max_attempts)
            else:
                wanted = f"{state} jobs" if state else "jobs"
                that, so_far = " that match" * any(filters.values()), " so far" * bool(view["cursor"])
                click.echo(f"No {wanted}{that}{so_far}.")
            if view["cursor"]:
                say(f"there may be more: repeat it with --cursor {view['cursor']}")

        watched(draw, every)


@jobs.command()
@click.argument("job_id", metavar="ID")
@shared
def show(job_id: str, where: Where, as_json: bool) -> None:
    """Show one job: times, runs, error, payload, result."""
    from dynajobs.cli.detail import job_detail

    with at(where) as desk:
        view = desk.operator.jobs.show(job_id)
        if as_json:
            output.print_json(view)
        else:
            job_detail(view, desk.now(), desk.max_attempts)


@jobs.command()
@click.argument("job_id", metavar="ID")
@shared
def why(job_id: str, where: Where, as_json: bool) -> None:
    """Say why a job is not running, and what was looked at."""
    with at(where) as desk:
        view = desk.operator.jobs.why(job_id)
    if as_json:
        output.print_json(view)
        return
    click.echo(words.printable(view["sentence"]))
    if view["checks"]:
        click.echo()
        output.check_table((check["ok"], check["name"], check["evidence"]) for check in view["checks"])


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
    where: Where,
    as_json: bool,
    run_at: datetime | None,
    delay: timedelta | None,
    **options: Any,
) -> None:
    """Enqueue a job: due now, at a time, or after a while."""
    checked_due(run_at, delay)
    with at(where) as desk:
        job = desk.operator.jobs.enqueue(job_type, payload, run_at=run_at, delay=delay, **options)
    answer_enqueued(desk, job, as_json)


def answer_enqueued(desk: Desk, job: View, as_json: bool) -> None:
    """A job that was made, or was there."""
    if job["created"]:
        _answer(job, as_json, f"{job['id']} is enqueued, {_due(desk, job)}.")
    else:
        _answer(job, as_json, f"{job['id']} was there already ({job['status']}): nothing new is enqueued.")


@jobs.command()
@click.argument("job_id", metavar="ID")
@shared
def retry(job_id: str, where: Where, as_json: bool) -> None:
    """Run a job again.

    A failed job is due now; a finished one runs again as a new job, once.
    """
    with at(where) as desk:
        job = desk.operator.jobs.retry(job_id)
    if job["created"]:
        sentence = f"{job['id']} is enqueued, due now: it runs {job['retry_of']} again."
    elif job["id"] == keys.canonical_id(job_id):
        sentence = f"{job['id']} is {job['status']}, {_due(desk, job)}."
    else:
        sentence = f"{job['id']} runs it again already ({job['status']}): nothing new is enqueued."
    _answer(job, as_json, sentence)


@jobs.command()
@click.argument("job_id", metavar="ID")
@shared
def cancel(job_id: str, where: Where, as_json: bool) -> None:
    """Cancel a waiting job; ask a running one to stop."""
    with at(where) as desk:
        job = desk.operator.jobs.cancel(job_id)
    if job["status"] == "cancelled":
        _answer(job, as_json, f"{job['id']} is cancelled.")
    else:
        _answer(job, as_json, f"{job['id']} is running: it is asked to stop.")


@jobs.command()
@click.argument("job_id", metavar="ID")
@due
@click.option("--priority", type=PRIORITY, metavar="N", help="0 to 3; 3 runs first.")
@click.option("--before", metavar="ID", help="Right ahead of this waiting job.")
@shared
def reschedule(
    job_id: str,
    where: Where,
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
    with at(where) as desk:
        job = desk.operator.jobs.reschedule(
            job_id, run_at=run_at, delay=delay, priority=priority, before=before
        )
    with_priority = f" with priority {job['priority']}" if job["priority"] else ""
    _answer(job, as_json, f"{job['id']} is {job['status']}, {_due(desk, job)}{with_priority}.")


jobs.add_command(bulk)


def _due(desk: Desk, job: View) -> str:
    now, scheduled_for = desk.now(), keys.parse_time(job["scheduled_for"])
    if scheduled_for <= now:
        return "due now"
    rough, exact = words.relative(scheduled_for, now), words.clock(scheduled_for)
    return f"due {exact}" if exact.startswith(rough) else f"due {rough} ({exact})"


def _answer(job: View, as_json: bool, sentence: str) -> None:
    if as_json:
        output.print_json(job)
    else:
        click.echo(sentence)
