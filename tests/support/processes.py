"""What test processes run: workers, pollers and claimers against one table, each with clients of its own."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
from botocore.config import Config
from pydantic import BaseModel

from dynajobs import Job, JobContext, JobQueue, Registry, Settings, keys, lifecycle
from dynajobs.poller import Poller
from dynajobs.worker import Worker
from tests.support.table import event_of


class Task(BaseModel):
    hold: bool = False
    """Never come to an end at the first attempt."""


def open_queue(
    endpoint_url: str, table: str, *, ahead: timedelta = timedelta(0), **settings: Any
) -> JobQueue:
    """A queue on the real clock, or `ahead` of it."""
    client = boto3.client(
        "dynamodb",
        endpoint_url=endpoint_url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(max_pool_connections=32, proxies={}),
    )
    chosen = Settings(**{"handlers": {"*": "function"}, **settings})
    return JobQueue(table, client=client, clock=lambda: datetime.now(UTC) + ahead, settings=chosen)


def counting(queue: JobQueue) -> Registry:
    """Each job counts one up in an item of its own, in the transaction that completes it."""
    registry = Registry()

    @registry.handler("count")
    def count(payload: Task, ctx: JobContext) -> None:
        ctx.complete_with(
            [
                {
                    "Update": {
                        "TableName": queue.store.table.name,
                        "Key": {"PK": {"S": f"effect#{ctx.job.id}"}, "SK": {"S": "effect"}},
                        "UpdateExpression": "ADD times :one",
                        "ExpressionAttributeValues": {":one": {"N": "1"}},
                    }
                }
            ]
        )
        while payload.hold and ctx.attempt == 1:
            time.sleep(1)

    return registry


def work(endpoint_url: str, table: str, start: Any) -> None:
    """A worker that stops when nothing is due."""
    queue = open_queue(endpoint_url, table)
    worker = Worker(queue, counting(queue), concurrency=4)
    start.wait(60)
    assert worker.run(once=True)


def poll(endpoint_url: str, table: str, start: Any) -> None:
    """A poller whose functions run in threads; it stops when a pass claims nothing."""
    queue = open_queue(endpoint_url, table, max_in_flight=20)
    function = counting(queue).lambda_handler(queue)
    start.wait(60)
    with ThreadPoolExecutor(4) as functions:
        poller = Poller(queue, invoke_in(functions, function))
        while poller.poll().claimed or queue.list(limit=1, status="pending").jobs:
            pass


def invoke_in(functions: ThreadPoolExecutor, function: Callable[..., Any]) -> Callable[[str, Job], None]:
    def invoke(_: str, job: Job) -> None:
        functions.submit(function, event_of(job), None)

    return invoke


def claim_all(endpoint_url: str, table: str, start: Any, wins: Any) -> None:
    """Claim every job as it was seen before the start, and tell which claims were won."""
    queue = open_queue(endpoint_url, table)
    seen = [queue.store.as_stored(job) for job in queue.list(limit=200)]
    start.wait(60)
    for each in seen:
        new = lifecycle.claim(
            each.job, queue.now(), token=keys.new_id(), lease=timedelta(seconds=60), max_attempts=5
        )
        if won := queue.store.claim(each, new):
            wins.put((won.id, won.locked_by))
    wins.put(None)
