"""What a poll reads, in units, and what it leaves alone."""

from datetime import timedelta
from typing import Any

import pytest

from dynajobs import JobContext, JobQueue
from dynajobs.poller import Poller
from dynajobs.testing import Clock, drain
from tests.integration.conftest import queues_on
from tests.support import engines
from tests.support.delivery import Delivery
from tests.support.engines import RunningEngine
from tests.support.meter import Meter
from tests.support.work import working

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("dynoxide")]


@pytest.fixture
def client(dynoxide: RunningEngine) -> Any:
    return engines.client(dynoxide)


@pytest.fixture
def queue(client: Any, table_name: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> JobQueue:
    monkeypatch.setattr("dynajobs.poller.CLAIM_THREADS", 1)
    return queues_on(client, table_name, clock)()


@pytest.fixture
def meter(client: Any, dynoxide: RunningEngine) -> Meter:
    return Meter(client, engines.client(dynoxide))


def units_of(poller: Poller, meter: Meter) -> float:
    before = meter.reads
    poller.poll()
    return meter.reads - before


def test_jobs_that_are_not_due_are_not_read(queue: JobQueue, meter: Meter) -> None:
    for _ in range(30):
        queue.enqueue("work", {"value": "x" * 2000}, delay=3600)
    poller = Poller(queue, Delivery())
    poller.poll()

    assert units_of(poller, meter) == 3.5


def test_the_first_poll_of_an_hour_also_looks_for_keys_that_never_fall_due(
    queue: JobQueue, meter: Meter, clock: Clock
) -> None:
    poller = Poller(queue, Delivery())
    units = []
    for minutes in (0, 59, 1, 1):
        clock.advance(timedelta(minutes=minutes))
        units.append(units_of(poller, meter))

    assert units == [5.5, 3.5, 5.5, 3.5]


def test_due_jobs_cost_what_their_items_weigh(queue: JobQueue, meter: Meter) -> None:
    poller = Poller(queue, Delivery())
    poller.poll()
    for _ in range(8):
        queue.enqueue("work", {"value": "x" * 700})

    # 8 KB in one lane: a unit, where an empty lane is half of one. And the reservation, before a claim.
    assert units_of(poller, meter) == 5


def test_a_renewal_costs_one_write_unit_and_no_read(queue: JobQueue, meter: Meter) -> None:
    spent: list[tuple[int, float]] = []

    def during(ctx: JobContext) -> None:
        meter.take()
        reads = meter.reads
        ctx.progress(1, 2)
        ctx.heartbeat()
        spent.append((meter.take(), meter.reads - reads))

    queue.enqueue("work", {"do": "call"})
    drain(queue, working(during))

    assert spent == [(1, 0)]
