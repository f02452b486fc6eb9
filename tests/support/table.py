"""Looking into a table, and writing to it past dynajobs, as somebody else's program would."""

from typing import Any
from uuid import uuid4

from dynajobs import Job, JobQueue
from dynajobs.item import Item, job_key
from dynajobs.testing import create_table

DUE = "2025-12-31T23:00:00.000000Z"
"""An hour before the clock of the tests starts."""


def create_lasting_table(client: Any, name: str) -> None:
    """A table that nothing expires from: the wall clock is far ahead of the clock of the tests."""
    create_table(client, name)
    off = {"Enabled": False, "AttributeName": "expires_at"}
    client.update_time_to_live(TableName=name, TimeToLiveSpecification=off)


def all_items(queue: JobQueue, prefix: str = "") -> list[Item]:
    """Every item whose partition key starts with `prefix`."""
    table = queue.store.table
    pages = table.client.get_paginator("scan").paginate(TableName=table.name, ConsistentRead=True)
    return [item for page in pages for item in page["Items"] if item["PK"]["S"].startswith(prefix)]


def live_items(queue: JobQueue) -> list[Item]:
    return [item for item in all_items(queue, "job") if item["SK"]["S"].startswith("scheduled")]


def finished_items(queue: JobQueue) -> list[Item]:
    return [item for item in all_items(queue, "job-id#") if item["SK"]["S"] == "job"]


def dedup_items(queue: JobQueue) -> list[Item]:
    return all_items(queue, "scheduled-job#")


def put(queue: JobQueue, item: Item) -> Item:
    """A plain PutItem."""
    queue.store.table.client.put_item(TableName=queue.store.table.name, Item=item)
    return item


def by_hand(sk: str | None = None, *, pk: str = "job", **attributes: Any) -> Item:
    """The least that is a valid job; attributes given as None are left out, texts become strings."""
    item: dict[str, Any] = {
        "PK": pk,
        "SK": sk or f"scheduled#{DUE}#{uuid4()}",
        "job_type": "work",
        "payload": "{}",
        "scheduled_for": DUE,
        "status": "pending",
        **attributes,
    }
    return {
        name: {"S": value} if isinstance(value, str) else value
        for name, value in item.items()
        if value is not None
    }


def number(value: float) -> dict[str, str]:
    return {"N": str(value)}


def event_of(job: Job) -> dict[str, Any]:
    """What the poller sends to a job's Lambda function."""
    key = job_key(job)
    return {"pk": key["PK"]["S"], "sk": key["SK"]["S"], "job_id": job.id, "token": job.locked_by}
