"""The worker process: jobs side by side in threads, bad ones among them, and an orderly stop."""

from datetime import timedelta
from threading import Barrier, Event
from typing import Any

import pytest

from dynajobs import JobContext, JobQueue, Status, Unavailable
from dynajobs.execution import Executor
from dynajobs.lease import Lease, Renewer
from dynajobs.telemetry import Telemetry
from dynajobs.testing import Clock, drain
from dynajobs.worker import Worker, begin_here
from tests.integration.conftest import MakeQueue, queues_on
from tests.support.table import by_hand, live_items, put
from tests.support.work import working


@pytest.fixture
def make_queue(concurrent_client: Any, table_name: str, clock: Clock) -> MakeQueue:
    return queues_on(concurrent_client, table_name, clock)


def test_a_worker_runs_everything_that_is_due_and_nothing_else(queue: JobQueue) -> None:
    due = queue.enqueue_many("work", [{"n": n} for n in range(30)])
    later = queue.enqueue("work", delay=60)
    worker = Worker(queue, working())

    assert worker.run(once=True)

    assert {queue.get(job).status for job in due} == {Status.COMPLETED}
    assert queue.get(later) == later


def test_jobs_run_side_by_side_as_many_as_there_are_threads(queue: JobQueue) -> None:
    together = Barrier(3)
    queue.enqueue_many("work", [{"do": "call"}] * 3)

    assert Worker(queue, working(lambda _: together.wait(30) and None), concurrency=3).run(once=True)

    assert queue.stats().by_status["completed"] == 3


def test_a_handler_that_exits_does_not_end_the_worker(queue: JobQueue) -> None:
    queue.enqueue_many("work", [{"do": do} for do in ("exit", "interrupt", "fail", "ok")])
    put(queue, by_hand(job_type=None))
    queue.enqueue("nobody_knows")

    assert Worker(queue, working(), concurrency=1).run(once=True)

    found = queue.stats().by_status
    assert (found["failed"], found["completed"], found["dead_letter"]) == (4, 1, 1)


def test_a_stopped_worker_ends_what_runs_and_claims_no_more(queue: JobQueue) -> None:
    workers: list[Worker] = []
    queue.enqueue_many("work", [{"do": "call"}] * 20)
    workers.append(Worker(queue, working(lambda _: workers[0].stop()), concurrency=1))

    assert workers[0].run()

    found = queue.stats().by_status
    assert (found["completed"], found["pending"], found["in_progress"]) == (1, 19, 0)


def test_a_worker_that_cannot_end_in_time_says_so(make_queue: MakeQueue) -> None:
    queue = make_queue(shutdown_timeout_seconds=0)
    workers: list[Worker] = []
    release = Event()

    def slow(_: JobContext) -> None:
        workers[0].stop()
        release.wait(30)

    job = queue.enqueue("work", {"do": "call"})
    workers.append(Worker(queue, working(slow), concurrency=1))
    try:
        assert not workers[0].run()
        assert queue.get(job).status == Status.IN_PROGRESS
    finally:
        release.set()
        for thread in workers[0]._threads:
            thread.join(30)
    assert queue.get(job).status == Status.COMPLETED


def test_a_job_that_cannot_be_claimed_holds_nobody_up(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = queue.enqueue("work", priority=3)
    queue.enqueue_many("work", [{}] * 5)
    real, tries = queue.store.claim, []

    def claim(seen: Any, new: Any) -> Any:
        if seen.job.id == stuck.id:
            tries.append(seen.job.id)
            raise Unavailable("not authorised")
        return real(seen, new)

    monkeypatch.setattr(queue.store, "claim", claim)

    assert Worker(queue, working()).run(once=True)
    assert queue.stats().by_status["completed"] == 5
    assert tries == [stuck.id]  # not again before the next interval


def test_a_disabled_worker_claims_nothing(make_queue: MakeQueue) -> None:
    queue = make_queue(enabled=False)
    job = queue.enqueue("work")

    assert Worker(queue, working()).run(once=True)
    assert queue.get(job) == job


def test_a_worker_claims_and_begins_in_one_write_under_the_lease_as_set(make_queue: MakeQueue) -> None:
    queue = make_queue(lease_seconds=45)
    seen: list[Any] = []
    queue.enqueue("work", {"do": "call"})

    Worker(queue, working(lambda ctx: seen.append(queue.get(ctx.job)))).run(once=True)

    [running] = seen
    assert running.lock_expires_at == queue.now() + timedelta(seconds=45)
    assert (running.version, len(running.runs)) == (2, 1)


def begun(queue: JobQueue) -> Lease:
    job = queue.enqueue("work")
    held = begin_here(Executor(queue, working(), Telemetry(queue.settings)), queue.store.find(job), "w")
    assert held is not None
    return Lease(queue.store, held, queue.now)


def test_a_lease_is_renewed_when_a_third_of_it_has_passed(
    queue: JobQueue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("dynajobs.lease.time.monotonic", lambda: now)
    lease, renewer = begun(queue), Renewer(queue.settings.lease)
    renewer.add(lease)
    first = lease.seen.job.lock_expires_at
    ends = []
    for seconds in (19, 2, 19, 2):
        now += seconds
        clock.advance(seconds)
        renewer.renew_due()
        ends.append(queue.get(lease.seen.job).lock_expires_at)

    assert first is not None
    assert [end and end - first for end in ends] == [timedelta(seconds=each) for each in (0, 21, 21, 42)]


def test_a_renewal_that_fails_is_tried_again_and_a_lost_lease_is_let_go(
    queue: JobQueue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, renewer = begun(queue), Renewer(queue.settings.lease)
    renewer.add(lease)
    monkeypatch.setattr("dynajobs.lease.time.monotonic", lambda: 1e12)
    real = queue.store.renew

    def fail(*_: Any) -> Any:
        raise Unavailable("the network is down")

    monkeypatch.setattr(queue.store, "renew", fail)
    renewer.renew_due()
    assert renewer._leases == {lease}

    monkeypatch.setattr(queue.store, "renew", real)
    clock.advance(63)
    assert len(drain(queue, working())) == 1
    renewer.renew_due()
    assert lease.lost
    assert renewer._leases == set()
    assert live_items(queue) == []
