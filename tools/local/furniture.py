"""What makes a new stack's page worth a look: schedules with a past, jobs with a future, mistakes."""

from datetime import UTC, datetime, timedelta

from dynajobs import AlreadyExists, JobQueue
from dynajobs.operating.audit import Actor
from dynajobs.operating.operator import Operator

HOUR = timedelta(hours=1)
MARK = "weekly-summary"
"""The template that is there if all the rest is."""


def furnish(queue: JobQueue) -> None:
    """Once for each table; everything is an ordinary job or schedule that the stack's functions handle."""
    ada = Operator(queue, Actor("ada", "cli"))
    try:
        ada.templates.create(
            MARK, "daily_summary", payload={"user_id": "everybody"}, description="A summary for all of us"
        )
    except AlreadyExists:
        return
    _schedules(queue, ada)
    _jobs(queue, ada)


def _schedules(queue: JobQueue, ada: Operator) -> None:
    # Made some hours ago: the poller catches up with the last slot and records those that were missed.
    then = datetime.now(UTC) - 5 * HOUR
    past = Operator(
        JobQueue(
            queue.settings.table,
            client=queue.store.table.client,
            settings=queue.settings,
            clock=lambda: then,
        ),
        Actor("ada", "cli"),
    )
    past.schedules.create(
        "hourly-sync",
        job_type="user_sync",
        payload={"user_id": "ada", "source": "crm"},
        cron="7 * * * *",
        description="Brings users up to date",
    )
    past.schedules.create(
        "fragile-import",
        job_type="demo.fail",
        payload={"times": 1},
        cron="23 * * * *",
        overlap="skip",
        description="Fails at first, and then succeeds",
    )
    ada.schedules.create(
        "night-report",
        template=MARK,
        param_overrides={"user_id": "management"},
        cron="30 2 * * 1-5",
        timezone="America/New_York",
        description="A time that a change of clocks moves twice a year",
    )
    ada.schedules.create(
        "slow-cleanup", job_type="demo.slow", payload={"seconds": 5}, cron="0 4 1 * *", enabled=False
    )
    for name in ("hourly-sync", "hourly-sync", "fragile-import"):
        ada.schedules.trigger(name)


def _jobs(queue: JobQueue, ada: Operator) -> None:
    orgs = ("acme", "initech", "umbrella")
    for minutes in (4, 9, 9, 16, 27, 44, 58):
        queue.enqueue(
            "daily_summary",
            {"user_id": f"user-{minutes}"},
            delay=timedelta(minutes=minutes),
            org_id=orgs[minutes % 3],
            priority=minutes % 4,
        )
    for user in ("grace", "alan", "edsger"):
        queue.enqueue("user_sync", {"user_id": user, "source": "crm"}, org_id=orgs[len(user) % 3])
    for name in ("invoices.csv", "orders.csv", "orders.csv"):
        queue.enqueue("demo.fail", {"file": name}, org_id="acme")
    queue.enqueue("user_sync", {"user": "a payload that does not fit its model"})
    queue.enqueue("reports.nobody", {"why": "no function handles this type"}, max_attempts=3)
    queue.enqueue("demo.slow", {"seconds": 90}, org_id="initech")
    gone = ada.jobs.enqueue("daily_summary", {"user_id": "changed-our-mind"}, delay=HOUR)
    ada.jobs.cancel(gone["id"])
