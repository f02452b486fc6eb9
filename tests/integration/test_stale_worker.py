"""A worker that comes back after its job was taken from it records nothing and is told so."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from dynajobs import Job, JobQueue, Registry, Status
from dynajobs.execution import Executor
from dynajobs.item import Stored
from dynajobs.lanes import Walk
from dynajobs.telemetry import Telemetry
from dynajobs.testing import Clock, drain
from dynajobs.worker import begin_here
from tests.support.table import by_hand, dedup_items, live_items, put

LAPSE = timedelta(seconds=63)


@pytest.fixture
def queue(moto_queue: JobQueue) -> JobQueue:
    return moto_queue


@pytest.fixture
def executor(queue: JobQueue, jobs: Registry) -> Executor:
    return Executor(queue, jobs, Telemetry(queue.settings))


@pytest.fixture
def begin(executor: Executor) -> Callable[[Job], Stored]:
    def begun(job: Job) -> Stored:
        started = begin_here(executor, executor.queue.store.find(job), "worker")
        assert started is not None
        return started

    return begun


def reclaim(executor: Executor, job: Job) -> Stored | None:
    return begin_here(executor, executor.queue.store.find(job), "another worker")


@pytest.mark.parametrize("do", ["ok", "fail", "discard"])
def test_a_job_that_died_of_its_lapsed_lease_is_not_the_late_workers(
    queue: JobQueue, executor: Executor, begin: Callable[[Job], Stored], clock: Clock, do: str
) -> None:
    job = queue.enqueue("work", {"do": do, "value": ""}, max_attempts=1)
    begun = begin(job)
    clock.advance(LAPSE)
    assert reclaim(executor, job) is None
    dead = queue.get(job)
    assert (dead.status, dead.runs[-1].status) == (Status.DEAD_LETTER, "expired")

    assert executor.run(begun) is None
    assert queue.get(job) == dead


def test_a_late_snooze_to_the_moment_the_job_is_at_does_not_touch_the_next_worker(
    queue: JobQueue, executor: Executor, begin: Callable[[Job], Stored], clock: Clock
) -> None:
    job = queue.enqueue("work", {"do": "snooze", "value": 0}, delay=LAPSE)
    clock.advance(LAPSE)
    begun = begin(job)
    clock.advance(LAPSE)
    reclaim(executor, job)
    clock.set(job.scheduled_for)
    held = queue.get(job)

    assert executor.run(begun) is None
    assert queue.get(job) == held


def test_a_cancellation_by_the_lapsed_lease_is_not_the_late_workers(
    queue: JobQueue, executor: Executor, begin: Callable[[Job], Stored], clock: Clock
) -> None:
    job = queue.enqueue("work", {"do": "fail"})
    begin(job)
    queue.cancel(job)
    begun = queue.store.find(job)
    clock.advance(LAPSE)
    assert reclaim(executor, job) is None
    assert queue.get(job).status is Status.CANCELLED

    assert executor.run(begun) is None


def test_a_job_reset_by_hand_while_it_ran_runs_again_and_its_worker_stops(
    queue: JobQueue, jobs: Registry, executor: Executor, begin: Callable[[Job], Stored]
) -> None:
    job = queue.enqueue("work")
    begun = begin(job)
    queue.store.table.client.update_item(
        TableName=queue.store.table.name,
        Key=begun.key,
        UpdateExpression="SET #s = :pending",
        ExpressionAttributeNames={"#s": "status"},
        ExpressionAttributeValues={":pending": {"S": "pending"}},
    )

    assert executor.run(begun) is None
    (done,) = drain(queue, jobs)
    assert (done.id, done.status, done.attempts) == (job.id, Status.COMPLETED, 0)


def test_a_job_moved_by_hand_takes_its_dedup_record_along(
    queue: JobQueue, executor: Executor, clock: Clock
) -> None:
    job = queue.enqueue("work", dedup_key="k")
    (item,) = live_items(queue)
    later = (clock() + timedelta(hours=1)).isoformat()
    put(queue, item | {"scheduled_for": {"S": later}})
    assert list(Walk(queue.store, queue.now(), [0], executor.telemetry).claimable(0)) == []

    (moved,), (record,) = live_items(queue), dedup_items(queue)
    assert (record["job_pk"], record["job_sk"]) == (moved["PK"], moved["SK"])
    again = queue.enqueue("work", dedup_key="k")
    assert (again.id, again.created) == (job.id, False)


@pytest.mark.parametrize(
    "record",
    [
        {"dedup_pk": "", "dedup_sk": "active"},
        {"dedup_pk": "scheduled-job#k", "dedup_sk": ""},
        {"dedup_pk": "scheduled-job#k"},
        {"dedup_pk": "scheduled-job#nobody", "dedup_sk": "active"},
        {"dedup_pk": "job-id#019a9000-0000-7000-8000-00000000000a", "dedup_sk": "job"},
        {"dedup_pk": "control", "dedup_sk": "types"},
    ],
)
def test_a_hand_written_record_key_that_is_none_never_blocks_the_job(
    queue: JobQueue, jobs: Registry, record: dict[str, Any]
) -> None:
    sk = "scheduled#2025-12-31T23:00:00.000000Z#019a9000-0000-7000-8000-00000000000a"
    put(queue, by_hand(sk, **record))
    (done,) = drain(queue, jobs)
    assert done.status is Status.COMPLETED
