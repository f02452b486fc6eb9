"""A slot that comes while the run before it is not over."""

from datetime import timedelta
from typing import Any

import pytest

from dynajobs import Job, JobContext, JobQueue, Registry, Status
from dynajobs.poller import Poller
from dynajobs.testing import Clock, drain
from dynajobs.wake import Waker
from tests.integration.conftest import MakeQueue
from tests.support.delivery import Delivery
from tests.support.firing import at, fire, history
from tests.support.table import live_items
from tests.support.work import working

HOURLY = "0 * * * *"


def fire_at(queue: JobQueue, clock: Clock, hour: int) -> int:
    clock.set(at(hour))
    return fire(queue)


def newest(queue: JobQueue) -> Job:
    return max(queue.list().jobs, key=lambda job: job.scheduled_for)


def test_runs_overlap_unless_it_is_forbidden(queue: JobQueue, clock: Clock) -> None:
    queue.schedules.create("s", "work", cron=HOURLY)

    assert [fire_at(queue, clock, hour) for hour in (1, 2, 3)] == [1, 1, 1]

    assert len(live_items(queue)) == 3


def test_slots_are_skipped_while_a_run_lasts(queue: JobQueue, clock: Clock, jobs: Registry) -> None:
    queue.schedules.create("s", "work", cron=HOURLY, overlap="skip")

    assert [fire_at(queue, clock, hour) for hour in (1, 2, 3, 4)] == [1, 0, 0, 0]

    assert history(queue) == [(at(4), "skipped", "scheduler", 3), (at(1), "queued", "scheduler", 1)]
    assert queue.schedules.get("s").next_run_at == at(5)
    assert queue.schedules.get("s").total_runs == 1
    drain(queue, jobs)
    assert [fire_at(queue, clock, hour) for hour in (5, 6)] == [1, 0]
    assert history(queue) == [
        (at(6), "skipped", "scheduler", 1),
        (at(5), "queued", "scheduler", 1),
        (at(4), "skipped", "scheduler", 3),
        (at(1), "completed", "scheduler", 1),
    ]
    [skipped] = [run for run in queue.schedules.runs("s") if run.scheduled_for == at(6)]
    assert (skipped.job_id, skipped.success, skipped.duration) == (None, None, None)
    assert skipped.message


@pytest.mark.parametrize("state", ["pending", "claimed", "running", "failed"])
def test_every_live_state_counts(make_queue: MakeQueue, clock: Clock, state: str) -> None:
    queue = make_queue(base_delay_seconds=86400)
    fired: list[int] = []

    def meanwhile(_: JobContext) -> None:
        fired.append(fire_at(queue, clock, 2))

    do = {"running": "call", "failed": "fail"}.get(state, "ok")
    queue.schedules.create("s", "work", cron=HOURLY, overlap="skip", payload={"do": do})
    fire_at(queue, clock, 1)
    if state == "claimed":
        assert Poller(queue, Delivery()).poll().claimed == 1
    elif state != "pending":
        drain(queue, working(meanwhile), limit=1)

    assert fired or fire_at(queue, clock, 2) == 0

    assert history(queue)[0] == (at(2), "skipped", "scheduler", 1)


@pytest.mark.parametrize("end", ["completed", "cancelled", "dead_letter", "gone"])
def test_any_end_lets_the_next_slot_run(queue: JobQueue, clock: Clock, end: str) -> None:
    do = {"do": "discard", "value": "no"} if end == "dead_letter" else {}
    queue.schedules.create("s", "work", cron=HOURLY, overlap="skip", payload=do)
    fire_at(queue, clock, 1)
    if end == "cancelled":
        queue.cancel(newest(queue))
    elif end == "gone":
        [item] = live_items(queue)
        key = {name: item[name] for name in ("PK", "SK")}
        queue.store.table.client.delete_item(TableName=queue.store.table.name, Key=key)
    else:
        drain(queue, working())

    assert fire_at(queue, clock, 2) == 1


def test_one_run_waits_behind_the_live_one(queue: JobQueue, clock: Clock) -> None:
    order: list[str] = []
    queue.schedules.create("s", "work", cron=HOURLY, overlap="queue_one", payload={"do": "call"})
    queue.schedules.create("urgent", "work", cron=HOURLY, priority=3, payload={"do": "call"})

    assert [fire_at(queue, clock, hour) for hour in (1, 2, 3, 4)] == [2, 2, 1, 1]

    assert history(queue) == [
        (at(4), "skipped", "scheduler", 2),
        (at(2), "queued", "scheduler", 1),
        (at(1), "queued", "scheduler", 1),
    ]
    queue.schedules.disable("urgent")
    drain(queue, working(lambda ctx: order.append(f"{ctx.job.schedule_name} {ctx.scheduled_for:%H}")))
    assert order == [f"urgent 0{hour}" for hour in (1, 2, 3, 4)] + ["s 01", "s 02"]
    assert fire_at(queue, clock, 5) == 1


def test_the_one_that_waits_is_claimed_by_nobody(queue: JobQueue, clock: Clock) -> None:
    queue.schedules.create("s", "work", cron=HOURLY, overlap="queue_one")
    fire_at(queue, clock, 1)
    delivery = Delivery()
    poller = Poller(queue, delivery)
    assert poller.poll().claimed == 1
    clock.set(at(1, 1))
    queue.enqueue("work")
    clock.set(at(2))
    assert poller.poll().fired == 1
    waiting = newest(queue)
    [item] = [each for each in live_items(queue) if waiting.id in each["SK"]["S"]]
    record = {"eventName": "INSERT", "dynamodb": {"NewImage": item}}
    delivery.take()

    assert Waker(poller).take([record]).claimed == 0
    poller.glance(1, since=at(1), ahead=timedelta(0))
    assert waiting.id not in delivery.ids
    assert queue.get(waiting).status == Status.PENDING
    first = min(queue.list(schedule_name="s").jobs, key=lambda job: job.scheduled_for)
    queue.cancel(first)
    delivery.take()

    assert poller.poll().claimed >= 1
    assert waiting.id in delivery.ids


def test_the_one_that_waits_starts_after_a_failed_one_is_over(make_queue: MakeQueue, clock: Clock) -> None:
    queue = make_queue(base_delay_seconds=600, jitter=0)
    order: list[tuple[str, int]] = []

    def note(ctx: JobContext) -> None:
        order.append((f"{ctx.scheduled_for:%H}", ctx.attempt))
        if ctx.scheduled_for == at(1) and ctx.attempt == 1:
            raise RuntimeError("once")

    queue.schedules.create("s", "work", cron=HOURLY, overlap="queue_one", payload={"do": "call"})
    fire_at(queue, clock, 1)
    clock.set(at(1, 55))
    drain(queue, working(note))
    fire_at(queue, clock, 2)
    queue.schedules.disable("s")

    drain(queue, working(note), advance=True)

    assert order == [("01", 1), ("01", 2), ("02", 1)]


def test_manual_runs_ignore_overlap(moto_queue: JobQueue, clock: Clock) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY, overlap="skip")
    fire_at(moto_queue, clock, 1)

    moto_queue.schedules.trigger("s")

    assert len(live_items(moto_queue)) == 2


@pytest.mark.parametrize(("overlap", "jobs"), [("allow", 4), ("skip", 1), ("queue_one", 2)])
def test_catching_up_obeys_overlap(queue: JobQueue, clock: Clock, overlap: str, jobs: int) -> None:
    queue.schedules.create("s", "work", cron=HOURLY, overlap=overlap, catchup="all")

    assert fire_at(queue, clock, 4) == jobs

    ran = [run for run in queue.schedules.runs("s") if run.outcome == "queued"]
    assert [run.scheduled_for for run in ran] == [at(hour) for hour in range(jobs, 0, -1)]
    told = sum(run.count for run in queue.schedules.runs("s"))
    assert told == 4


def test_skipped_slots_that_are_not_in_a_row_are_told_one_by_one(queue: JobQueue, clock: Clock) -> None:
    queue.schedules.create("s", "work", cron=HOURLY, overlap="skip")
    assert [fire_at(queue, clock, hour) for hour in (1, 2)] == [1, 0]
    queue.schedules.disable("s")
    clock.set(at(9, 30))
    queue.schedules.enable("s")

    assert [fire_at(queue, clock, hour) for hour in (10, 11)] == [0, 0]

    assert [entry for entry in history(queue) if entry[1] == "skipped"] == [
        (at(11), "skipped", "scheduler", 2),
        (at(2), "skipped", "scheduler", 1),
    ]


def test_one_that_waits_is_held_back_also_while_the_one_before_moves(
    moto_queue: JobQueue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first fails between the look at its record and the look at its job: it lives on elsewhere."""
    queue = moto_queue
    queue.schedules.create("s", "work", cron=HOURLY, overlap="queue_one", payload={"do": "fail"})
    assert [fire_at(queue, clock, hour) for hour in (1, 2)] == [1, 1]
    first, second = queue.list().jobs
    get, calls = queue.store.table.get, list[int]()

    def moving(key: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            queue.reschedule(first, run_at=at(5))
        return get(key, **options)

    monkeypatch.setattr(queue.store.table, "get", moving)
    assert queue.store.held_back(second)
