"""Which due job is handed over first, how many at once, and that none waits for ever."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from dynajobs import Job, JobQueue
from dynajobs.poller import Poller
from dynajobs.testing import Clock
from tests.integration.conftest import MakeQueue
from tests.support.delivery import Delivery
from tests.support.table import event_of
from tests.support.work import working

START = datetime(2026, 1, 1, tzinfo=UTC)


def finish(queue: JobQueue, jobs: list[Job]) -> None:
    function = working().lambda_handler(queue)
    for job in jobs:
        assert function(event_of(job), None)["status"] == "completed"


def scatter(queue: JobQueue, number: int, seed: int = 1) -> list[Job]:
    """Due jobs with random past times and priorities."""
    random = Random(seed)
    return [
        queue.enqueue(
            "work", run_at=START - timedelta(minutes=random.randrange(5)), priority=random.randrange(4)
        )
        for _ in range(number)
    ]


def in_order(jobs: list[Job]) -> list[str]:
    return [job.id for job in sorted(jobs, key=lambda job: (-job.priority, job.scheduled_for, job.id))]


@pytest.mark.parametrize("shards", [1, 3])
def test_due_jobs_are_handed_over_by_priority_time_and_id(
    make_queue: MakeQueue, delivery: Delivery, shards: int
) -> None:
    queue = make_queue(shards=shards, poll_limit=4)
    made = scatter(queue, 14)
    queue.enqueue("work", delay=1, priority=3)

    done = Poller(queue, delivery).poll()

    assert delivery.ids == in_order(made)
    assert (done.claimed, done.waiting) == (14, 0)
    assert delivery.functions == ["handler-function"] * 14


def test_the_same_table_is_always_polled_in_the_same_order(make_queue: MakeQueue, clock: Clock) -> None:
    queue = make_queue(max_in_flight=7)
    scatter(queue, 12)
    orders = []
    for _ in range(3):
        delivery = Delivery()
        Poller(queue, delivery).poll()
        orders.append(delivery.ids)
        clock.advance(93)  # every claim lapses, undelivered

    assert orders[0] == orders[1] == orders[2]
    assert len(orders[0]) == 7


def test_the_cap_is_exact_over_several_passes(make_queue: MakeQueue, delivery: Delivery) -> None:
    queue = make_queue(max_in_flight=5, poll_limit=2)
    made, poller = scatter(queue, 12), Poller(queue, delivery)
    handed: list[str] = []

    while True:
        done = poller.poll()
        in_flight = len(queue.list(status="in_progress").jobs)
        assert in_flight == min(5, 12 - len(handed))
        assert done.claimed == len(delivery.jobs)
        assert poller.poll().claimed == 0  # full, or nothing is left
        if not in_flight:
            break
        taken = delivery.take()
        handed += [job.id for job in taken]
        finish(queue, taken)

    assert sorted(handed) == sorted(job.id for job in made)


def test_the_cap_counts_the_leases_of_other_pollers(make_queue: MakeQueue, delivery: Delivery) -> None:
    queue = make_queue(max_in_flight=4)
    scatter(queue, 9)
    Poller(make_queue(max_in_flight=3), delivery).poll()

    assert Poller(queue, delivery).poll().claimed == 1
    assert Poller(queue, delivery).poll().claimed == 0
    assert len(delivery.jobs) == 4


def test_lapsed_leases_do_not_fill_the_cap(make_queue: MakeQueue, clock: Clock, delivery: Delivery) -> None:
    queue = make_queue(max_in_flight=2)
    scatter(queue, 4)
    poller = Poller(queue, delivery)
    assert poller.poll().claimed == 2
    clock.advance(92)
    assert poller.poll().claimed == 0  # clocks may differ by two seconds
    clock.advance(timedelta(microseconds=1))

    assert poller.poll().claimed == 2


def test_one_slot_in_five_goes_to_the_oldest_job_of_any_priority(
    make_queue: MakeQueue, delivery: Delivery
) -> None:
    queue = make_queue(max_in_flight=10)
    old = [queue.enqueue("work", run_at=START - timedelta(hours=2, minutes=-n)) for n in range(3)]
    queue.enqueue_many("work", [{}] * 20, priority=2)

    Poller(queue, delivery).poll()

    assert [delivery.ids.index(job.id) for job in old[:2]] == [4, 9]
    assert old[2].id not in delivery.ids


@pytest.mark.parametrize(("backlog", "slots"), [(9, 1), (4, 1), (11, 2)])
def test_a_low_priority_never_starves(
    make_queue: MakeQueue, delivery: Delivery, backlog: int, slots: int
) -> None:
    """Urgent jobs keep coming, so there are always `backlog` of them."""
    queue = make_queue(max_in_flight=slots)
    old = queue.enqueue("work", run_at=START - timedelta(days=1))
    queue.enqueue_many("work", [{}] * backlog, priority=3)
    poller = Poller(queue, delivery)
    handed: list[str] = []

    while old.id not in handed and len(handed) < 10:
        poller.poll()
        taken = delivery.take()
        handed += [job.id for job in taken]
        finish(queue, taken)
        queue.enqueue_many("work", [{}] * len(taken), priority=3)

    assert old.id in handed[:5]


def test_nothing_is_claimed_while_disabled_but_enqueue_works(
    make_queue: MakeQueue, delivery: Delivery, caplog: pytest.LogCaptureFixture
) -> None:
    queue = make_queue(enabled=False)
    caplog.set_level("INFO", logger="dynajobs")
    queue.enqueue("work")

    assert Poller(queue, delivery).poll().claimed == 0
    assert delivery.jobs == []
    assert "DYNAJOBS_ENABLED" in caplog.text
    assert Poller(make_queue(), delivery).poll().claimed == 1


def test_nobody_starves_at_the_cap_however_the_passes_fall(make_queue: MakeQueue, delivery: Delivery) -> None:
    """One slot becomes free for each pass: the turns go on from one pass to the next."""
    queue = make_queue(max_in_flight=10)
    old = [queue.enqueue("work", run_at=START - timedelta(hours=1)) for _ in range(10)]
    for _ in range(25):
        queue.enqueue("work", priority=3)
    poller = Poller(queue, delivery)
    poller.poll()
    for _ in range(12):
        [*_, last] = delivery.jobs
        finish(queue, [last])
        poller.poll()

    started = [job_id for job_id in delivery.ids[10:] if job_id in {job.id for job in old}]
    assert len(started) >= 2
