"""Queues on a fresh table with a clock that is moved by hand."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from dynajobs import JobQueue, Registry, Settings, firing, poller
from dynajobs.testing import Clock
from tests.support.delivery import Delivery
from tests.support.table import create_lasting_table
from tests.support.work import working

MakeQueue = Callable[..., JobQueue]
FUNCTIONS = {"*": "handler-function"}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_queue(
    engine_client: Any, table_name: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> MakeQueue:
    """Queues on one table of every engine that share a clock; settings are given by name."""
    # moto is right in one thread only, and the order of deliveries is then the order of claims.
    monkeypatch.setattr(poller, "CLAIM_THREADS", 1)
    monkeypatch.setattr(firing, "FIRE_THREADS", 1)
    return queues_on(engine_client, table_name, clock)


@pytest.fixture
def queue(make_queue: MakeQueue) -> JobQueue:
    return make_queue()


@pytest.fixture
def concurrent_queue(concurrent_client: Any, table_name: str, clock: Clock) -> JobQueue:
    """For what moto cannot do, or only slowly."""
    return queues_on(concurrent_client, table_name, clock)()


@pytest.fixture
def moto_queue(moto_client: Any, table_name: str, clock: Clock) -> JobQueue:
    """For what does not depend on the engine."""
    return queues_on(moto_client, table_name, clock)()


def queues_on(client: Any, table_name: str, clock: Callable[[], Any]) -> MakeQueue:
    create_lasting_table(client, table_name)

    def make(registry: Registry | None = None, **settings: Any) -> JobQueue:
        chosen = Settings(**{"handlers": FUNCTIONS, **settings})
        queue = JobQueue(
            table_name, client=client, clock=clock, settings=chosen, random=Random(7), registry=registry
        )
        queue.store.table.sleep = lambda _: None
        return queue

    return make


@pytest.fixture
def jobs() -> Registry:
    """Handles `work` as the payload says."""
    return working()


@pytest.fixture
def delivery() -> Delivery:
    return Delivery()
