"""A browser, and for each test a copy of the showcase's table with the page in front of it."""

import os
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from dynajobs.item import Item
from dynajobs.queue import JobQueue
from tests.page.stage import Stage, Visitor
from tests.support import engines
from tests.support.engines import AXE, RunningEngine
from tests.support.serving import serving
from tests.support.showcase import Showcase
from tests.support.table import create_lasting_table

Visit = Callable[..., Visitor]
expect.set_options(timeout=15_000)


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/page/" in item.path.as_posix():
            item.add_marker(pytest.mark.page)
            item.add_marker(pytest.mark.xdist_group("page"))


@pytest.fixture(scope="session")
def axe() -> str:
    found = AXE.find_program()
    if found is None:
        sentence = f"axe is missing: {AXE.why_missing()}"
        if os.environ.get("CI") == "true":
            pytest.fail(sentence, pytrace=False)
        pytest.skip(sentence)
    return str(found)


@pytest.fixture(scope="session")
def showcase(dynoxide: RunningEngine) -> tuple[JobQueue, list[Item]]:
    client = engines.client(dynoxide)
    create_lasting_table(client, "showcase")
    made = Showcase(client, "showcase")
    made.live_on()
    pages = client.get_paginator("scan").paginate(TableName="showcase")
    return made.queue, [item for page in pages for item in page["Items"]]


def write_all(client: Any, table: str, items: list[Item]) -> None:
    """As fast as the engine takes them."""
    for start in range(0, len(items), 25):
        requests = [{"PutRequest": {"Item": item}} for item in items[start : start + 25]]
        client.batch_write_item(RequestItems={table: requests})


@pytest.fixture
def empty_queue(dynoxide: RunningEngine, table_name: str, showcase: tuple[JobQueue, list[Item]]) -> JobQueue:
    client = engines.client(dynoxide)
    create_lasting_table(client, table_name)
    ended_at, started = showcase[0].now(), time.monotonic()
    # Each test begins when the showcase ended: a retry that was due in two minutes still is.
    return JobQueue(
        table_name,
        client=client,
        settings=showcase[0].settings,
        clock=lambda: ended_at + timedelta(seconds=time.monotonic() - started),
    )


@pytest.fixture
def queue(empty_queue: JobQueue, showcase: tuple[JobQueue, list[Item]]) -> JobQueue:
    """A day and a half of jobs."""
    write_all(empty_queue.store.table.client, empty_queue.settings.table, showcase[1])
    empty_queue.store.control.tell_pass(empty_queue.now(), leases=2)
    return empty_queue


@pytest.fixture
def stage(queue: JobQueue) -> Iterator[Stage]:
    made = Stage(queue)
    with serving(made.handle) as made.url:
        yield made


@pytest.fixture
def bare(empty_queue: JobQueue) -> Iterator[Stage]:
    """Nothing is in the table yet."""
    made = Stage(empty_queue)
    with serving(made.handle) as made.url:
        yield made


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Somebody comes; whatever their browser complains of fails the test."""
    visitors: list[Visitor] = []

    def come(stage: Stage, **options: Any) -> Visitor:
        visitors.append(Visitor(browser, stage, **options))
        return visitors[-1]

    yield come
    for visitor in visitors:
        visitor.context.close()
    assert [each.complaints for each in visitors if each.complaints] == []


@pytest.fixture
def visitor(visit: Visit, stage: Stage) -> Visitor:
    return visit(stage)
