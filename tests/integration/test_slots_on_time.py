"""Whoever is awake fires slots at their time: the poller's watch, the worker, `drain`, a tick."""

from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Thread
from typing import Any

import pytest

from dynajobs import Job, JobContext, JobQueue, Registry, Status
from dynajobs.poller import Poller
from dynajobs.poller_function import lambda_handler
from dynajobs.testing import Clock, drain
from dynajobs.vigil import WATCH, Vigil
from dynajobs.wake import Waker
from dynajobs.worker import Worker
from tests.integration.conftest import queues_on
from tests.support.delivery import Delivery
from tests.support.firing import at, history
from tests.support.table import live_items
from tests.support.work import working
from tests.support.world import Context

MINUTELY, HOURLY = "* * * * *", "0 * * * *"


class Watch:
    """A poller whose sleeping moves the clock, and when each job was handed over."""

    def __init__(self, queue: JobQueue, clock: Clock) -> None:
        self.queue, self.clock = queue, clock
        self.starts: list[tuple[str | None, datetime]] = []
        self.woken: list[dict[str, Any]] = []
        self.happens: dict[datetime, Callable[[], object]] = {}

    def keep(self, seconds: float = 50) -> Any:
        poller = Poller(self.queue, self._deliver, wake=self.woken.append)
        return Vigil(poller, self.clock() + timedelta(seconds=seconds), sleep=self._sleep).keep()

    def _deliver(self, _: str, job: Job) -> None:
        self.starts.append((job.schedule_name, self.clock()))

    def _sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)
        for moment in [each for each in self.happens if each <= self.clock()]:
            self.happens.pop(moment)()


@pytest.fixture
def watch(moto_queue: JobQueue, clock: Clock) -> Watch:
    return Watch(moto_queue, clock)


def test_the_watch_waits_for_the_next_slot(watch: Watch, clock: Clock) -> None:
    watch.queue.schedules.create("s", "work", cron=MINUTELY)
    clock.set(at(0, 0, 30))

    done = watch.keep()

    assert (done.fired, done.claimed) == (1, 1)
    assert watch.starts == [("s", at(0, 1))]
    assert history(watch.queue) == [(at(0, 1), "queued", "scheduler", 1)]
    assert watch.woken == [{"source": WATCH}]  # another goes on for the slot after it


def test_slots_and_jobs_start_each_at_its_time(watch: Watch, clock: Clock) -> None:
    clock.set(at(0, 59, 20))
    watch.queue.schedules.create("on-the-hour", "work", cron=HOURLY)
    watch.queue.enqueue("work", delay=20)
    watch.queue.enqueue("work", delay=45)

    watch.keep()

    assert watch.starts == [(None, at(0, 59, 40)), ("on-the-hour", at(1)), (None, at(1, 0, 5))]


def test_nothing_is_fired_early(watch: Watch, clock: Clock) -> None:
    clock.set(at(0, 0, 59.7))
    for number in range(4):
        watch.queue.schedules.create(f"s{number}", "work", cron=MINUTELY)

    watch.keep(2)

    assert [start for _, start in watch.starts] == [at(0, 1)] * 4


def test_a_slot_far_off_keeps_nobody_awake(watch: Watch, clock: Clock) -> None:
    watch.queue.schedules.create("s", "work", cron=HOURLY)

    watch.keep()

    assert clock() == at(0)
    assert watch.woken == []


def test_a_schedule_made_meanwhile_is_noticed(watch: Watch, clock: Clock) -> None:
    clock.set(at(0, 0, 15))
    watch.queue.enqueue("work", delay=49)
    watch.happens[at(0, 0, 18)] = lambda: watch.queue.schedules.create("new", "work", cron="1 * * * *")

    watch.keep()

    assert ("new", at(0, 1)) in watch.starts


def test_a_schedule_disabled_meanwhile_is_not_fired(watch: Watch, clock: Clock) -> None:
    clock.set(at(0, 0, 30))
    watch.queue.schedules.create("s", "work", cron=MINUTELY)
    watch.happens[at(0, 0, 59)] = lambda: watch.queue.schedules.disable("s")

    done = watch.keep()

    assert (done.fired, watch.starts, live_items(watch.queue)) == (0, [], [])


def test_a_slot_that_the_table_refused_for_a_moment_is_fired_soon(
    watch: Watch, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.set(at(0, 59, 40))
    watch.queue.schedules.create("s", "work", cron=HOURLY)
    client, failed = watch.queue.store.table.client, list[int]()
    transact = client.transact_write_items

    def refuse(**parameters: Any) -> Any:
        if len(failed) < 2:
            failed.append(1)
            raise client.exceptions.InternalServerError({"Error": {"Code": "InternalServerError"}}, "x")
        return transact(**parameters)

    monkeypatch.setattr(client, "transact_write_items", refuse)

    watch.keep()

    assert [name for name, _ in watch.starts] == ["s"]
    assert watch.starts[0][1] <= at(1, 0, 5)


def test_with_claims_switched_off_the_watch_fires_and_claims_nothing(
    moto_client: Any, table_name: str, clock: Clock
) -> None:
    watch = Watch(queues_on(moto_client, table_name, clock)(enabled=False), clock)
    watch.queue.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(0, 59, 30))

    done = watch.keep()

    assert (done.fired, done.claimed, watch.starts) == (1, 0, [])
    assert history(watch.queue) == [(at(1), "queued", "scheduler", 1)]


def test_a_tick_fires_and_says_so(moto_queue: JobQueue, clock: Clock, delivery: Delivery) -> None:
    function = lambda_handler(moto_queue, delivery)
    moto_queue.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(0, 59, 30))
    tick = {"source": "dynajobs.tick"}

    assert function(tick, Context()) == {"ok": True, "claimed": 0, "fired": 0}
    clock.set(at(1))
    assert function(tick, Context()) == {"ok": True, "claimed": 1, "fired": 1}
    assert function(tick, Context()) == {"ok": True, "claimed": 0, "fired": 0}


def test_the_stream_starts_a_triggered_run_at_once(moto_queue: JobQueue, delivery: Delivery) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY)
    job = moto_queue.schedules.trigger("s")
    [item] = live_items(moto_queue)
    record = {"eventName": "INSERT", "dynamodb": {"NewImage": item}}

    assert Waker(Poller(moto_queue, delivery)).take([record, record]).claimed == 1

    assert delivery.ids == [job.id]


def test_drain_fires_what_is_due_and_runs_it(queue: JobQueue, clock: Clock, jobs: Registry) -> None:
    queue.schedules.create("s", "work", cron=HOURLY)
    queue.schedules.create("urgent", "work", cron=HOURLY, priority=1)
    clock.set(at(1, 2))
    enqueued = queue.enqueue("work", run_at=at(0, 30))

    done = drain(queue, jobs)

    assert [job.schedule_name for job in done] == ["urgent", None, "s"]
    assert done[1].id == enqueued.id
    assert {job.status for job in done} == {Status.COMPLETED}
    assert drain(queue, jobs) == []


def test_drain_goes_from_slot_to_slot(queue: JobQueue, clock: Clock, jobs: Registry) -> None:
    queue.schedules.create("s", "work", cron=HOURLY)
    queue.enqueue("work", delay=5400)

    done = drain(queue, jobs, advance=True, limit=4)

    assert [job.scheduled_for for job in done] == [at(1), at(1, 30), at(2), at(3)]
    assert clock() == at(3)
    assert history(queue) == [(at(hour), "completed", "scheduler", 1) for hour in (3, 2, 1)]


def test_drain_notices_slots_that_fall_due_while_jobs_run(moto_queue: JobQueue, clock: Clock) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY)
    moto_queue.enqueue("work", {"do": "call"})

    done = drain(moto_queue, working(lambda _: clock.set(at(1))))

    assert [job.schedule_name for job in done] == [None, "s"]


def test_drain_fires_many_schedules_in_its_own_thread(
    moto_queue: JobQueue, clock: Clock, jobs: Registry
) -> None:
    """moto, on which most people test, is right in one thread only."""
    for number in range(12):
        moto_queue.schedules.create(f"s{number}", "work", cron=HOURLY)
    clock.set(at(1))

    assert len(drain(moto_queue, jobs)) == 12


def test_drain_that_moves_the_clock_catches_up_first(
    concurrent_queue: JobQueue, clock: Clock, jobs: Registry
) -> None:
    concurrent_queue.schedules.create("s", "work", cron=MINUTELY, catchup="all")
    clock.set(at(2))

    done = drain(concurrent_queue, jobs, advance=True, limit=121)

    assert [job.scheduled_for for job in done] == [
        at(0) + timedelta(minutes=minute) for minute in range(1, 122)
    ]
    assert clock() == at(2, 1)


@pytest.fixture
def worked(concurrent_queue: JobQueue) -> JobQueue:
    return concurrent_queue


def test_a_worker_fires_and_runs(worked: JobQueue, clock: Clock) -> None:
    for number in range(6):
        worked.schedules.create(f"s{number}", "work", cron=HOURLY)
    clock.set(at(1))

    assert Worker(worked, working()).run(once=True)

    assert worked.stats().by_status[Status.COMPLETED] == 6
    assert history(worked, "s3") == [(at(1), "completed", "scheduler", 1)]


def test_a_worker_at_rest_fires_a_slot_when_it_comes(worked: JobQueue, clock: Clock) -> None:
    workers: list[Worker] = []
    starts: list[datetime] = []

    def note(ctx: JobContext) -> None:
        starts.append(ctx.scheduled_for)
        workers[0].stop()

    worked.schedules.create("s", "work", cron=HOURLY, payload={"do": "call"})
    worked.enqueue("work", {"do": "call"}, run_at=at(2))
    clock.set(at(0, 59, 50))
    workers.append(Worker(worked, working(note)))
    running = Thread(target=workers[0].run)
    running.start()
    try:
        clock.set(at(1))
        running.join(30)
    finally:
        workers[0].stop()
        running.join(30)

    assert starts == [at(1)]


def test_a_disabled_worker_fires_and_runs_nothing(
    concurrent_client: Any, table_name: str, clock: Clock
) -> None:
    queue = queues_on(concurrent_client, table_name, clock)(enabled=False)
    queue.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(1))

    assert Worker(queue, working()).run(once=True)

    assert history(queue) == [(at(1), "queued", "scheduler", 1)]


def test_a_worker_without_the_scheduler_fires_nothing(
    concurrent_client: Any, table_name: str, clock: Clock
) -> None:
    queue = queues_on(concurrent_client, table_name, clock)(scheduler_enabled=False)
    queue.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(1))

    assert Worker(queue, working()).run(once=True)

    assert history(queue) == []


def test_drain_decides_about_every_slot_that_is_due(
    concurrent_queue: JobQueue, clock: Clock, jobs: Registry
) -> None:
    """Skipped slots make no jobs, and a look decides about a hundred."""
    concurrent_queue.schedules.create("s", "work", cron=MINUTELY, catchup="all", overlap="skip")
    clock.set(at(0, 1))
    Poller(concurrent_queue, Delivery()).scheduler.look(clock())
    [first] = concurrent_queue.list()
    concurrent_queue.reschedule(first, delay=86400)  # it lives on, and no slot is run beside it
    clock.set(at(4, 30, 20))

    assert drain(concurrent_queue, jobs) == []
    assert concurrent_queue.schedules.get("s").next_run_at == at(4, 31)


def test_a_schedule_made_while_another_slot_is_waited_for_is_fired_at_its_time(
    watch: Watch, clock: Clock
) -> None:
    clock.set(at(0, 0, 40))
    watch.queue.schedules.create("known", "work", cron="2 * * * *")
    watch.queue.enqueue("work", delay=45)
    watch.happens[at(0, 0, 50)] = lambda: watch.queue.schedules.create("new", "work", cron="1 * * * *")

    watch.keep()

    assert ("new", at(0, 1)) in watch.starts
