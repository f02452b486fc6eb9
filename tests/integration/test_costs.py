"""What each step costs in DynamoDB's units, as docs/costs.md says, and that history costs a poll nothing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from dynajobs import JobQueue, Registry, poller
from dynajobs.poller import Poller
from dynajobs.testing import Clock, drain
from dynajobs.vigil import Vigil
from tests.integration.conftest import queues_on
from tests.support import engines
from tests.support.delivery import Delivery
from tests.support.engines import RunningEngine
from tests.support.history import load_finished
from tests.support.meter import Meter
from tests.support.table import event_of

pytestmark = pytest.mark.engine
Metered = Callable[..., tuple[JobQueue, Meter]]


@pytest.fixture
def metered(
    dynoxide: RunningEngine, table_name: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> Metered:
    """A queue on dynoxide, which sizes reads as DynamoDB does, and the meter of its client."""
    monkeypatch.setattr(poller, "CLAIM_THREADS", 1)
    client = engines.client(dynoxide)
    make = queues_on(client, table_name, clock)

    def open_queue(**settings: Any) -> tuple[JobQueue, Meter]:
        return make(**settings), Meter(client, engines.client(dynoxide))

    return open_queue


def hand_over(queue: JobQueue) -> dict[str, str]:
    """Poll once; the event of the one job that was claimed."""
    delivery = Delivery()
    Poller(queue, delivery).poll()
    (job,) = delivery.jobs
    return event_of(job)


@pytest.mark.parametrize(("retention_days", "finish", "total"), [(30, 6, 10), (0, 2, 6)])
def test_a_job_that_succeeds(
    metered: Metered, jobs: Registry, retention_days: int, finish: int, total: int
) -> None:
    queue, meter = metered(retention_days=retention_days)
    queue.enqueue("work", {"do": "ok"})
    enqueue = meter.take()
    event = hand_over(queue)
    claim = meter.take()
    assert jobs.lambda_handler(queue)(event, None)["status"] == "completed"
    begin_and_finish = meter.take()
    assert (enqueue, claim, begin_and_finish) == (2, 1, 1 + finish)
    assert enqueue + claim + begin_and_finish == total


@pytest.mark.parametrize(("retention_days", "total"), [(30, 9), (0, 5)])
def test_a_single_process_writes_once_less(
    metered: Metered, jobs: Registry, retention_days: int, total: int
) -> None:
    queue, meter = metered(retention_days=retention_days)
    queue.enqueue("work", {"do": "ok"})
    drain(queue, jobs)
    assert meter.writes == total


def test_a_failed_attempt(metered: Metered, jobs: Registry) -> None:
    queue, meter = metered()
    queue.enqueue("work", {"do": "fail"})
    meter.take()
    assert jobs.lambda_handler(queue)(hand_over(queue), None)["status"] == "failed"
    assert meter.writes == 8


def test_a_lapsed_lease(metered: Metered, clock: Clock) -> None:
    queue, meter = metered()
    queue.enqueue("work")
    event = hand_over(queue)
    begun = queue.store.begin(
        {"PK": {"S": event["pk"]}, "SK": {"S": event["sk"]}},
        event["token"],
        queue.now(),
        nonce="n",
        worker="w",
        log=None,
        max_attempts=5,
        until=queue.now() + timedelta(seconds=60),
    )
    assert begun is not None
    clock.advance(timedelta(seconds=63))
    meter.take()
    hand_over(queue)
    assert meter.writes == 1
    assert queue.list().jobs[0].attempts == 1


@pytest.mark.parametrize("window", ["active", "2026-11-18"])
def test_a_dedup_key(metered: Metered, jobs: Registry, window: str) -> None:
    queue, meter = metered()
    queue.enqueue("work", {"do": "ok"}, dedup_key="k", dedup_window=window)
    assert meter.take() == 2 + 3
    drain(queue, jobs)
    assert meter.take() == 1 + 6 + 2


def test_a_type_is_noted_once_for_each_process(metered: Metered, jobs: Registry) -> None:
    queue, meter = metered()
    queue.enqueue_many("work", [{"do": "ok"}] * 3)
    drain(queue, jobs)
    assert meter.control_writes == 1


def test_a_poll_costs_what_is_live_never_what_is_history(metered: Metered) -> None:
    queue, meter = metered()
    costs = []
    for finished in (0, 1_000, 20_000):
        load_finished(queue, up_to=finished)
        poller_ = Poller(queue, Delivery())
        poller_.poll()  # the first pass also sweeps
        before = meter.reads
        poller_.poll()
        costs.append(meter.reads - before)
    assert costs == [3.5, 3.5, 3.5]


def test_an_idle_tick(metered: Metered, clock: Clock) -> None:
    queue, meter = metered()
    poller_ = Poller(queue, Delivery())
    ends_at = clock() + timedelta(seconds=50)
    Vigil(poller_, ends_at).keep()  # the first pass also sweeps
    reads, writes = meter.reads, meter.control_writes

    Vigil(poller_, ends_at).keep()

    assert (meter.reads - reads, meter.control_writes - writes, meter.take()) == (3.5, 1, 0)


def test_waiting_for_a_job_that_falls_due_soon(metered: Metered, clock: Clock) -> None:
    """Two reads of all lanes a second, and a promise now and then."""
    queue, meter = metered()
    queue.enqueue("work", delay=30)
    meter.take()

    def sleep(seconds: float) -> None:
        clock.advance(timedelta(seconds=seconds))

    Vigil(Poller(queue, Delivery()), clock() + timedelta(seconds=50), sleep=sleep).keep()

    assert meter.reads <= 30 * 4 + 15
    assert meter.control_writes <= 30 / 6 + 2
    assert meter.take() == 1  # the claim


def test_due_jobs_are_found_behind_hundreds_of_leased_ones(metered: Metered, clock: Clock) -> None:
    queue, _ = metered(max_in_flight=1000)
    queue.enqueue_many("work", [{"n": number} for number in range(300)])
    Poller(queue, Delivery()).poll()
    clock.advance(1)
    late = queue.enqueue("work")
    delivery = Delivery()
    Poller(queue, delivery).poll()
    assert delivery.ids == [late.id]
