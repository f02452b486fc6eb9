"""What users' own tests rely on: drain, the clock, assert_enqueued."""

from datetime import UTC, datetime, timedelta

import pytest

from dynajobs import JobQueue, Registry, Status
from dynajobs.testing import Clock, assert_enqueued, drain
from tests.integration.conftest import MakeQueue
from tests.support.invocation import claimed
from tests.support.table import by_hand, put
from tests.support.work import working

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_drain_runs_what_is_due_in_the_order_of_a_poll(queue: JobQueue, jobs: Registry) -> None:
    low = queue.enqueue("work")
    high = queue.enqueue("work", priority=3)
    early = queue.enqueue("work", run_at=START - timedelta(hours=1))
    queue.enqueue("work", delay=1)

    assert [job.id for job in drain(queue, jobs)] == [high.id, early.id, low.id]
    assert drain(queue, jobs) == []


def test_drain_runs_what_its_jobs_enqueue(queue: JobQueue) -> None:
    def during(_: object) -> None:
        queue.enqueue("work", {"do": "ok"})

    queue.enqueue("work", {"do": "call"})

    assert len(drain(queue, working(during))) == 2


def test_the_limit_counts_executions_and_only_ends_are_returned(queue: JobQueue, jobs: Registry) -> None:
    failing = queue.enqueue("work", {"do": "fail"}, priority=1)
    good = [queue.enqueue("work") for _ in range(3)]

    assert [job.id for job in drain(queue, jobs, limit=2)] == [good[0].id]
    assert queue.get(failing).status == Status.FAILED
    assert queue.get(good[1]).status == Status.PENDING
    assert drain(queue, jobs, limit=0) == []


def test_advance_moves_the_clock_to_the_next_due_job_until_nothing_is_left(
    queue: JobQueue, jobs: Registry, clock: Clock
) -> None:
    later = queue.enqueue("work", run_at=START + timedelta(days=3))
    retried = queue.enqueue("work", {"do": "fail_once"})

    assert [job.id for job in drain(queue, jobs, advance=True)] == [retried.id, later.id]
    assert clock() == START + timedelta(days=3)


def test_advance_needs_a_clock_that_can_be_moved(moto_queue: JobQueue, jobs: Registry) -> None:
    moto_queue.clock = lambda: START
    moto_queue.enqueue("work", delay=1)

    with pytest.raises(TypeError, match="Clock"):
        drain(moto_queue, jobs, advance=True)


def test_drain_waits_out_the_lease_of_another_worker(queue: JobQueue, jobs: Registry, clock: Clock) -> None:
    job = claimed(queue)

    assert drain(queue, jobs) == []
    [done] = drain(queue, jobs, advance=True)
    assert (done.id, done.undelivered) == (job.id, 1)
    assert clock() > START + timedelta(seconds=92)


def test_drain_repairs_and_buries_as_a_poll_does(queue: JobQueue, jobs: Registry) -> None:
    put(queue, by_hand("scheduled#not-a-time#x"))
    put(queue, by_hand(job_type=None))

    drained = drain(queue, jobs)

    assert "completed" in [job.status for job in drained]
    assert queue.stats().by_status["dead_letter"] == 1
    assert queue.stats().by_status["pending"] == 0


def test_nothing_is_drained_while_disabled(make_queue: MakeQueue, jobs: Registry) -> None:
    queue = make_queue(enabled=False)
    queue.enqueue("work")

    assert drain(queue, jobs) == []


def test_the_clock_moves_only_by_hand_and_only_with_a_zone() -> None:
    clock = Clock(START)
    clock.advance(1.5)
    clock.advance(timedelta(seconds=1))

    assert clock() == START + timedelta(seconds=2.5)
    clock.set(START)
    assert clock() == START
    with pytest.raises(ValueError, match="time zone"):
        clock.set(datetime(2026, 1, 1))  # noqa: DTZ001 - that is the mistake
    with pytest.raises(ValueError, match="by"):
        clock.advance(-1)


def test_assert_enqueued_finds_live_jobs_by_type_and_part_of_the_payload(queue: JobQueue) -> None:
    first = queue.enqueue("mail", {"to": "a", "n": 1})
    second = queue.enqueue("mail", {"to": "a", "n": 2}, delay=9)
    queue.enqueue("other", {"to": "a"})
    queue.cancel(queue.enqueue("mail", {"to": "a", "n": 3}))

    assert [job.id for job in assert_enqueued(queue, "mail")] == [first.id, second.id]
    assert [job.id for job in assert_enqueued(queue, "mail", {"n": 2})] == [second.id]
    assert assert_enqueued(queue, "mail", {"to": "a"}, count=2)
    assert assert_enqueued(queue, "mail", {"to": "b"}, count=0) == []
    assert assert_enqueued(queue, "none", count=0) == []


def test_assert_enqueued_says_what_it_expected_and_what_it_found(queue: JobQueue) -> None:
    queue.enqueue("mail", {"to": "a"})

    with pytest.raises(AssertionError) as failed:
        assert_enqueued(queue, "mail", {"to": "b"})
    assert str(failed.value).splitlines() == [
        "expected at least one live mail job with {'to': 'b'}, found 0; live mail jobs:",
        "  pending {'to': 'a'}",
    ]
    with pytest.raises(AssertionError, match=r"expected 2 live mail job.*found 1"):
        assert_enqueued(queue, "mail", count=2)
    with pytest.raises(AssertionError, match="none"):
        assert_enqueued(queue, "sms")
