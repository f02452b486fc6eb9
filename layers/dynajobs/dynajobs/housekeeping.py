"""Our own scheduled jobs: what the table would otherwise keep for ever, or keep where nobody looks.

Each is an ordinary schedule that can be disabled or edited; each tells in its result what it did.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from dynajobs import keys, listing
from dynajobs.control import RESERVATION
from dynajobs.dedup import MIN_RETENTION
from dynajobs.dynamo import Conflict, Expression
from dynajobs.installing import DELETE_DEAD_LETTERS, DELETE_EXPIRED, EXPIRE_RESERVATION, RECOVER_LANES
from dynajobs.item import Item, key_of
from dynajobs.job import Status
from dynajobs.lanes import Walk
from dynajobs.lifecycle import claimable
from dynajobs.outcome import JobResult
from dynajobs.registry import Registry
from dynajobs.store import Changed
from dynajobs.telemetry import Telemetry

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

TTL_TAKES = timedelta(days=3)
"""DynamoDB's own expiry is done by then; what is older is there because it is off."""

MOST = 1000
"""Items that one run of a job deletes; the next run goes on."""

MOST_SHARDS = 64


class Nothing(BaseModel):
    """A job without parameters."""


class DeadLetters(BaseModel):
    """`days` after which dead letters are deleted; without it they stay for ever."""

    days: int | None = Field(default=None, ge=1, le=36_500)


def registry(queue: JobQueue) -> Registry:
    """The handlers of the schedules that every deployment has."""
    jobs = Registry()

    @jobs.handler(DELETE_EXPIRED)
    def expired(_: Nothing) -> JobResult:
        return delete_expired(queue)

    @jobs.handler(DELETE_DEAD_LETTERS)
    def dead_letters(payload: DeadLetters) -> JobResult:
        return delete_dead_letters(queue, payload.days)

    @jobs.handler(RECOVER_LANES)
    def lanes(_: Nothing) -> JobResult:
        return recover_lanes(queue)

    @jobs.handler(EXPIRE_RESERVATION)
    def reservation(_: Nothing) -> JobResult:
        return expire_reservation(queue)

    return jobs


def delete_expired(queue: JobQueue) -> JobResult:
    """Finished jobs that outlived their time where the table's own expiry is off, with their records."""
    too_old = queue.now() - TTL_TAKES
    jobs = sum(
        _delete_job(queue, item)
        for status in (Status.COMPLETED, Status.CANCELLED)
        for item in _finished_before(queue, status, too_old - timedelta(days=queue.settings.retention_days))
        if _expired(item, too_old, queue) and _record_expired(queue, item, too_old)
    )
    slots = sum(
        _delete(queue, item)
        for entry in queue.schedules.entries()
        for item in islice(_oldest_slots(queue, entry.schedule.name, too_old - MIN_RETENTION), MOST)
        if _expired(item, too_old, queue)
    )
    return JobResult(
        message=f"{jobs} expired jobs and {slots} expired slots deleted",
        details={"jobs": jobs, "slots": slots},
    )


def delete_dead_letters(queue: JobQueue, days: int | None) -> JobResult:
    """Dead letters older than so many days; none unless a number is given.

    What they were the runs of stays in the history for as long as a record is kept.
    """
    if days is None:
        return JobResult(message="dead letters are kept for ever", details={"jobs": 0})
    too_old = queue.now() - timedelta(days=days)
    jobs = sum(_delete_job(queue, item) for item in _finished_before(queue, Status.DEAD_LETTER, too_old))
    return JobResult(message=f"{jobs} dead letters deleted", details={"jobs": jobs})


def recover_lanes(queue: JobQueue) -> JobResult:
    """Live jobs in lanes that no poller reads are brought to one that is; what is no job is buried."""
    store, now = queue.store, queue.now()
    shards = store.control.read().shards
    walk = Walk(store, now, range(shards, MOST_SHARDS), Telemetry(queue.settings))
    moved = 0
    for priority in keys.PRIORITIES:
        for seen in islice(walk.everything(priority), MOST):
            if seen.job.status is Status.IN_PROGRESS and not claimable(seen.job, now):
                continue  # it runs: it is found again at the next round, if it is not over
            shard = keys.shard_of(seen.job.id, shards)
            new = replace(seen.job, shard=shard, version=seen.job.version + 1, updated_at=now)
            with suppress(Changed):
                store.replace(seen, new)
                moved += 1
    return JobResult(
        message=f"{moved} jobs brought back, {walk.buried} items buried",
        details={"jobs": moved, "buried": walk.buried},
    )


def expire_reservation(queue: JobQueue) -> JobResult:
    """A reservation whose holder crashed is marked as expired; it has not counted since its end."""
    expression = Expression()
    change = expression.difference({}, {"status": {"S": "expired"}})
    over = f"{expression.name('until')} <= {expression.value({'S': keys.timestamp(queue.now())})}"
    active = f"{expression.name('status')} = {expression.value({'S': 'active'})}"
    try:
        queue.store.table.update(RESERVATION, change, f"{active} AND {over}", expression)
    except Conflict:
        return JobResult(message="no reservation has expired", details={"reservations": 0})
    return JobResult(message="an expired reservation is marked", details={"reservations": 1})


def _finished_before(queue: JobQueue, status: Status, moment: datetime) -> Iterator[Item]:
    """Finished jobs of a status, oldest first, found by the index."""
    store, index = queue.store, queue.settings.index
    for partition in listing.done_partitions(status, None, store.control.read()):
        expression = Expression()
        pk, sk = expression.name(f"{index}PK"), expression.name(f"{index}SK")
        before = expression.value({"S": keys.timestamp(moment)})
        pages = store.table.query(
            IndexName=index,
            KeyConditionExpression=f"{pk} = {expression.value({'S': partition})} AND {sk} < {before}",
            Limit=100,
            **expression.parameters(),
        )
        for page in islice(pages, MOST // 100):
            yield from store.table.get_many([key_of(item) for item in page["Items"]])


def _oldest_slots(queue: JobQueue, schedule: str, before: datetime) -> Iterator[Item]:
    expression = Expression()
    partition = expression.value({"S": keys.slots_partition(schedule)})
    end = expression.value({"S": keys.slot_key(before)})
    for page in queue.store.table.query(
        KeyConditionExpression=f"PK = {partition} AND SK < {end}", Limit=100, **expression.parameters()
    ):
        yield from page["Items"]


def _expired(item: Item, too_old: datetime, queue: JobQueue) -> bool:
    expiry = item.get(queue.settings.ttl_attribute, {}).get("N")
    return expiry is not None and float(expiry) < too_old.timestamp()


def _record_expired(queue: JobQueue, job: Item, too_old: datetime) -> bool:
    """A record outlives its job, and only the job tells where it is: both go together."""
    record = _record(queue, job)
    return record is None or _expired(record, too_old, queue)


def _record(queue: JobQueue, job: Item) -> Item | None:
    if "dedup_pk" not in job or "dedup_sk" not in job:
        return None
    record = queue.store.table.get({"PK": job["dedup_pk"], "SK": job["dedup_sk"]})
    ours = {"S": job["PK"]["S"].removeprefix(keys.job_partition(""))}
    return record if record and record.get("job_id") == ours else None


def _delete_job(queue: JobQueue, job: Item) -> bool:
    """The job last: what a crash leaves is found again by it."""
    record = _record(queue, job)
    if record and _expired(record, queue.now(), queue):
        _delete(queue, record)
    for run in queue.store.older_runs(job["PK"]["S"].removeprefix(keys.job_partition(""))):
        _delete(queue, run)
    return _delete(queue, job)


def _delete(queue: JobQueue, item: Item) -> bool:
    """An item, if it still is what was read."""
    expression = Expression()
    names = [name for name in ("job_id", "outcome", "status", "retried_by") if name in item]
    condition = " AND ".join(["attribute_exists(PK)", *([expression.as_seen(item, *names)] if names else [])])
    table = queue.store.table
    try:
        table.write(
            table.action("Delete", Key=key_of(item), ConditionExpression=condition, **expression.parameters())
        )
    except Conflict:
        return False
    return True
