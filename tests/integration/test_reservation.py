"""Having the queue to oneself: while it lasts nobody starts a job."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from threading import Lock, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from dynajobs import InvalidJob, JobQueue, Registry, ReservationBusy, Status, Unavailable, reservation
from dynajobs.poller import Poller
from dynajobs.testing import Clock, drain
from dynajobs.vigil import WATCH, Vigil
from dynajobs.wake import Waker
from dynajobs.worker import Worker
from tests.integration.conftest import MakeQueue, queues_on
from tests.support.delivery import Delivery
from tests.support.firing import at, history
from tests.support.invocation import claimed
from tests.support.races import race
from tests.support.table import event_of, live_items
from tests.support.work import working

MINUTE = timedelta(minutes=1)


class Time:
    """Real time, as the one who waits sees it; things may happen while it sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.at: dict[float, Any] = {}

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds
        for moment in [each for each in self.at if each <= self.now]:
            self.at.pop(moment)()


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(reservation, "time", SimpleNamespace(monotonic=made.monotonic, sleep=made.sleep))
    return made


@pytest.fixture
def crashes() -> Iterator[ExitStack]:
    """Holds what a process that died would have held."""
    with ExitStack() as stack:
        yield stack


def test_it_lasts_for_the_block(queue: JobQueue, clock: Clock) -> None:
    assert queue.reservation() is None

    with queue.reserve("deploy") as held:
        assert (held.by, held.status, held.since, held.until) == ("deploy", "active", at(0), at(0, 5))
        assert held.in_flight == 0
        seen = queue.reservation()
        assert seen is not None
        assert (seen.by, seen.status, seen.since, seen.until) == ("deploy", "active", at(0), at(0, 5))
        clock.advance(30)

    after = queue.reservation()
    assert after is not None
    assert (after.by, after.status, after.released_at) == ("deploy", "released", at(0, 0, 30))


def test_an_error_in_the_block_releases_it(queue: JobQueue) -> None:
    with pytest.raises(ZeroDivisionError), queue.reserve("a"):
        raise ZeroDivisionError
    with queue.reserve("b") as held:
        assert held.by == "b"


@pytest.mark.parametrize("by", ["a", "b"])
def test_it_has_one_holder(make_queue: MakeQueue, by: str) -> None:
    one, other = make_queue(), make_queue()
    with one.reserve("a"):
        with pytest.raises(ReservationBusy, match="'a'"), other.reserve(by):
            pytest.fail("two have it")
        seen = other.reservation()
        assert seen is not None
        assert (seen.by, seen.status) == ("a", "active")
    with other.reserve(by):
        pass


def test_who_waits_gets_it_when_it_is_released(moto_queue: JobQueue, time: Time, crashes: ExitStack) -> None:
    crashes.enter_context(moto_queue.reserve("a"))
    time.at[103.0] = crashes.close

    with moto_queue.reserve("b", wait=timedelta(seconds=10)) as held:
        assert held.by == "b"

    assert 103 <= time.now <= 104


@pytest.mark.parametrize(
    ("wait", "until"), [(None, 100), (0, 100), (4.5, 104.5), (timedelta(seconds=2), 102)]
)
def test_who_waits_in_vain_is_told(
    moto_queue: JobQueue, time: Time, crashes: ExitStack, wait: Any, until: float
) -> None:
    crashes.enter_context(moto_queue.reserve("a"))

    with pytest.raises(ReservationBusy), moto_queue.reserve("b", wait=wait):
        pytest.fail("two have it")

    assert time.now == pytest.approx(until)


def test_a_crash_frees_it_when_its_time_is_over(
    make_queue: MakeQueue, clock: Clock, crashes: ExitStack, jobs: Registry
) -> None:
    crashed, queue = make_queue(), make_queue()
    crashes.enter_context(crashed.reserve("crashed", ttl=60))
    job = queue.enqueue("work")
    clock.set(at(0, 0, 59.999999))
    with pytest.raises(ReservationBusy), queue.reserve("next"):
        pytest.fail("two have it")
    assert drain(queue, jobs) == []

    clock.set(at(0, 1))

    seen = queue.reservation()
    assert seen is not None
    assert (seen.by, seen.status) == ("crashed", "expired")
    assert [done.id for done in drain(queue, jobs)] == [job.id]
    with queue.reserve("next") as held:
        crashes.close()  # the late end of the first takes nothing from the second
        now = queue.reservation()
        assert now is not None
        assert (held.by, now.by, now.status) == ("next", "next", "active")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"by": ""}, "by"),
        ({"by": None}, "by"),
        ({"by": "x" * 2000}, "by"),
        ({"ttl": 0}, "ttl"),
        ({"ttl": -1}, "ttl"),
        ({"ttl": True}, "ttl"),
        ({"ttl": float("nan")}, "ttl"),
        ({"ttl": timedelta.max}, "ttl"),
        ({"wait": -1}, "wait"),
        ({"wait": "long"}, "wait"),
    ],
)
def test_bad_arguments_are_named(moto_queue: JobQueue, options: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidJob, match=name), moto_queue.reserve(**{"by": "a"} | options):
        pytest.fail("it was given")
    assert moto_queue.reservation() is None


def test_a_poller_claims_nothing_and_the_order_stays(queue: JobQueue) -> None:
    made = [queue.enqueue("work", priority=priority) for priority in (0, 2, 0, 1)]
    before = live_items(queue)
    delivery, woken = Delivery(), list[dict[str, Any]]()
    poller = Poller(queue, delivery, wake=woken.append)
    with queue.reserve("a"):
        assert poller.poll().claimed == 0
        assert poller.glance(1, since=at(0) - MINUTE, ahead=MINUTE).claimed == 0
        assert poller.share(0, 1, 10, "2026-01-01T01:00:00.000000Z").claimed == 0
        records = [{"eventName": "INSERT", "dynamodb": {"NewImage": item}} for item in live_items(queue)]
        assert Waker(poller).take(records).claimed == 0
        assert live_items(queue) == before

    assert poller.poll().claimed == 4
    assert delivery.ids == [made[1].id, made[3].id, made[0].id, made[2].id]


def test_drain_claims_nothing_and_slots_still_fire(queue: JobQueue, clock: Clock, jobs: Registry) -> None:
    queue.schedules.create("s", "work", cron="0 * * * *")
    queue.enqueue("work")
    clock.set(at(1))
    with queue.reserve("a"):
        assert drain(queue, jobs) == []
        assert history(queue) == [(at(1), "queued", "scheduler", 1)]
        clock.set(at(1, 1))
        assert queue.schedules.trigger("s").status == Status.PENDING

    assert len(drain(queue, jobs)) == 3


def test_a_poll_fires_while_it_is_held(moto_queue: JobQueue, clock: Clock, delivery: Delivery) -> None:
    moto_queue.schedules.create("s", "work", cron="0 * * * *")
    clock.set(at(1))
    with moto_queue.reserve("a"):
        done = Poller(moto_queue, delivery).poll()

    assert (done.fired, done.claimed, delivery.jobs) == (1, 0, [])


def test_what_runs_goes_on_and_is_counted(queue: JobQueue) -> None:
    job = claimed(queue, {"do": "ok"})
    queue.enqueue("work")
    with queue.reserve("a") as held:
        assert held.in_flight == 1
        assert working().lambda_handler(queue)(event_of(job), None)["status"] == "completed"
    with queue.reserve("a") as held:
        assert held.in_flight == 0


def test_a_watch_that_sees_it_goes_on_when_it_is_over(
    moto_queue: JobQueue, clock: Clock, crashes: ExitStack, delivery: Delivery
) -> None:
    crashes.enter_context(moto_queue.reserve("a"))
    job = moto_queue.enqueue("work")

    def sleep(seconds: float) -> None:
        clock.advance(seconds)
        if clock() >= at(0, 0, 20):
            crashes.close()
        else:
            assert delivery.jobs == []

    Vigil(Poller(moto_queue, delivery, wake=lambda _: None), at(0, 0, 50), sleep=sleep).keep()

    assert delivery.ids == [job.id]
    assert clock() <= at(0, 0, 22)


def test_a_watch_wakes_another_while_it_is_held(
    moto_queue: JobQueue, clock: Clock, delivery: Delivery
) -> None:
    woken: list[dict[str, Any]] = []
    moto_queue.enqueue("work")
    with moto_queue.reserve("a"):
        Vigil(Poller(moto_queue, delivery, wake=woken.append), at(0, 0, 50), sleep=clock.advance).keep()

    assert (woken, delivery.jobs) == ([{"source": WATCH}], [])


def test_a_worker_starts_nothing_and_then_everything(concurrent_queue: JobQueue) -> None:
    queue = concurrent_queue
    jobs = queue.enqueue_many("work", [{"n": n} for n in range(8)])
    with queue.reserve("a"):
        assert Worker(queue, working()).run(once=True)
        assert {queue.get(job).status for job in jobs} == {Status.PENDING}

    assert Worker(queue, working()).run(once=True)

    assert {queue.get(job).status for job in jobs} == {Status.COMPLETED}


def test_a_worker_that_runs_already_obeys(concurrent_client: Any, table_name: str, clock: Clock) -> None:
    make = queues_on(concurrent_client, table_name, clock)
    queue, mine = make(), make()
    started: list[str] = []
    worker = Worker(queue, working(lambda ctx: started.append(ctx.job.id)))
    running = Thread(target=worker.run)
    running.start()
    try:
        for _ in range(5):
            with mine.reserve("a", ttl=600):
                job = mine.enqueue("work", {"do": "call"}, priority=1)
                looked = [mine.get(job).status for _ in range(100)]
            assert set(looked) == {Status.PENDING}
            while job.id not in started:
                assert running.is_alive()
    finally:
        worker.stop()
        running.join(30)


def test_of_many_at_once_one_has_it(concurrent_queue: JobQueue) -> None:
    lock, inside, most = Lock(), list[int](), list[int]()

    def hold(number: int) -> str:
        with concurrent_queue.reserve(f"holder {number}", wait=30):
            with lock:
                inside.append(number)
                most.append(len(inside))
            seen = concurrent_queue.reservation()
            with lock:
                inside.remove(number)
        assert seen is not None
        return seen.by

    answers = race([lambda number=number: hold(number) for number in range(6)])  # type: ignore[misc]

    assert answers == [f"holder {number}" for number in range(6)]
    assert set(most) == {1}


def test_of_many_who_do_not_wait_one_has_it(concurrent_queue: JobQueue) -> None:
    for _ in range(5):
        with ExitStack() as held:
            enter = [lambda: held.enter_context(concurrent_queue.reserve("a"))] * 16

            answers = race(enter)

        assert sum(isinstance(answer, ReservationBusy) for answer in answers) == 15


def test_one_that_was_taken_while_a_poll_looked_around_counts(
    moto_queue: JobQueue, monkeypatch: pytest.MonkeyPatch, crashes: ExitStack, delivery: Delivery
) -> None:
    moto_queue.enqueue("work")
    poller = Poller(moto_queue, delivery)
    look = poller.scheduler.look

    def long_look(*arguments: Any) -> int:
        crashes.enter_context(moto_queue.reserve("a"))
        return look(*arguments)

    monkeypatch.setattr(poller.scheduler, "look", long_look)

    assert poller.poll().claimed == 0
    assert delivery.jobs == []


def test_one_whose_beginning_failed_is_released(
    moto_queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: JobQueue) -> int:
        raise Unavailable("throttled")

    monkeypatch.setattr(reservation, "_in_flight", fail)
    with pytest.raises(Unavailable), moto_queue.reserve("a"):
        pytest.fail("it was given")

    seen = moto_queue.reservation()
    assert seen is not None
    assert seen.status == "released"


def test_one_that_outlived_its_time_says_so(
    moto_queue: JobQueue, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with moto_queue.reserve("a", ttl=60):
        clock.advance(61)

    assert "jobs may have run" in caplog.text
