"""For your own tests: a table, a clock that you move, and a way to run what is due, here and now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from dynajobs import keys
from dynajobs.execution import Executor
from dynajobs.firing import Scheduler
from dynajobs.item import Stored
from dynajobs.job import Job
from dynajobs.lanes import Walk
from dynajobs.producing import duration
from dynajobs.queue import JobQueue
from dynajobs.registry import Registry
from dynajobs.settings import SKEW
from dynajobs.telemetry import Telemetry
from dynajobs.worker import begin_here


class Clock:
    """A clock that stands still until it is moved.

    >>> clock = Clock(datetime(2026, 11, 18, tzinfo=UTC))
    >>> clock.advance(timedelta(hours=1))
    >>> clock().hour
    1
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)
        if start is not None:
            self.set(start)

    def __call__(self) -> datetime:
        return self._now

    def advance(self, by: timedelta | float) -> None:
        """Move the clock forward."""
        self._now += duration("by", by)

    def set(self, to: datetime) -> None:
        """Move the clock to an instant, also backwards."""
        if to.tzinfo is None:
            raise ValueError(f"{to!r} has no time zone")
        self._now = to.astimezone(UTC)


def create_table(client: Any, name: str = "dynajobs") -> None:
    """The table as the deployment makes it, but without a stream, which emulators grow slow with."""
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": attribute, "AttributeType": "S"}
            for attribute in ("PK", "SK", "GSI1PK", "GSI1SK")
        ],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "GSI1",
                "KeySchema": [
                    {"AttributeName": "GSI1PK", "KeyType": "HASH"},
                    {"AttributeName": "GSI1SK", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    )
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    client.update_time_to_live(
        TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires_at"}
    )


def drain(queue: JobQueue, registry: Registry, *, advance: bool = False, limit: int = 1000) -> list[Job]:
    """Run what is due, one job at a time in this thread, and return the jobs that reached a final status.

    They come in the order they finished. `limit` counts executions. With `advance` the queue's `Clock` is
    moved to the next due job or slot whenever nothing is due, until nothing is left: retries and delays
    included. An enabled schedule always has a next slot, so that ends at the limit.
    """
    executor = Executor(queue, registry, Telemetry(queue.settings))
    scheduler = Scheduler(queue, executor.telemetry, threads=1)
    finished: list[Job] = []
    executions = idle = 0
    looked_at: datetime | None = None
    Walk(queue.store, queue.now(), _lanes(queue), executor.telemetry).sweep()
    while executions < limit:
        if looked_at != queue.now():
            now = queue.now()
            scheduler.look(now)
            # One look decides about a bounded number of slots: there may be more.
            more = scheduler.coming is not None and scheduler.coming <= now
            looked_at = None if more else now
        seen = next(_claimable(queue, executor), None)
        if seen is None:
            if looked_at is None:
                continue
            idle += 1
            if not advance or idle > limit or not _advance(queue, scheduler):
                break
            continue
        idle = 0
        begun = begin_here(executor, seen, "drain")
        if begun is None:
            ended = queue.store.look(seen.job.id)
            if ended and ended.job.status.finished:
                finished.append(ended.job)
            continue
        executions += 1
        job = executor.run(begun)
        if job is not None and job.status.finished:
            finished.append(job)
    return finished


def _claimable(queue: JobQueue, executor: Executor) -> Iterator[Stored]:
    agreed = queue.store.control.read()
    if not queue.settings.enabled or agreed.reserved(queue.now()):
        return
    walk = Walk(queue.store, queue.now(), range(agreed.shards), executor.telemetry)
    for priority in keys.PRIORITIES:
        yield from walk.claimable(priority)


def _lanes(queue: JobQueue) -> range:
    return range(queue.store.control.read().shards)


def _advance(queue: JobQueue, scheduler: Scheduler) -> bool:
    """Move the clock to the next moment at which something can be claimed; False if there is none."""
    if not isinstance(queue.clock, Clock):
        raise TypeError("drain(advance=True) needs a queue whose clock is a dynajobs.testing.Clock")
    moments = [
        job.scheduled_for
        if job.lock_expires_at is None
        else job.lock_expires_at + SKEW + timedelta(microseconds=1)
        for job in _live(queue)
    ]
    if slot := scheduler.next_slot():
        moments.append(slot)
    later = [moment for moment in moments if moment > queue.now()]
    if later:
        queue.clock.set(min(later))
    return bool(later)


def _live(queue: JobQueue) -> Iterator[Job]:
    cursor: str | None = None
    while True:
        page = queue.list(limit=200, cursor=cursor)
        live = [job for job in page.jobs if not job.status.finished]
        yield from live
        cursor = page.cursor
        if cursor is None or (page.jobs and not live):
            return


def assert_enqueued(
    queue: JobQueue, job_type: str, payload: Mapping[str, Any] | None = None, count: int | None = None
) -> list[Job]:
    """The live jobs of a type whose payload has these values; fails if there are none, or not `count`."""
    wanted = payload or {}
    live = [job for job in _live(queue) if job.job_type == job_type]
    found = [
        job
        for job in live
        if all(name in job.payload and job.payload[name] == wanted[name] for name in wanted)
    ]
    if (count is None and found) or count == len(found):
        return found
    seen = "\n".join(f"  {job.status} {job.payload}" for job in live) or "  none"
    expected = "at least one" if count is None else str(count)
    raise AssertionError(
        f"expected {expected} live {job_type} job with {dict(wanted)}, found {len(found)}; "
        f"live {job_type} jobs:\n{seen}"
    )
