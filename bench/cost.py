"""What a job and an idle poll cost in DynamoDB's units, counted over real requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.throughput import fresh_table, jobs
from dynajobs import Job, JobQueue, Settings
from dynajobs.poller import Poller
from dynajobs.testing import drain
from tests.support.delivery import Delivery
from tests.support.history import load_finished
from tests.support.meter import Meter
from tests.support.table import event_of


def write_units(make_client: Callable[[], Any]) -> dict[str, int]:
    """By way of running: through the poller and a function, or in one process; with history and without."""
    return {
        "poller and function": _through_function(make_client, 30),
        "poller and function, RETENTION_DAYS=0": _through_function(make_client, 0),
        "worker": _in_one_process(make_client, 30),
        "worker, RETENTION_DAYS=0": _in_one_process(make_client, 0),
    }


def _through_function(make_client: Callable[[], Any], retention_days: int) -> int:
    client = make_client()
    with fresh_table(client) as table:
        settings = Settings(retention_days=retention_days, handlers={"*": "function"})
        queue = JobQueue(table, client=client, settings=settings)
        meter = Meter(client, make_client())
        queue.enqueue("noop")
        delivery = Delivery()
        Poller(queue, delivery).poll()
        jobs.lambda_handler(queue)(event_of(delivery.jobs[0]), None)
        return meter.writes


def _in_one_process(make_client: Callable[[], Any], retention_days: int) -> int:
    client = make_client()
    with fresh_table(client) as table:
        queue = JobQueue(table, client=client, settings=Settings(retention_days=retention_days))
        meter = Meter(client, make_client())
        queue.enqueue("noop")
        finished: list[Job] = drain(queue, jobs)
        if len(finished) != 1:
            raise SystemExit("the job was not finished")
        return meter.writes


IDLE_READS, IDLE_WRITES = 3.5, 1
"""Units of a tick that finds nothing; tests/integration/test_costs.py holds them."""


def poll_units(make_client: Callable[[], Any]) -> dict[int, float]:
    """Read units of an idle poll, by the number of finished jobs in the table."""
    client = make_client()
    found: dict[int, float] = {}
    with fresh_table(client) as table:
        queue = JobQueue(table, client=client, settings=Settings())
        meter = Meter(client, make_client())
        poller = Poller(queue, Delivery())
        poller.poll()  # the first pass also sweeps
        for finished in (0, 1_000, 20_000):
            load_finished(queue, up_to=finished)
            before = meter.reads
            poller.poll()
            found[finished] = meter.reads - before
    return found
