"""Finding a job, listing jobs in order, counting them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynajobs import InvalidJob, JobNotFound, JobQueue, Registry, Status
from dynajobs.testing import Clock, drain
from tests.integration.conftest import MakeQueue
from tests.support.table import by_hand, put

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_job_is_found_by_id_in_any_state(queue: JobQueue, jobs: Registry) -> None:
    job = queue.enqueue("work", {"do": "fail_once"})

    assert queue.get(job.id.upper()).id == job.id
    drain(queue, jobs)
    assert queue.get(job).status == Status.FAILED
    drain(queue, jobs, advance=True)
    assert queue.get(job).status == Status.COMPLETED
    assert queue.get(job.id).status == Status.COMPLETED


@pytest.mark.parametrize("job_id", ["0198c2b6-7c1e-7d3a-8f00-000000000001", "no uuid", "", 7, None])
def test_an_unknown_id_is_not_found(moto_queue: JobQueue, job_id: Any) -> None:
    for call in (moto_queue.get, moto_queue.cancel, moto_queue.retry):
        with pytest.raises(JobNotFound, match=str(job_id) or "''"):
            call(job_id)
    with pytest.raises(JobNotFound):
        moto_queue.reschedule(job_id, delay=1)


def test_a_read_waits_a_fixed_number_of_times_for_the_index(queue: JobQueue) -> None:
    waits: list[float] = []
    queue.store.table.sleep = waits.append

    with pytest.raises(JobNotFound):
        queue.get("0198c2b6-7c1e-7d3a-8f00-000000000001")

    assert waits == [0.05, 0.1, 0.2]


def test_live_jobs_come_by_priority_then_time_then_id(queue: JobQueue) -> None:
    later = queue.enqueue("work", delay=60)
    low = [queue.enqueue("work"), queue.enqueue("work")]
    past = queue.enqueue("work", run_at=START - timedelta(days=1))
    high = queue.enqueue("work", delay=600, priority=3)
    middle = queue.enqueue("work", priority=1)

    assert [job.id for job in queue.list()] == [job.id for job in (high, middle, past, *low, later)]


def test_finished_jobs_come_newest_first_after_the_live_ones(
    queue: JobQueue, jobs: Registry, clock: Clock
) -> None:
    done = []
    for do in ("ok", "discard", "ok"):
        done.append(queue.enqueue("work", {"do": do, "value": "x"}))
        drain(queue, jobs)
        clock.advance(1)
    cancelled = queue.cancel(queue.enqueue("other_type"))
    live = queue.enqueue("work")

    newest_first = [cancelled, *reversed(done)]
    assert [job.id for job in queue.list()] == [job.id for job in (live, *newest_first)]
    assert [job.id for job in queue.list(status="completed")] == [done[2].id, done[0].id]
    assert [job.id for job in queue.list(status=Status.CANCELLED)] == [cancelled.id]
    assert [job.id for job in queue.list(status="live")] == [live.id]


def test_filters_are_combined(make_queue: MakeQueue, jobs: Registry) -> None:
    queue = make_queue(shards=3)
    for n in range(6):
        queue.enqueue("work", {"n": n}, org_id=f"org{n % 2}", priority=n % 4)
    for n in range(3):
        queue.enqueue("other", {"n": n}, org_id="org0", delay=60)
    drain(queue, jobs, limit=2)

    def found(**filters: Any) -> int:
        return len(queue.list(limit=200, **filters).jobs)

    assert found() == 9
    assert found(job_type="work") == 6
    assert found(org_id="org0") == 6
    assert found(org_id="org0", job_type="work") == 3
    assert found(org_id="nobody") == 0
    assert found(status="pending") == 7
    assert found(status="live") == 7
    assert found(status="live", job_type="other") == 3
    assert found(status="completed") == 2
    assert found(status="completed", job_type="other") == 0
    assert (
        found(status="pending", job_type="work", org_id="org1")
        + found(status="completed", job_type="work", org_id="org1")
        == 3
    )
    assert found(schedule_name="nightly") == 0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 201}, "limit"),
        ({"limit": True}, "limit"),
        ({"status": "done"}, "status"),
        ({"status": ""}, "status"),
        ({"job_type": ""}, "job_type"),
        ({"org_id": ""}, "org_id"),
        ({"org_id": 7}, "org_id"),
        ({"schedule_name": ""}, "schedule_name"),
    ],
)
def test_a_wrong_filter_is_named(moto_queue: JobQueue, arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidJob, match=name):
        moto_queue.list(**arguments)


def test_statistics_count_every_status_and_type(queue: JobQueue, jobs: Registry, clock: Clock) -> None:
    assert queue.stats().by_status == dict.fromkeys(Status, 0)
    assert queue.stats().oldest_due_age is None

    for do in ("ok", "ok", "discard", "fail"):
        queue.enqueue("work", {"do": do, "value": "x"})
    drain(queue, jobs)
    queue.cancel(queue.enqueue("other"))
    queue.enqueue("other", delay=600)
    queue.enqueue("work", run_at=clock() - timedelta(seconds=30))
    put(queue, by_hand(job_type=None))
    stats = queue.stats()

    assert stats.by_status == {
        "pending": 3,
        "in_progress": 0,
        "completed": 2,
        "failed": 1,
        "dead_letter": 1,
        "cancelled": 1,
    }
    assert stats.by_type == {"invalid": 1, "other": 2, "work": 5}
    assert stats.oldest_due_age == timedelta(seconds=30)
    assert not stats.truncated
