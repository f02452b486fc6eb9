"""New jobs wake the poller through the table's stream: nobody asks it here, and EventBridge is off.

The bounds are wide, because a cold start on a busy machine takes its time; `make bench` has the figures.
"""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from dynajobs import Job, Status
from dynajobs.keys import timestamp
from tests.support.deployment import PATIENCE_SECONDS, Deployment

WIDE = timedelta(seconds=20)


@pytest.fixture(scope="module", autouse=True)
def waking(stack: Deployment) -> Iterator[None]:
    stack.waking(True)
    try:
        # The first one waits for a cold start of everything.
        ended(stack, stack.queue.enqueue("e2e.work", {"batch": "warm"}))
        yield
    finally:
        stack.waking(False)


def ended(stack: Deployment, job: Job) -> Job:
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while not (now := stack.queue.get(job)).status.finished:
        assert time.monotonic() < give_up_at, now
        time.sleep(0.1)
    return now


def lateness(job: Job) -> timedelta:
    started_at = job.runs[-1].started_at
    assert started_at is not None
    return started_at - job.scheduled_for


def test_a_job_due_now_starts_now(stack: Deployment, batch: str) -> None:
    done = ended(stack, stack.queue.enqueue("e2e.work", {"batch": batch}))

    assert (done.status, done.attempts, done.undelivered) == (Status.COMPLETED, 0, 0)
    assert timedelta(0) <= lateness(done) < WIDE


def test_a_job_due_soon_starts_at_its_time(stack: Deployment, batch: str) -> None:
    jobs = [stack.queue.enqueue("e2e.work", {"batch": batch}, delay=delay) for delay in (3, 6)]

    done = [ended(stack, job) for job in jobs]

    assert [job.status for job in done] == [Status.COMPLETED] * 2
    assert all(timedelta(0) <= lateness(job) < WIDE for job in done)
    assert stack.traces(batch) == sorted(job.id for job in jobs)


def test_a_plain_put_item_starts_now(stack: Deployment, batch: str) -> None:
    now, job_id = timestamp(datetime.now(UTC)), str(uuid4())
    stack.dynamodb.put_item(
        TableName=stack.table,
        Item={
            "PK": {"S": "job"},
            "SK": {"S": f"scheduled#{now}#{job_id}"},
            "job_type": {"S": "e2e.work"},
            "payload": {"S": f'{{"batch": "{batch}"}}'},
            "scheduled_for": {"S": now},
            "status": {"S": "pending"},
        },
    )
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while not stack.traces(batch):
        assert time.monotonic() < give_up_at
        time.sleep(0.1)

    assert stack.traces(batch) == [job_id]


def test_a_retry_starts_at_its_time(stack: Deployment, batch: str) -> None:
    done = ended(stack, stack.queue.enqueue("e2e.work", {"batch": batch, "fails": 1}))

    assert (done.status, done.attempts) == (Status.COMPLETED, 1)
    assert timedelta(0) <= lateness(done) < WIDE


def test_other_applications_items_do_not_wake_it(stack: Deployment, batch: str) -> None:
    quiet = stack.starts("poller")
    for key in ("jobs", "user#1", f"trace#{batch}"):
        stack.dynamodb.put_item(
            TableName=stack.table, Item={"PK": {"S": key}, "SK": {"S": "scheduled#2026-11-18"}}
        )
    time.sleep(3)  # longer than the emulator takes to pass a record on

    assert stack.starts("poller") == quiet

    ended(stack, stack.queue.enqueue("e2e.work", {"batch": batch}))
    assert stack.starts("poller") > quiet
