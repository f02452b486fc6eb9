"""A poller waits for what falls due soon, one at a time, and goes when there is nothing to wait for."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynajobs import Job, JobQueue, Unavailable
from dynajobs.item import Stored
from dynajobs.poller import Poller
from dynajobs.testing import Clock
from dynajobs.vigil import LOOK_AHEAD, LOOK_EVERY, PROMISE, WATCH, Vigil
from tests.integration.conftest import queues_on
from tests.support.delivery import Delivery
from tests.support.table import put

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


class Awake:
    """A poller whose sleeping moves the clock, and things that happen in its sleep."""

    def __init__(self, queue: JobQueue, clock: Clock, delivery: Delivery) -> None:
        self.queue = queue
        self.clock = clock
        self.delivery = delivery
        self.woken: list[dict[str, object]] = []
        self.slept = 0.0
        self.happens: list[tuple[datetime, Callable[[], object]]] = []
        self.starts: dict[str, datetime] = {}

    def at(self, seconds: float, what: Callable[[], object]) -> None:
        self.happens.append((START + seconds * SECOND, what))

    def vigil(self, *, seconds: float = 50, woken: bool = False) -> Vigil:
        poller = Poller(self.queue, self._deliver, wake=self.woken.append)
        return Vigil(poller, self.clock() + seconds * SECOND, woken=woken, sleep=self._sleep)

    def late(self, job: Job) -> timedelta:
        return self.starts[job.id] - job.scheduled_for

    def _deliver(self, function: str, job: Job) -> None:
        self.delivery(function, job)
        self.starts[job.id] = self.clock()

    def _sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.clock.advance(seconds * SECOND)
        now = self.clock()
        due = [what for moment, what in self.happens if moment <= now]
        self.happens = [each for each in self.happens if each[0] > now]
        for what in due:
            what()


@pytest.fixture
def awake(moto_queue: JobQueue, clock: Clock, delivery: Delivery) -> Awake:
    return Awake(moto_queue, clock, delivery)


def test_with_nothing_ahead_it_returns_at_once(awake: Awake) -> None:
    awake.queue.enqueue("work")
    awake.queue.enqueue("work", delay=LOOK_AHEAD + SECOND)

    done = awake.vigil().keep()

    assert (done.claimed, awake.slept) == (1, 0)
    assert awake.queue.store.control.read().ticked_at == START


def test_what_falls_due_in_its_time_starts_on_time(awake: Awake) -> None:
    jobs = [awake.queue.enqueue("work", delay=delay) for delay in (0.2, 3, 3.1, 42)]

    done = awake.vigil().keep()

    assert done.claimed == 4
    assert [awake.late(job) for job in jobs] == [timedelta(0)] * 4
    assert awake.clock() == START + 42 * SECOND


def test_new_work_that_is_due_earlier_is_noticed(awake: Awake) -> None:
    awake.queue.enqueue("work", delay=30)
    added: list[Job] = []
    awake.at(10, lambda: added.append(awake.queue.enqueue("work")))
    awake.at(12, lambda: added.append(awake.queue.enqueue("work", delay=5, priority=2)))

    awake.vigil().keep()

    assert awake.late(added[0]) <= LOOK_EVERY
    assert awake.late(added[1]) == timedelta(0)


def test_it_is_never_early(awake: Awake) -> None:
    jobs = [awake.queue.enqueue("work", delay=delay / 7) for delay in range(1, 40)]

    awake.vigil().keep()

    assert all(awake.late(job) >= timedelta(0) for job in jobs)


def test_when_its_time_is_up_another_poller_goes_on(awake: Awake) -> None:
    late, soon = awake.queue.enqueue("work", delay=60), awake.queue.enqueue("work", delay=20)

    awake.vigil(seconds=50).keep()

    assert START + 49 * SECOND <= awake.clock() <= START + 50 * SECOND
    assert list(awake.starts) == [soon.id]
    assert awake.woken == [{"source": WATCH}]
    assert not awake.queue.store.control.read().watched(awake.clock())

    awake.vigil(seconds=50, woken=True).keep()

    assert awake.late(late) == timedelta(0)


def test_only_one_watches(awake: Awake) -> None:
    job = awake.queue.enqueue("work", delay=30)
    second: list[float] = []

    def come_second() -> None:
        before = awake.slept
        due = awake.queue.enqueue("work")
        assert awake.vigil().keep().claimed == 1  # what is due is everybody's business
        assert due.id in awake.starts
        second.append(awake.slept - before)

    awake.at(5, come_second)

    awake.vigil().keep()

    assert second == [0]
    assert awake.late(job) == timedelta(0)
    assert awake.slept == pytest.approx(30)


def test_the_promise_of_a_poller_that_was_killed_is_over_soon(awake: Awake) -> None:
    job = awake.queue.enqueue("work", delay=40)

    def die() -> None:
        raise SystemExit

    awake.at(7, die)
    with pytest.raises(SystemExit):
        awake.vigil().keep()
    awake.clock.advance(PROMISE)

    awake.vigil().keep()

    assert awake.late(job) == timedelta(0)


def test_work_that_comes_while_it_leaves_is_not_missed(awake: Awake) -> None:
    """Whoever saw the promise did not wake anybody, so the last look comes after it is taken back."""
    awake.queue.enqueue("work", delay=5)
    control, added = awake.queue.store.control, list[Job]()
    leave = control.leave

    def enqueue_and_leave(watcher: str) -> None:
        if not added:
            assert control.read().watched(awake.clock())
            added.append(awake.queue.enqueue("work", delay=3))
        leave(watcher)

    control.leave = enqueue_and_leave  # type: ignore[method-assign]

    awake.vigil().keep()

    assert awake.late(added[0]) == timedelta(0)


def test_jobs_held_back_by_the_cap_start_when_others_end(
    moto_client: Any, table_name: str, clock: Clock, delivery: Delivery
) -> None:
    queue = queues_on(moto_client, table_name, clock)(max_in_flight=2)
    awake = Awake(queue, clock, delivery)
    running = [queue.enqueue("work") for _ in range(2)]
    waiting = queue.enqueue("work")
    awake.at(7, lambda: queue.cancel(running[0]))

    awake.vigil().keep()

    assert timedelta(seconds=7) <= awake.late(waiting) <= timedelta(seconds=8)
    assert clock() <= START + 9 * SECOND


def test_a_cap_that_is_reached_by_an_old_count_only_makes_nobody_wait(
    moto_client: Any, table_name: str, clock: Clock, delivery: Delivery
) -> None:
    queue = queues_on(moto_client, table_name, clock)(max_in_flight=2)
    awake = Awake(queue, clock, delivery)
    jobs = [queue.enqueue("work", delay=delay) for delay in range(1, 7)]
    for second, job in enumerate(jobs, start=1):
        awake.at(second + 0.4, lambda job=job: queue.cancel(job))  # type: ignore[misc]

    awake.vigil().keep()

    assert [awake.late(job) for job in jobs] == [timedelta(0)] * 6


def test_a_backlog_behind_the_cap_is_not_left_although_others_took_what_was_seen(
    moto_client: Any, table_name: str, clock: Clock, delivery: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = queues_on(moto_client, table_name, clock)(max_in_flight=2)
    awake = Awake(queue, clock, delivery)
    jobs = [queue.enqueue("work") for _ in range(5)]
    vigil, poller = awake.vigil(), Poller(queue, Delivery())
    claim, lost = queue.store.claim, list[str]()

    def lose_the_first(seen: Stored, new: Job) -> Job | None:
        if len(lost) < 2:
            lost.append(seen.job.id)
            return None
        return claim(seen, new)

    monkeypatch.setattr(queue.store, "claim", lose_the_first)
    for second in range(1, 10):
        awake.at(second, lambda: [queue.cancel(job_id) for job_id in list(awake.starts)])

    vigil.keep()

    assert poller.poll().claimed == 0
    assert set(awake.starts) == {job.id for job in jobs}


def test_a_woken_poller_that_finds_nothing_more_looks_once_more_before_it_goes(
    awake: Awake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it has told its pass it counts as starting, and nobody is woken for what comes."""
    added: list[Job] = []
    tell_pass = awake.queue.store.control.tell_pass

    def enqueue_and_tell(passed_at: datetime, leases: int) -> None:
        if not added:
            added.append(awake.queue.enqueue("work", delay=3))
        tell_pass(passed_at, leases)

    monkeypatch.setattr(awake.queue.store.control, "tell_pass", enqueue_and_tell)

    awake.vigil(woken=True).keep()

    assert awake.late(added[0]) == timedelta(0)


def test_a_table_that_does_not_answer_for_a_moment_does_not_end_the_watch(
    awake: Awake, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = awake.queue.enqueue("work", delay=5)
    vigil, failed = awake.vigil(), list[int]()
    glance = vigil.poller.glance

    def failing(*arguments: Any, **options: Any) -> Any:
        if len(failed) < 3:
            failed.append(1)
            raise Unavailable("throttled")
        return glance(*arguments, **options)

    monkeypatch.setattr(vigil.poller, "glance", failing)

    vigil.keep()

    assert awake.late(job) <= timedelta(seconds=1)


def test_an_error_takes_the_promise_back(awake: Awake, monkeypatch: pytest.MonkeyPatch) -> None:
    awake.queue.enqueue("work", delay=5)
    vigil = awake.vigil()

    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("a bug")

    monkeypatch.setattr(vigil.poller, "glance", broken)

    with pytest.raises(KeyError):
        vigil.keep()
    assert not awake.queue.store.control.read().watched(awake.clock())


def test_a_claim_that_the_table_did_not_answer_is_tried_again(
    awake: Awake, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = awake.queue.enqueue("work")
    claim, failed = awake.queue.store.claim, list[int]()

    def throttled(seen: Stored, new: Job) -> Job | None:
        if len(failed) < 3:
            failed.append(1)
            raise Unavailable("throttled")
        return claim(seen, new)

    monkeypatch.setattr(awake.queue.store, "claim", throttled)

    awake.vigil().keep()

    assert awake.late(job) <= timedelta(seconds=2)


def test_a_function_with_too_little_time_to_watch_wakes_nobody(awake: Awake) -> None:
    awake.queue.enqueue("work", delay=5)

    awake.vigil(seconds=-1).keep()

    assert (awake.woken, awake.slept) == ([], 0)


def test_looking_costs_no_more_for_jobs_that_run(awake: Awake) -> None:
    """Between two passes only what fell due since the last look is read."""
    for _ in range(30):
        awake.queue.enqueue("work")
    awake.queue.enqueue("work", delay=20)
    lows: list[str] = []
    lane = awake.queue.store.lane

    def noting(priority: int, shard: int, low: str, high: str, **options: object) -> object:
        lows.append(low)
        return lane(priority, shard, low, high, **options)  # type: ignore[arg-type]

    awake.queue.store.lane = noting  # type: ignore[method-assign, assignment]

    awake.vigil().keep()

    full = [low for low in lows if low == "scheduled#"]
    assert len(full) == 4  # four priorities, once
    assert len(lows) > 4 * 30


def test_a_hand_written_job_ahead_is_waited_for(awake: Awake) -> None:
    due = "2026-01-01T00:00:09.000000Z"
    put(
        awake.queue,
        {
            "PK": {"S": "job"},
            "SK": {"S": f"scheduled#{due}#9b1c7c4e-7a57-4a53-8a57-3a1f9f4f3f10"},
            "job_type": {"S": "work"},
            "payload": {"S": "{}"},
            "scheduled_for": {"S": due},
            "status": {"S": "pending"},
        },
    )

    awake.vigil().keep()

    assert awake.clock() == START + 9 * SECOND
    assert len(awake.starts) == 1
