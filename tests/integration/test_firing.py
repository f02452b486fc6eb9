"""Due slots become jobs once, on time or caught up with, or leave a record that they did not."""

from datetime import timedelta
from typing import Any

import pytest

from dynajobs import JobQueue, Registry, Status
from dynajobs.poller import Poller
from dynajobs.testing import Clock, drain
from tests.integration.conftest import MakeQueue
from tests.support.delivery import Delivery
from tests.support.firing import at, fire, history, slot_records
from tests.support.table import all_items, live_items, put

HOURLY = "0 * * * *"
MINUTE = timedelta(minutes=1)


def test_a_due_slot_becomes_one_job(queue: JobQueue, clock: Clock) -> None:
    options: dict[str, Any] = {"payload": {"n": 3}, "priority": 2, "max_attempts": 4}
    queue.schedules.create("s", "work", cron=HOURLY, **options)
    clock.set(at(1) - timedelta(microseconds=1))
    assert fire(queue) == 0
    clock.set(at(1))

    assert [fire(queue), fire(queue)] == [1, 0]

    [job] = queue.list().jobs
    assert (job.job_type, job.payload, job.priority, job.max_attempts) == ("work", {"n": 3}, 2, 4)
    assert (job.scheduled_for, job.created_at, job.status) == (at(1), at(1), Status.PENDING)
    assert (job.schedule_name, job.triggered_by, job.template) == ("s", "scheduler", None)
    seen = queue.schedules.get("s")
    assert (seen.next_run_at, seen.last_run_at, seen.total_runs) == (at(2), at(1), 1)
    [record] = slot_records(queue)
    assert (record["PK"], record["SK"]) == (
        {"S": "scheduled-job#schedule#s"},
        {"S": "2026-01-01T01:00:00.000000Z"},
    )
    assert record["job_id"] == {"S": job.id}


def test_the_reserved_key_cannot_be_taken_from_outside(moto_queue: JobQueue) -> None:
    with pytest.raises(ValueError, match="schedule#"):
        moto_queue.enqueue("work", dedup_key="schedule#s", dedup_window=at(1))


def test_a_poll_fires_and_claims_in_one_go(queue: JobQueue, clock: Clock, delivery: Delivery) -> None:
    queue.schedules.create("a", "work", cron=HOURLY)
    queue.schedules.create("b", "work", cron=HOURLY, priority=1)
    queue.schedules.create("later", "work", cron="30 1 * * *")
    clock.set(at(1))

    done = Poller(queue, delivery).poll()

    assert (done.fired, done.claimed, done.coming) == (2, 2, None)
    assert [job.schedule_name for job in delivery.jobs] == ["b", "a"]


def test_a_poll_that_looks_ahead_tells_the_next_slot(moto_queue: JobQueue, clock: Clock) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY)
    moto_queue.schedules.create("later", "work", cron="1 * * * *")
    clock.set(at(0, 59, 30))
    poller = Poller(moto_queue, Delivery())

    assert poller.poll(ahead=timedelta(seconds=29)).coming is None
    assert poller.poll(ahead=timedelta(seconds=30)).coming == at(1)
    moto_queue.enqueue("work", delay=10)
    assert poller.poll(ahead=timedelta(seconds=70)).coming == at(0, 59, 40)
    clock.set(at(1))
    assert poller.poll(ahead=timedelta(seconds=70)).coming == at(1, 1)


@pytest.mark.parametrize("catchup", ["latest", "all", "none"])
@pytest.mark.parametrize("late", [timedelta(0), timedelta(seconds=50), 5 * MINUTE])
def test_within_the_grace_a_slot_is_on_time(
    moto_queue: JobQueue, clock: Clock, catchup: str, late: timedelta
) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY, catchup=catchup)
    clock.set(at(1) + late)

    assert fire(moto_queue) == 1

    assert history(moto_queue) == [(at(1), "queued", "scheduler", 1)]


@pytest.mark.parametrize(
    ("catchup", "told"),
    [
        ("latest", [(at(1), "queued", "catchup", 1)]),
        ("all", [(at(1), "queued", "catchup", 1)]),
        ("none", [(at(1), "missed", "scheduler", 1)]),
    ],
)
def test_after_the_grace_a_slot_is_late(
    moto_queue: JobQueue, clock: Clock, catchup: str, told: list[Any]
) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY, catchup=catchup)
    clock.set(at(1) + 5 * MINUTE + timedelta(microseconds=1))

    fire(moto_queue)

    assert [entry[:2] for entry in history(moto_queue)] == [entry[:2] for entry in told]
    if catchup != "none":
        assert history(moto_queue) == told
        assert moto_queue.list().jobs[0].triggered_by == "catchup"


@pytest.mark.parametrize(
    ("catchup", "told"),
    [
        ("latest", [(at(6), "queued", 1), (at(5), "missed", 5)]),
        ("all", [(at(hour), "queued", 1) for hour in (6, 5, 4, 3, 2, 1)]),
        ("none", [(at(6), "missed", 6)]),
    ],
)
def test_what_becomes_of_a_long_silence(queue: JobQueue, clock: Clock, catchup: str, told: list[Any]) -> None:
    queue.schedules.create("s", "work", cron=HOURLY, catchup=catchup)
    clock.set(at(6, 30))

    fired = fire(queue)

    assert [(slot, outcome, count) for slot, outcome, _, count in history(queue)] == told
    assert fired == sum(outcome == "queued" for _, outcome, _ in told) == len(live_items(queue))
    assert {job.triggered_by for job in queue.list()} <= {"catchup"}
    seen = queue.schedules.get("s")
    assert (seen.next_run_at, seen.total_runs) == (at(7), fired)
    assert fire(queue) == 0
    missed = [run for run in queue.schedules.runs("s") if run.outcome == "missed"]
    assert all((run.job_id, run.success) == (None, None) for run in missed)


@pytest.mark.parametrize(
    ("catchup", "told"),
    [
        ("latest", [(at(6), "queued", "scheduler", 1), (at(5), "missed", "scheduler", 5)]),
        ("none", [(at(6), "queued", "scheduler", 1), (at(5), "missed", "scheduler", 5)]),
    ],
)
def test_after_a_silence_the_slot_that_is_on_time_runs(
    moto_queue: JobQueue, clock: Clock, catchup: str, told: list[Any]
) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY, catchup=catchup)
    clock.set(at(6, 4))

    fire(moto_queue)

    assert history(moto_queue) == told


def test_with_a_later_slot_also_due_a_slot_is_caught_up_with(moto_queue: JobQueue, clock: Clock) -> None:
    moto_queue.schedules.create("s", "work", cron="* * * * *", catchup="all")
    clock.set(at(0, 3))

    assert fire(moto_queue) == 3

    assert [entry[2] for entry in history(moto_queue)] == ["scheduler", "catchup", "catchup"]


@pytest.mark.parametrize(
    ("catchup", "told"),
    [
        ("latest", [(at(6), "queued", 1), (at(5), "missed", 5)]),
        ("all", [(at(6), "queued", 1), (at(5), "queued", 1), (at(4), "missed", 4)]),
    ],
)
def test_what_is_older_than_the_window_is_missed(
    queue: JobQueue, clock: Clock, catchup: str, told: list[Any]
) -> None:
    window = timedelta(hours=1, minutes=30)
    queue.schedules.create("s", "work", cron=HOURLY, catchup=catchup, catchup_window=window)
    clock.set(at(6, 30))

    fire(queue)

    assert [(slot, outcome, count) for slot, outcome, _, count in history(queue)] == told


@pytest.mark.parametrize("catchup", ["latest", "all"])
def test_with_everything_out_of_the_window_all_is_missed(
    moto_queue: JobQueue, clock: Clock, catchup: str
) -> None:
    options: dict[str, Any] = {"catchup": catchup, "catchup_window": 10 * MINUTE}
    moto_queue.schedules.create("s", "work", cron=HOURLY, **options)
    clock.set(at(6, 30))

    assert fire(moto_queue) == 0

    assert [entry[:2] for entry in history(moto_queue)] == [(at(6), "missed")]
    assert moto_queue.schedules.get("s").next_run_at == at(7)


@pytest.mark.parametrize("catchup", ["latest", "all", "none"])
def test_without_a_window_slots_on_time_still_run(moto_queue: JobQueue, clock: Clock, catchup: str) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY, catchup=catchup, catchup_window=0)
    clock.set(at(1, 0, 1))

    assert fire(moto_queue) == 1


@pytest.mark.parametrize("catchup", ["latest", "all"])
def test_a_window_without_end_is_one(moto_queue: JobQueue, clock: Clock, catchup: str) -> None:
    window = timedelta(days=999_999_999)
    moto_queue.schedules.create("s", "work", cron=HOURLY, catchup=catchup, catchup_window=window)
    clock.set(at(3, 30))

    assert fire(moto_queue) == (3 if catchup == "all" else 1)


def test_a_tick_catches_up_with_a_hundred(concurrent_queue: JobQueue, clock: Clock) -> None:
    queue = concurrent_queue
    queue.schedules.create("s", "work", cron="* * * * *", catchup="all")
    clock.set(at(4, 10))

    assert fire(queue) == 100
    assert queue.schedules.get("s").next_run_at == at(1, 41)
    assert [fire(queue), fire(queue), fire(queue)] == [100, 50, 0]

    slots = [job.scheduled_for for job in queue.list(limit=200)] + [
        job.scheduled_for for job in queue.list(limit=200, cursor=queue.list(limit=200).cursor)
    ]
    assert slots == [at(0) + minute * MINUTE for minute in range(1, 251)]
    assert queue.schedules.get("s").total_runs == 250


def test_a_slot_missed_by_a_shifted_cron_is_forgotten(moto_queue: JobQueue, clock: Clock) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(1))
    moto_queue.schedules.update("s", cron="30 * * * *")

    assert fire(moto_queue) == 0
    clock.set(at(1, 30))
    assert fire(moto_queue) == 1


def test_a_slot_that_comes_again_after_an_edit_does_not_block(queue: JobQueue, clock: Clock) -> None:
    """The clock went back, so the new cron meets a slot that has its job already."""
    queue.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(1))
    fire(queue)
    clock.set(at(0, 59))
    queue.schedules.update("s", cron="0,30 * * * *")
    assert queue.schedules.get("s").next_run_at == at(1)
    clock.set(at(1))

    assert fire(queue) == 0
    assert queue.schedules.get("s").next_run_at == at(1, 30)
    clock.set(at(1, 30))
    assert fire(queue) == 1
    assert len(live_items(queue)) == 2


def test_when_schedules_are_switched_off_nothing_fires(make_queue: MakeQueue, clock: Clock) -> None:
    off, on = make_queue(scheduler_enabled=False), make_queue()
    off.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(1))

    assert Poller(off, Delivery()).poll(ahead=timedelta(hours=2)).fired == 0
    assert drain(off, Registry()) == []
    assert live_items(off) == []
    assert off.schedules.trigger("s").triggered_by == "manual"
    assert fire(on) == 1


def test_when_claims_are_switched_off_slots_still_fire(
    make_queue: MakeQueue, clock: Clock, jobs: Registry, delivery: Delivery
) -> None:
    queue = make_queue(enabled=False)
    queue.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(1))

    done = Poller(queue, delivery).poll()

    assert (done.fired, done.claimed, delivery.jobs) == (1, 0, [])
    clock.set(at(2))
    assert drain(queue, jobs) == []
    assert len(live_items(queue)) == 2


@pytest.mark.parametrize(
    "broken",
    [
        {"cron": {"S": "nonsense"}},
        {"timezone": {"S": "Mars/Phobos"}},
        {"next_run_at": {"S": "soon"}},
        {"enabled": {"S": "yes"}},
        {"payload": {"S": "{"}},
        {"catchup_window": {"N": "-5"}},
        {"cron": {"M": {}}},
        {"GSI1SK": {"S": "nonsense"}},
        {"GSI1SK": {"S": "#"}},
    ],
)
def test_a_malformed_schedule_does_not_stop_the_others(
    moto_queue: JobQueue, clock: Clock, broken: dict[str, Any]
) -> None:
    for name in ("a", "bad", "c"):
        moto_queue.schedules.create(name, "work", cron=HOURLY)
    [item] = [each for each in all_items(moto_queue, "schedule") if each["SK"] == {"S": "bad"}]
    put(moto_queue, item | broken)
    clock.set(at(1))

    assert fire(moto_queue) >= 2

    assert {job.schedule_name for job in moto_queue.list()} >= {"a", "c"}
    assert {each.name for each in moto_queue.schedules.list()} >= {"a", "c"}


def test_a_malformed_schedule_can_be_deleted(moto_queue: JobQueue) -> None:
    moto_queue.schedules.create("bad", "work", cron=HOURLY)
    [item] = all_items(moto_queue, "schedule")
    put(moto_queue, item | {"cron": {"S": "nonsense"}})

    moto_queue.schedules.delete("bad")

    assert all_items(moto_queue, "schedule") == []
