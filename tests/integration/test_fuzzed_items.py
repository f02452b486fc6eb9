"""Whatever stands in a live item, the poll goes on and nothing is lost."""

from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynajobs import JobQueue, Status, keys, lifecycle
from dynajobs.item import Item, decode, job_key, key_of
from dynajobs.poller import Poller
from dynajobs.testing import Clock, drain
from tests.integration.conftest import queues_on
from tests.support import engines
from tests.support.delivery import Delivery
from tests.support.engines import RunningEngine
from tests.support.table import all_items, finished_items, live_items, put
from tests.support.work import working

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("dynoxide")]

ANY = st.recursive(
    st.builds(lambda text: {"S": text}, st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
    | st.builds(
        lambda value: {"N": str(value)}, st.integers(-(10**20), 10**20) | st.sampled_from([1.5, -0.25])
    )
    | st.builds(lambda raw: {"B": raw}, st.binary(max_size=4))
    | st.sampled_from(
        [{"BOOL": True}, {"NULL": True}, {"SS": ["a", ""]}, {"NS": ["1", "2.5"]}, {"BS": [b"a"]}]
    ),
    lambda inner: (
        st.builds(lambda each: {"L": each}, st.lists(inner, max_size=2))
        | st.builds(lambda each: {"M": each}, st.dictionaries(st.sampled_from("ab"), inner, max_size=2))
    ),
    max_leaves=4,
)


def texts(*choices: str) -> Any:
    return st.sampled_from([{"S": choice} for choice in choices]) | ANY


TIMES = (
    "2025-12-31T23:00:00.000000Z",
    "2025-12-31T23:00:00Z",
    "2026-01-01T02:00:00+01:00",
    "2026-06-01T00:00:00.000000Z",
    "0001-01-01T00:00:00.000000Z",
    "9999-12-31T23:59:59.999999Z",
    "2025-02-30T00:00:00Z",
    "yesterday",
    "",
)
NUMBERS = st.sampled_from([{"N": text} for text in ("0", "1", "3", "7", "100", "999999999", "-1")]) | ANY
RUN = st.fixed_dictionaries(
    {"run_id": texts("r")},
    optional={
        "attempt": NUMBERS,
        "status": texts("running", "failed", "completed"),
        "started_at": texts(*TIMES),
        "finished_at": texts(*TIMES),
        "details": texts("{}", "{"),
        "log": ANY,
    },
).map(lambda run: {"M": run})
IDS = st.sampled_from([str(UUID(int=number, version=4)) for number in range(3)] + ["", "x", "#", "é"])
KEYS = st.builds(
    lambda time, job_id: f"scheduled#{time}#{job_id}",
    st.sampled_from(TIMES) | st.text("0z#-", max_size=4),
    IDS,
)
ITEMS = st.fixed_dictionaries(
    {"PK": st.sampled_from([{"S": "job"}, {"S": "job#p2"}]), "SK": KEYS.map(lambda key: {"S": key})},
    optional={
        "GSI1PK": st.sampled_from([{"S": "job-id#x"}, {"S": "done#completed#work"}]),
        "GSI1SK": st.sampled_from([{"S": "job"}]),
        "job_type": st.just({"S": "work"}) | texts("other", ""),
        "payload": texts("{}", "[]", '{"do": "fail"}', '{"n": "x"}', '{"value": "\\ud800"}', "{"),
        "scheduled_for": texts(*TIMES),
        "status": texts(*Status, "done"),
        "result": texts("1", '"\\udfff"', "{"),
        "progress": texts('{"done": 1}'),
        "cancel_requested": st.just({"BOOL": True}) | ANY,
        "run": RUN | ANY,
        "runs": st.lists(RUN, max_size=12).map(lambda runs: {"L": runs}) | ANY,
        "dedup_pk": texts("scheduled-job#k", "job", ""),
        "dedup_sk": texts("active", "day", ""),
        "expires_at": NUMBERS,
        **dict.fromkeys(("created_at", "updated_at", "finished_at", "completed_at"), texts(*TIMES)),
        "lock_expires_at": texts(*TIMES),
        **dict.fromkeys(("attempts", "priority", "max_attempts", "version"), NUMBERS),
        **dict.fromkeys(("undelivered", "runs_closed"), NUMBERS),
        **dict.fromkeys(("locked_by", "last_error", "org_id", "retry_of", "nonce", "shard"), texts("x")),
    },
)


@pytest.fixture
def queue(dynoxide: RunningEngine, table_name: str, clock: Clock) -> JobQueue:
    return queues_on(engines.client(dynoxide), table_name, clock)(max_attempts=2, max_in_flight=10_000)


def clear(queue: JobQueue) -> None:
    client, table = queue.store.table.client, queue.store.table.name
    deletes = [{"DeleteRequest": {"Key": key_of(item)}} for item in all_items(queue)]
    for start in range(0, len(deletes), 25):
        client.batch_write_item(RequestItems={table: deletes[start : start + 25]})


def out_of_place(queue: JobQueue, item: Item) -> bool:
    """The item is due by its key, and is not what and where a live job should be."""
    try:
        job = decode(item, queue.settings)
    except Exception:  # noqa: BLE001 - that is what is asked
        return True
    return job.status.finished or job_key(job) != key_of(item)


def due(queue: JobQueue, item: Item) -> bool:
    """By the text of its key the item falls due by now, or never does."""
    sk: str = item["SK"]["S"]
    return sk <= keys.due_until(queue.now()) or sk > "scheduled#2126"


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(items=st.lists(ITEMS, min_size=1, max_size=5), seed=st.integers(0, 9))
def test_the_poll_goes_on_and_nothing_is_lost(
    queue: JobQueue, clock: Clock, items: list[Item], seed: int
) -> None:
    clear(queue)
    clock.set(Clock()())
    for item in items:
        put(queue, item)
    number = len({(item["PK"]["S"], item["SK"]["S"]) for item in items})
    good = queue.enqueue("work", run_at=clock() - timedelta(minutes=Random(seed).randrange(120)))
    delivery = Delivery()

    Poller(queue, delivery).poll()

    assert good.id in delivery.ids
    assert len(live_items(queue)) + len(finished_items(queue)) == number + 1
    assert [item for item in live_items(queue) if due(queue, item) and out_of_place(queue, item)] == []

    clock.advance(timedelta(days=365))
    drain(queue, working(), limit=50, advance=False)

    assert len(live_items(queue)) + len(finished_items(queue)) == number + 1
    waiting = [decode(item, queue.settings) for item in live_items(queue) if due(queue, item)]
    assert not any(lifecycle.claimable(job, clock()) for job in waiting)
    for item in finished_items(queue):
        job = decode(item, queue.settings)
        assert job.status.finished
        assert job.status is not Status.DEAD_LETTER or job.last_error
