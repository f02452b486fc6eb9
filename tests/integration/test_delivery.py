"""From claim to function: what happens when the handing over fails, is lost, or has nowhere to go."""

from datetime import UTC, datetime, timedelta

import pytest

from dynajobs import JobContext, JobQueue, Registry, Status
from dynajobs.poller import Poller
from dynajobs.testing import Clock, drain
from tests.integration.conftest import MakeQueue
from tests.support.delivery import Delivery
from tests.support.table import event_of
from tests.support.work import working

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_claim_that_cannot_be_handed_over_is_released_at_once(
    queue: JobQueue, delivery: Delivery, jobs: Registry
) -> None:
    delivery.refusing = True
    job = queue.enqueue("work")

    assert Poller(queue, delivery).poll().claimed == 0

    released = queue.get(job)
    assert delivery.refused == 1  # not tried again in this pass
    assert (released.status, released.undelivered, released.attempts) == (Status.PENDING, 1, 0)
    assert (released.scheduled_for, released.locked_by, released.runs) == (START, None, ())
    assert [done.id for done in drain(queue, jobs)] == [job.id]


def test_the_second_time_it_moves_by_backoff_and_keeps_its_status(
    queue: JobQueue, delivery: Delivery, clock: Clock
) -> None:
    job = queue.enqueue("work", {"do": "fail_once"}, dedup_key="k")
    drain(queue, working())
    clock.set(queue.get(job).scheduled_for)
    delivery.refusing = True
    poller = Poller(queue, delivery)

    poller.poll()
    poller.poll()

    released = queue.get(job)
    assert (released.status, released.undelivered, released.attempts) == (Status.FAILED, 2, 1)
    assert released.scheduled_for >= clock() + timedelta(seconds=60)
    assert queue.enqueue("work", dedup_key="k").id == job.id
    poller.poll()
    assert delivery.refused == 2


def test_a_job_that_never_starts_is_a_dead_letter_after_twenty_tries(
    queue: JobQueue, delivery: Delivery, clock: Clock
) -> None:
    job = queue.enqueue("work")
    delivery.refusing = True
    poller = Poller(queue, delivery)
    for _ in range(20):
        clock.set(max(clock(), queue.get(job).scheduled_for))
        poller.poll()

    dead = queue.get(job)
    assert (dead.status, dead.undelivered, dead.attempts) == (Status.DEAD_LETTER, 20, 0)
    assert "never started" in (dead.last_error or "")
    assert "throttled" in (dead.last_error or "")


def test_a_claim_that_is_never_begun_is_no_attempt(queue: JobQueue, delivery: Delivery, clock: Clock) -> None:
    job = queue.enqueue("work")
    poller = Poller(queue, delivery)
    for lost in range(20):
        poller.poll()
        assert (delivery.jobs[-1].undelivered, delivery.jobs[-1].attempts) == (lost, 0)
        clock.advance(93)
    poller.poll()

    dead = queue.get(job)
    assert len(delivery.jobs) == 20
    assert (dead.status, dead.undelivered, dead.attempts, dead.runs) == ("dead_letter", 20, 0, ())
    assert "never started" in (dead.last_error or "")


def test_a_begun_job_whose_lease_lapses_has_failed_an_attempt(
    queue: JobQueue, delivery: Delivery, clock: Clock
) -> None:
    job = queue.enqueue("work", {"do": "call"}, max_attempts=3)
    poller = Poller(queue, delivery)
    for attempt in (1, 2, 3):
        poller.poll()
        [claimed] = delivery.take()
        assert (claimed.attempts, claimed.scheduled_for) == (attempt - 1, START)
        queue.store.begin(
            {"PK": {"S": event_of(claimed)["pk"]}, "SK": {"S": event_of(claimed)["sk"]}},
            claimed.locked_by or "",
            clock(),
            nonce="n",
            worker="killed",
            log=None,
            max_attempts=3,
            until=clock() + timedelta(seconds=60),
        )
        clock.advance(63)
    poller.poll()

    dead = queue.get(job)
    assert delivery.jobs == []
    assert (dead.status, dead.attempts) == (Status.DEAD_LETTER, 3)
    assert [run.status for run in dead.runs] == ["expired"] * 3
    assert "lease expired" in (dead.last_error or "")


def test_a_lapsed_lease_of_a_job_that_was_asked_to_stop_is_cancelled(
    make_queue: MakeQueue, clock: Clock, delivery: Delivery
) -> None:
    queue = make_queue()
    job = queue.enqueue("work", {"do": "call"})

    def killed(_: JobContext) -> None:
        queue.cancel(job)
        clock.advance(63)
        Poller(queue, delivery).poll()

    drain(queue, working(killed))

    seen = queue.get(job)
    assert delivery.jobs == []
    assert (seen.status, seen.attempts) == (Status.CANCELLED, 0)
    assert [run.status for run in seen.runs] == ["cancelled"]


def test_the_type_decides_the_function(make_queue: MakeQueue, delivery: Delivery) -> None:
    queue = make_queue(handlers={"work": "worker", "*": "rest"})
    queue.enqueue("work")
    queue.enqueue("other")

    Poller(queue, delivery).poll()

    assert dict(zip((job.job_type for job in delivery.jobs), delivery.functions, strict=True)) == {
        "work": "worker",
        "other": "rest",
    }


def test_a_type_without_a_function_is_an_ordinary_failure(
    make_queue: MakeQueue, delivery: Delivery, clock: Clock
) -> None:
    queue = make_queue(handlers={"work": "worker"})
    job = queue.enqueue("other", max_attempts=2)
    good = queue.enqueue("work")
    poller = Poller(queue, delivery)
    poller.poll()

    failed = queue.get(job)
    assert delivery.ids == [good.id]
    assert (failed.status, failed.attempts) == (Status.FAILED, 1)
    assert [run.status for run in failed.runs] == ["failed"]
    assert "no function for job type 'other'" in (failed.last_error or "")
    clock.set(failed.scheduled_for)
    poller.poll()
    assert queue.get(job).status == Status.DEAD_LETTER


@pytest.mark.parametrize(("first", "then"), [(1, 3), (4, 2)])
def test_changing_the_number_of_shards_strands_nothing(
    make_queue: MakeQueue, jobs: Registry, first: int, then: int
) -> None:
    before, after = make_queue(shards=first), make_queue(shards=then)
    made = {job.id for job in before.enqueue_many("work", [{}] * 6, priority=1)}
    made |= {after.enqueue("work").id for _ in range(2)}

    assert {job.id for job in after.list()} == made
    assert {job.id for job in drain(after, jobs)} == made
    assert {job.id for job in make_queue(shards=1).list(status="completed")} == made
    assert make_queue(shards=1).stats().by_status["completed"] == 8


def test_a_poller_with_fewer_shards_finds_what_others_put(make_queue: MakeQueue, delivery: Delivery) -> None:
    made = {job.id for job in make_queue(shards=5).enqueue_many("work", [{}] * 10)}

    Poller(make_queue(shards=1), delivery).poll()

    assert set(delivery.ids) == made
