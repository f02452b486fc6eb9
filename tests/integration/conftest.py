"""Queues on a fresh table with a clock that is moved by hand."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from dynajobs import JobQueue, Registry, Settings, poller
from dynajobs.testing import Clock, create_table
from tests.support.delivery import Delivery
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
    """Queues on one table that share a clock; settings are given by name."""
    create_table(engine_client, table_name)
    # moto is right in one thread only, and the order of deliveries is then the order of claims.
    monkeypatch.setattr(poller, "CLAIM_THREADS", 1)

    def make(registry: Registry | None = None, **settings: Any) -> JobQueue:
        chosen = Settings(**{"handlers": FUNCTIONS, **settings})
        queue = JobQueue(
            table_name,
            client=engine_client,
            clock=clock,
            settings=chosen,
            random=Random(7),
            registry=registry,
        )
        queue.store.table.sleep = lambda _: None
        return queue

    return make


@pytest.fixture
def queue(make_queue: MakeQueue) -> JobQueue:
    return make_queue()


@pytest.fixture
def jobs() -> Registry:
    """Handles `work` as the payload says."""
    return working()


@pytest.fixture
def delivery() -> Delivery:
    return Delivery()
