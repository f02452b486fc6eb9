"""How fast jobs are enqueued and drained, next to a bare boto3 loop with the fewest requests possible."""

from __future__ import annotations

import logging
import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any
from uuid import uuid4

from dynajobs import JobQueue, Registry, Settings
from dynajobs.dynamo import default_client
from dynajobs.testing import create_table
from dynajobs.worker import Share, Worker

THREADS = 16
ROUNDS = 5

jobs = Registry()


@jobs.handler("noop")
def noop(payload: dict[str, Any]) -> None:
    """Nothing: what is measured is the queue."""


@dataclass
class Requests:
    """Counts the requests of a client."""

    by_operation: dict[str, int] = field(default_factory=dict)

    def watch(self, client: Any) -> None:
        client.meta.events.register("before-call.dynamodb", self._count)

    def _count(self, model: Any, **_: Any) -> None:
        self.by_operation[model.name] = self.by_operation.get(model.name, 0) + 1

    @property
    def total(self) -> int:
        return sum(self.by_operation.values())


@contextmanager
def fresh_table(client: Any) -> Iterator[str]:
    name = f"bench-{uuid4().hex}"
    create_table(client, name)
    try:
        yield name
    finally:
        client.delete_table(TableName=name)


def bare_enqueue(client: Any, table: str, count: int) -> list[dict[str, Any]]:
    """One conditional PutItem per job, as anybody would write it."""
    items = [
        {
            "PK": {"S": "job"},
            "SK": {"S": f"scheduled#2026-11-18T07:00:00.000000Z#{uuid4()}"},
            "GSI1PK": {"S": f"job-id#{uuid4()}"},
            "GSI1SK": {"S": "job"},
            "job_type": {"S": "noop"},
            "payload": {"S": "{}"},
            "scheduled_for": {"S": "2026-11-18T07:00:00.000000Z"},
            "status": {"S": "pending"},
            "attempts": {"N": "0"},
            "created_at": {"S": "2026-11-18T07:00:00.000000Z"},
        }
        for _ in range(count)
    ]

    def put(item: dict[str, Any]) -> None:
        client.put_item(TableName=table, Item=item, ConditionExpression="attribute_not_exists(PK)")

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(put, items))
    return items


def bare_drain(client: Any, table: str, items: list[dict[str, Any]]) -> None:
    """One conditional UpdateItem and one transaction of two per job, keys known beforehand."""

    def handle(item: dict[str, Any]) -> None:
        key = {"PK": item["PK"], "SK": item["SK"]}
        client.update_item(
            TableName=table,
            Key=key,
            UpdateExpression="SET #status = :running, locked_by = :me, lock_expires_at = :until",
            ConditionExpression="#status = :pending",
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={
                ":running": {"S": "in_progress"},
                ":pending": {"S": "pending"},
                ":me": {"S": "worker"},
                ":until": {"S": "2026-11-18T07:01:00.000000Z"},
            },
        )
        done = item | {
            "PK": {"S": item["GSI1PK"]["S"]},
            "SK": {"S": "job"},
            "GSI1PK": {"S": "done#completed#noop"},
            "GSI1SK": {"S": "2026-11-18T07:00:01.000000Z"},
            "status": {"S": "completed"},
        }
        client.transact_write_items(
            TransactItems=[
                {
                    "Delete": {
                        "TableName": table,
                        "Key": key,
                        "ConditionExpression": "locked_by = :me",
                        "ExpressionAttributeValues": {":me": {"S": "worker"}},
                    }
                },
                {
                    "Put": {
                        "TableName": table,
                        "Item": done,
                        "ConditionExpression": "attribute_not_exists(PK)",
                    }
                },
            ]
        )

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(handle, items))


@dataclass(frozen=True)
class Rate:
    """How fast some work went."""

    per_second: float
    cpu_milliseconds: float
    requests: float = 0.0


@dataclass
class Comparison:
    """The rates of some work, bare and ours, round by round."""

    bare: list[Rate] = field(default_factory=list)
    ours: list[Rate] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Ours against bare; of each round, since a machine's speed changes from one to the next."""
        pairs = zip(self.ours, self.bare, strict=True)
        return median(ours.per_second / bare.per_second for ours, bare in pairs)


def rate(count: int, work: Callable[[], object], requests: Requests | None = None) -> Rate:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Rate(count / wall, cpu / count * 1000, requests.total / count if requests else 0.0)


def measure_bare(client: Any, count: int, enqueue: Comparison, drain: Comparison) -> None:
    with fresh_table(client) as table:
        items: list[dict[str, Any]] = []
        enqueue.bare.append(rate(count, lambda: items.extend(bare_enqueue(client, table, count))))
        drain.bare.append(rate(count, lambda: bare_drain(client, table, items)))


def measure_ours(client: Any, count: int, enqueue: Comparison, drain: Comparison) -> None:
    with fresh_table(client) as table:
        queue = JobQueue(table, client=client, settings=Settings())
        enqueue.ours.append(rate(count, lambda: queue.enqueue_many("noop", [{}] * count)))
        requests = Requests()
        requests.watch(client)
        worker = Worker(queue, jobs, concurrency=THREADS)
        drain.ours.append(rate(count, lambda: worker.run(once=True), requests))
        if worker.finished != count:
            raise SystemExit(f"{worker.finished} of {count} jobs were finished")


def measure_processes(client: Any, count: int, processes: int, drain: Comparison) -> None:
    """The same by several processes, from the moment all of them are ready."""
    with fresh_table(client) as table:
        JobQueue(table, client=client, settings=Settings()).enqueue_many("noop", [{}] * count)
        spawn = multiprocessing.get_context("spawn")
        ready = spawn.Barrier(processes + 1)
        finished = spawn.Value("i", 0)
        crew = [
            spawn.Process(target=drain_share, args=(table, Share(number, processes), ready, finished))
            for number in range(processes)
        ]
        for each in crew:
            each.start()
        ready.wait(60)
        drain.ours.append(rate(count, lambda: [each.join() for each in crew]))
        if finished.value != count:
            raise SystemExit(f"{finished.value} of {count} jobs were finished")


def drain_share(table: str, share: Share, ready: Any, finished: Any) -> None:
    """What one of the processes does."""
    logging.disable()
    queue = JobQueue(table, client=default_client(), settings=Settings())
    worker = Worker(queue, jobs, concurrency=THREADS, share=share)
    queue.store.control.read()  # the connection is there
    ready.wait(60)
    worker.run(once=True)
    with finished.get_lock():
        finished.value += worker.finished


def compare(
    bare_client: Callable[[], Any], our_client: Callable[[], Any], count: int
) -> tuple[Comparison, Comparison, Comparison]:
    """Enqueueing and draining, and draining by two processes; in turns, so that all meet the same machine."""
    enqueue, drain, two = Comparison(), Comparison(), Comparison()
    turns = [
        lambda: measure_bare(bare_client(), count, enqueue, drain),
        lambda: measure_ours(our_client(), count, enqueue, drain),
        lambda: measure_processes(our_client(), count, 2, two),
    ]
    for _ in range(ROUNDS):
        for measure in turns:
            measure()
        turns.reverse()
    two.bare = drain.bare
    return enqueue, drain, two
