"""One job per dedup key and window, whatever became of the job or of its record."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from dynajobs import JobQueue, Registry, Status, make_dedup_key
from dynajobs.testing import Clock, drain
from tests.integration.conftest import MakeQueue
from tests.support.table import all_items, dedup_items, put

WINDOWS: list[Any] = [
    "active",
    "2026-week-1",
    date(2026, 1, 1),
    datetime(2026, 1, 1, 7, tzinfo=timezone(timedelta(hours=2))),
]


@pytest.mark.parametrize("window", WINDOWS)
def test_a_second_enqueue_returns_the_first_job(queue: JobQueue, window: Any) -> None:
    first = queue.enqueue("work", {"n": 1}, dedup_key="k", dedup_window=window)
    second = queue.enqueue("work", {"n": 2}, dedup_key="k", dedup_window=window, delay=9, priority=3)

    assert (first.created, second.created) == (True, False)
    assert second == first
    assert [job.id for job in queue.list()] == [first.id]


def test_windows_and_keys_are_apart_and_spelled_in_one_way(queue: JobQueue) -> None:
    def created(key: str, window: Any) -> bool:
        return queue.enqueue("work", dedup_key=key, dedup_window=window).created

    assert created("k", "active")
    assert created("other", "active")
    assert created("k", date(2026, 1, 1))
    assert not created("k", "2026-01-01")
    assert created("k", datetime(2026, 1, 1, tzinfo=UTC))
    assert not created("k", datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))))
    assert not created("k", "2026-01-01T00:00:00.000000Z")


def test_the_longest_key_and_window_are_taken(queue: JobQueue) -> None:
    long: dict[str, Any] = {"dedup_key": "é" * 512, "dedup_window": "w" * 256}

    assert queue.enqueue("work", **long).created
    assert not queue.enqueue("work", **long).created


def test_an_active_window_opens_again_when_the_job_has_finished(queue: JobQueue, jobs: Registry) -> None:
    first = queue.enqueue("work", dedup_key="k")
    drain(queue, jobs)

    assert dedup_items(queue) == []
    second = queue.enqueue("work", dedup_key="k")
    assert second.created
    assert second.id != first.id


def test_finished_work_is_not_created_again_in_its_window(queue: JobQueue, jobs: Registry) -> None:
    first = queue.enqueue("work", {"do": "return", "value": 5}, dedup_key="k", dedup_window="day")
    drain(queue, jobs)

    again = queue.enqueue("work", dedup_key="k", dedup_window="day")

    assert (again.id, again.created, again.status, again.result) == (first.id, False, Status.COMPLETED, 5)
    assert queue.list(status="pending").jobs == ()


@pytest.mark.parametrize("end", ["cancelled", "dead_letter"])
def test_any_end_closes_the_record(queue: JobQueue, jobs: Registry, clock: Clock, end: str) -> None:
    job = queue.enqueue("work", {"do": "discard", "value": "no"}, dedup_key="k", dedup_window="day")
    clock.advance(5)
    if end == "cancelled":
        queue.cancel(job)
    else:
        drain(queue, jobs)

    [record] = dedup_items(queue)
    assert record["outcome"] == {"S": end}
    assert record["finished_at"] == {"S": "2026-01-01T00:00:05.000000Z"}
    assert record["expires_at"] == {"N": str(int((clock() + timedelta(days=30)).timestamp()))}
    assert queue.enqueue("work", dedup_key="k", dedup_window="day").status == end


def test_a_finished_job_that_is_no_longer_stored_is_told_from_its_record(
    make_queue: MakeQueue, jobs: Registry
) -> None:
    queue = make_queue(retention_days=0)
    first = queue.enqueue("work", {"n": 1}, dedup_key="k", dedup_window="day")
    drain(queue, jobs)

    again = queue.enqueue("work", {"n": 2}, dedup_key="k", dedup_window="day")

    assert (again.id, again.status, again.payload, again.created) == (first.id, "completed", {}, False)
    assert all_items(queue, "job") == []


def test_the_record_follows_a_job_that_moves(queue: JobQueue, jobs: Registry, clock: Clock) -> None:
    job = queue.enqueue("work", {"do": "fail_once"}, dedup_key="k", delay=60)
    queue.reschedule(job, delay=0, priority=3)
    assert queue.enqueue("work", dedup_key="k").id == job.id

    drain(queue, jobs)
    assert queue.enqueue("work", dedup_key="k").status == Status.FAILED

    clock.advance(timedelta(hours=1))
    assert [done.id for done in drain(queue, jobs)] == [job.id]
    assert queue.enqueue("work", dedup_key="k").created


@pytest.mark.parametrize("window", ["active", "day"])
def test_a_record_whose_job_is_gone_is_replaced(queue: JobQueue, window: str) -> None:
    lost = queue.enqueue("work", dedup_key="k", dedup_window=window)
    [record] = dedup_items(queue)
    key = {"PK": record["job_pk"], "SK": record["job_sk"]}
    queue.store.table.client.delete_item(TableName=queue.store.table.name, Key=key)

    healed = queue.enqueue("work", dedup_key="k", dedup_window=window)

    assert healed.created
    assert healed.id != lost.id
    [record] = dedup_items(queue)
    assert record["job_id"] == {"S": healed.id}
    assert not queue.enqueue("work", dedup_key="k", dedup_window=window).created


@pytest.mark.parametrize("end", ["completed", "cancelled"])
def test_a_missing_record_never_blocks_the_end_of_its_job(queue: JobQueue, jobs: Registry, end: str) -> None:
    job = queue.enqueue("work", dedup_key="k", dedup_window="day")
    [record] = dedup_items(queue)
    queue.store.table.client.delete_item(
        TableName=queue.store.table.name, Key={"PK": record["PK"], "SK": record["SK"]}
    )

    if end == "cancelled":
        queue.cancel(job)
    else:
        drain(queue, jobs)

    assert queue.get(job).status == end
    assert dedup_items(queue) == []


def test_a_record_that_points_to_another_job_is_left_alone(queue: JobQueue, jobs: Registry) -> None:
    job = queue.enqueue("work", {"do": "fail_once"}, dedup_key="k")
    [record] = dedup_items(queue)
    foreign = put(queue, {**record, "job_id": {"S": "somebody else's"}})

    drain(queue, jobs, advance=True)

    assert queue.get(job).status == Status.COMPLETED
    assert dedup_items(queue) == [foreign]


def test_a_retried_job_carries_no_dedup_key(queue: JobQueue, jobs: Registry) -> None:
    job = queue.enqueue("work", {"do": "discard", "value": "x"}, dedup_key="k", dedup_window="day")
    drain(queue, jobs)
    before = dedup_items(queue)

    successor = queue.retry(job)

    assert successor.dedup_pk is None
    assert dedup_items(queue) == before


def test_equal_work_has_an_equal_key() -> None:
    key = make_dedup_key("sync", "org-1", {"b": [1, 2], "a": "é"})

    assert key == 'sync::org-1::{"a":"é","b":[1,2]}'
    assert make_dedup_key("sync", None, {}) == "sync::global::{}"
    long = make_dedup_key("sync", "o", {"a": "x" * 2000})
    assert long.startswith("sync::o::sha256:")
    assert len(long) == len("sync::o::sha256:") + 64
