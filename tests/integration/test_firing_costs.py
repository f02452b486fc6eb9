"""What firing costs depends on what is due, never on how many schedules or runs there are."""

from datetime import timedelta
from typing import Any

import pytest

from dynajobs import JobQueue, Schedule, firing, poller
from dynajobs.poller import Poller
from dynajobs.schedule_item import encode_schedule
from dynajobs.testing import Clock, drain
from tests.integration.conftest import queues_on
from tests.support import engines
from tests.support.delivery import Delivery
from tests.support.engines import RunningEngine
from tests.support.firing import at, fire
from tests.support.meter import Meter
from tests.support.work import working

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("dynoxide")]


@pytest.fixture
def metered(
    dynoxide: RunningEngine, table_name: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> tuple[JobQueue, Meter]:
    """A queue on dynoxide, which sizes reads as DynamoDB does, and the meter of its client."""
    monkeypatch.setattr(poller, "CLAIM_THREADS", 1)
    monkeypatch.setattr(firing, "FIRE_THREADS", 1)
    client = engines.client(dynoxide)
    return queues_on(client, table_name, clock)(), Meter(client, engines.client(dynoxide))


def load_schedules(queue: JobQueue, count: int) -> None:
    """Enabled schedules whose next slot is years away, written as the library would."""
    table = queue.store.table
    items = [
        encode_schedule(
            Schedule(
                name=f"far-{number}",
                job_type="work",
                cron="0 8 1 1 *",
                next_run_at=at(8) + timedelta(days=365 * 5, seconds=number),
            ),
            queue.settings,
        )
        for number in range(count)
    ]
    for start in range(0, count, 25):
        batch = [{"PutRequest": {"Item": item}} for item in items[start : start + 25]]
        table.client.batch_write_item(RequestItems={table.name: batch})


def cost(queue: JobQueue, meter: Meter, clock: Clock, hour: int) -> tuple[float, int, int]:
    """Read units, write units and requests of a tick at which three are due."""
    clock.set(at(hour))
    meter.take()
    reads, requests = meter.reads, len(meter.requests)
    assert fire(queue) == 3
    return meter.reads - reads, meter.take(), len(meter.requests) - requests


def test_ten_thousand_schedules_cost_what_three_cost(metered: tuple[JobQueue, Meter], clock: Clock) -> None:
    queue, meter = metered
    for number in range(3):
        queue.schedules.create(f"s{number}", "work", cron="0 * * * *")
    few = cost(queue, meter, clock, 1)
    load_schedules(queue, 10_000)

    many = cost(queue, meter, clock, 2)

    assert many == few
    reads, writes, requests = few
    assert reads <= 4
    assert writes == 3 * 9  # schedule 2 + 2 for its index entry, record 2, job 2 + 1
    assert requests == 5  # a query, a read of the three, a transaction for each


def test_a_tick_with_nothing_due_reads_one_page(metered: tuple[JobQueue, Meter], clock: Clock) -> None:
    queue, meter = metered
    load_schedules(queue, 1000)
    poller_ = Poller(queue, Delivery())
    poller_.poll()  # the first pass also sweeps
    clock.advance(60)
    before = meter.reads

    poller_.poll(ahead=timedelta(seconds=70))

    assert meter.reads - before <= 4


def test_a_long_history_makes_no_tick_dearer(metered: tuple[JobQueue, Meter], clock: Clock) -> None:
    queue, meter = metered
    for number in range(3):
        queue.schedules.create(f"s{number}", "work", cron="0 * * * *")
    few = cost(queue, meter, clock, 1)
    clock.set(at(2, 30))
    for _ in range(30):
        queue.schedules.trigger("s0")
    fire(queue)

    assert cost(queue, meter, clock, 3) == few


@pytest.mark.parametrize("overlap", ["allow", "skip"])
def test_a_slot_from_tick_to_end(metered: tuple[JobQueue, Meter], clock: Clock, overlap: Any) -> None:
    queue, meter = metered
    queue.schedules.create("s", "work", cron="0 * * * *", overlap=overlap)
    clock.set(at(1))
    meter.take()

    drain(queue, working())

    assert meter.take() == 9 + 1 + 6 + 2  # fired, begun, finished, and its record closed
