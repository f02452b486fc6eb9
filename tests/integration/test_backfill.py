"""Running slots of the past that had no job."""

from datetime import datetime, timedelta, timezone

import pytest

from dynajobs import InvalidSchedule, JobContext, JobQueue, Registry
from dynajobs.testing import Clock, drain
from tests.support.firing import at, fire, history
from tests.support.table import live_items
from tests.support.work import working

HOURLY = "0 * * * *"


def test_start_is_inside_and_end_is_not(queue: JobQueue, clock: Clock) -> None:
    queue.schedules.create("s", "work", cron=HOURLY, payload={"n": 7}, priority=1)
    clock.set(at(12, 30))
    fire(queue)

    made = queue.schedules.backfill("s", at(3), at(6))

    assert [job.scheduled_for for job in made] == [at(3), at(4), at(5)]
    assert {(job.triggered_by, job.schedule_name, job.priority) for job in made} == {("backfill", "s", 1)}
    assert all(job.created and job.payload == {"n": 7} for job in made)
    assert [queue.get(job) for job in made] == made
    seen = queue.schedules.get("s")
    assert (seen.total_runs, seen.next_run_at) == (4, at(13))


def test_slots_that_have_a_job_are_left_out(queue: JobQueue, clock: Clock, jobs: Registry) -> None:
    queue.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(5))
    drain(queue, jobs)  # 05:00 runs, four are missed

    made = queue.schedules.backfill("s", at(3), at(5, 30))
    again = queue.schedules.backfill("s", at(0), at(5, 30))

    assert [job.scheduled_for for job in made] == [at(3), at(4)]
    assert [job.scheduled_for for job in again] == [at(0), at(1), at(2)]
    assert queue.schedules.backfill("s", at(0), at(5, 30)) == []
    assert len(drain(queue, jobs)) == 5
    assert queue.schedules.get("s").total_runs == 6


def test_missed_slots_can_be_run(queue: JobQueue, clock: Clock, jobs: Registry) -> None:
    queue.schedules.create("s", "work", cron=HOURLY, catchup="none")
    clock.set(at(2, 30))
    assert fire(queue) == 0

    made = queue.schedules.backfill("s", at(1), at(3))

    assert [job.scheduled_for for job in made] == [at(1), at(2)]
    drain(queue, jobs)
    assert {(at(1), "completed", "backfill", 1), (at(2), "completed", "backfill", 1)} <= set(history(queue))


def test_a_handler_sees_the_slot(moto_queue: JobQueue, clock: Clock) -> None:
    slots: list[datetime] = []

    def note(ctx: JobContext) -> None:
        slots.append(ctx.scheduled_for)

    clock.set(at(12, 30))
    moto_queue.schedules.create("s", "work", cron=HOURLY, payload={"do": "call"})
    moto_queue.schedules.backfill("s", at(3), at(5))

    drain(moto_queue, working(note))

    assert slots == [at(3), at(4)]


@pytest.mark.parametrize(("slots", "refused"), [(100, False), (101, True)])
def test_at_most_a_hundred(concurrent_queue: JobQueue, clock: Clock, slots: int, refused: bool) -> None:
    queue = concurrent_queue
    clock.set(at(12))
    queue.schedules.create("s", "work", cron="* * * * *")
    end = at(3) + timedelta(minutes=slots)

    if refused:
        with pytest.raises(InvalidSchedule) as caught:
            queue.schedules.backfill("s", at(3), end)
        assert caught.value.field == "end"
        assert live_items(queue) == []
        assert queue.schedules.get("s").total_runs == 0
    else:
        assert len(queue.schedules.backfill("s", at(3), end)) == 100


def test_slots_of_the_future_are_refused(moto_queue: JobQueue, clock: Clock) -> None:
    clock.set(at(4))
    moto_queue.schedules.create("s", "work", cron=HOURLY)

    with pytest.raises(InvalidSchedule):
        moto_queue.schedules.backfill("s", at(3), at(5, 0, 1))
    assert live_items(moto_queue) == []

    made = moto_queue.schedules.backfill("s", at(3), at(5))  # the slot at the end is not in it
    assert [job.scheduled_for for job in made] == [at(3), at(4)]


def test_an_endless_span_is_refused_at_once(moto_queue: JobQueue) -> None:
    moto_queue.schedules.create("s", "work", cron="* * * * *")
    for start, end in ((at(0), at(0).replace(year=9999)), (at(0).replace(year=2), at(0))):
        with pytest.raises(InvalidSchedule):
            moto_queue.schedules.backfill("s", start, end)


def test_any_zone_says_the_same_instants(moto_queue: JobQueue, clock: Clock) -> None:
    clock.set(at(12))
    moto_queue.schedules.create("s", "work", cron=HOURLY)
    east = timezone(timedelta(hours=9))

    made = moto_queue.schedules.backfill("s", at(3).astimezone(east), at(5).astimezone(east))

    assert [job.scheduled_for for job in made] == [at(3), at(4)]
    assert all(job.scheduled_for.utcoffset() == timedelta(0) for job in made)


def test_a_disabled_schedule_can_be_backfilled(moto_queue: JobQueue, clock: Clock) -> None:
    clock.set(at(12))
    moto_queue.schedules.create("s", "work", cron=HOURLY, enabled=False)

    assert len(moto_queue.schedules.backfill("s", at(3), at(5))) == 2
    assert moto_queue.schedules.get("s").next_run_at is None


def test_an_empty_span_makes_nothing(moto_queue: JobQueue, clock: Clock) -> None:
    clock.set(at(12))
    moto_queue.schedules.create("s", "work", cron=HOURLY)

    assert moto_queue.schedules.backfill("s", at(3), at(3)) == []
    assert moto_queue.schedules.backfill("s", at(3, 1), at(3, 59)) == []


def test_a_backfilled_slot_does_not_block_the_schedule(queue: JobQueue, clock: Clock) -> None:
    """Somebody backfills the slot that is due a moment before it is fired."""
    queue.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(1))
    [job] = queue.schedules.backfill("s", at(1), at(1, 1))

    assert fire(queue) == 0

    assert [each.id for each in queue.list()] == [job.id]
    assert queue.schedules.get("s").next_run_at == at(2)
    assert queue.schedules.get("s").total_runs == 1
    clock.set(at(2))
    assert fire(queue) == 1
    assert history(queue) == [(at(2), "queued", "scheduler", 1), (at(1), "queued", "backfill", 1)]
