"""Lanes: any number of them, changed while jobs come and go, and divided among pollers."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dynajobs import JobQueue, Status, keys
from dynajobs.poller import Poller
from dynajobs.testing import Clock
from dynajobs.worker import Worker
from tests.integration.conftest import MakeQueue, queues_on
from tests.support.delivery import Delivery
from tests.support.table import live_items
from tests.support.work import working


@pytest.fixture
def make_queue(concurrent_client: Any, table_name: str, clock: Clock) -> MakeQueue:
    return queues_on(concurrent_client, table_name, clock)


def test_nothing_is_stranded_when_shards_are_raised_and_lowered_under_load(make_queue: MakeQueue) -> None:
    """Producers disagree for a while, as during a deployment; the worker has yet another number."""
    worker = Worker(make_queue(poll_interval_seconds=1), working(), concurrency=4)
    running = threading.Thread(target=worker.run)
    running.start()
    made: list[str] = []

    def produce(shards: int) -> None:
        queue = make_queue(shards=shards)
        made.extend(queue.enqueue("work", {"n": n}, priority=n % 4).id for n in range(30))

    try:
        for wave in ((1, 4), (4, 8), (8, 2), (2, 1)):
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(produce, wave))
    finally:
        worker.stop()
        running.join(60)

    leftover = Worker(make_queue(), working(), concurrency=4)
    assert leftover.run(once=True)

    queue = make_queue()
    assert live_items(queue) == []
    done = [queue.get(job_id) for job_id in made]
    assert len(done) == 240
    assert Counter((job.status, job.attempts, len(job.runs)) for job in done) == {
        (Status.COMPLETED, 0, 1): 240
    }
    assert worker.finished + leftover.finished == 240


def test_lanes_are_used_evenly(make_queue: MakeQueue) -> None:
    queue = make_queue(shards=4)
    queue.enqueue_many("work", [{}] * 200)

    by_lane = Counter(item["PK"]["S"] for item in live_items(queue))

    assert set(by_lane) == {keys.lane(0, shard) for shard in range(4)}
    assert min(by_lane.values()) > 25


def shared_out(queue: JobQueue) -> tuple[list[Delivery], list[dict[str, Any]]]:
    """A pass that may wake others, and what those then do, all at once."""
    calls: list[dict[str, Any]] = []
    first = Delivery()
    Poller(queue, first, wake=calls.append).poll(sharing=True)
    others = [Delivery() for _ in calls]

    def help_out(place: int) -> None:
        Poller(queue, others[place]).share(**calls[place]["share"])

    with ThreadPoolExecutor(max(len(calls), 1)) as pool:
        list(pool.map(help_out, range(len(calls))))
    return [first, *others], calls


def test_a_great_backlog_is_divided_among_pollers(make_queue: MakeQueue) -> None:
    queue = make_queue(shards=4, max_in_flight=1000)
    made = {job.id for job in queue.enqueue_many("work", [{}] * 420)}

    deliveries, calls = shared_out(queue)

    assert len(calls) == 3
    handed = [job_id for each in deliveries for job_id in each.ids]
    assert sorted(handed) == sorted(made)  # each once
    assert all(each.ids for each in deliveries)


def test_pollers_that_share_keep_the_cap_together(make_queue: MakeQueue) -> None:
    queue = make_queue(shards=4, max_in_flight=400)
    queue.enqueue_many("work", [{}] * 600)

    deliveries, calls = shared_out(queue)

    assert len(calls) == 3
    assert sum(len(each.ids) for each in deliveries) <= 400


def test_room_is_not_given_out_twice_while_others_start(make_queue: MakeQueue, clock: Clock) -> None:
    queue = make_queue(shards=2, max_in_flight=400)
    queue.enqueue_many("work", [{}] * 900)
    calls: list[dict[str, Any]] = []
    delivery = Delivery()
    poller = Poller(queue, delivery, wake=calls.append)

    for _ in range(3):
        poller.poll(sharing=True)
        clock.advance(0.5)
    for call in calls:
        Poller(queue, delivery).share(**call["share"])

    assert len(calls) == 1
    assert len(delivery.ids) <= 400


def test_a_call_for_help_that_comes_late_is_left(make_queue: MakeQueue, clock: Clock) -> None:
    queue = make_queue(shards=2, max_in_flight=400)
    queue.enqueue_many("work", [{}] * 300)
    calls: list[dict[str, Any]] = []
    Poller(queue, Delivery(), wake=calls.append).poll(sharing=True)
    clock.advance(10)

    assert Poller(queue, Delivery()).share(**calls[0]["share"]).claimed == 0


@pytest.mark.parametrize(("shards", "jobs"), [(1, 250), (4, 150)])
def test_nobody_is_woken_for_what_one_can_do(make_queue: MakeQueue, shards: int, jobs: int) -> None:
    queue = make_queue(shards=shards, max_in_flight=1000)
    queue.enqueue_many("work", [{}] * jobs)

    deliveries, calls = shared_out(queue)

    assert calls == []
    assert len(deliveries[0].ids) == jobs
