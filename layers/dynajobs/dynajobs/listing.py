"""Lists and counts over the table: pages in a fixed order, opaque cursors, bounded reads."""

from __future__ import annotations

import hashlib
import heapq
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from dynajobs import keys
from dynajobs.control import Agreed
from dynajobs.dynamo import Expression
from dynajobs.errors import InvalidCursor, InvalidJob
from dynajobs.item import Item, Malformed, decode, key_of
from dynajobs.job import FINISHED, WAITING, Job, Page, Stats, Status
from dynajobs.store import Store

LIVE = "live"
"""In a filter, instead of a status: pending, in_progress or failed."""

READ_BUDGET = 1000
"""Items examined for one page, and counted for one lane or one kind of finished job."""


MAX_WEIGHT = 2_000_000
"""Characters of one page: a Lambda may answer with 6 MB, and a character can take three bytes."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list is asked for."""

    status: Status | None = None
    job_type: str | None = None
    org_id: str | None = None
    schedule_name: str | None = None
    fingerprint: str | None = None
    live: bool = False
    """Only what has not finished."""

    @classmethod
    def checked(cls, status: object, *, live: bool = False, **texts: object) -> Filters:
        for name, value in texts.items():
            if value is not None and (not isinstance(value, str) or not value):
                raise InvalidJob(f"{name} is {value!r}: it must be a string that is not empty, or None")
        if status == LIVE:
            status, live = None, True
        try:
            found = None if status is None else Status(str(status))
        except ValueError:
            raise InvalidJob(f"status is {status!r}: it must be one of {', '.join(Status)}, {LIVE}") from None
        return cls(found, live=live, **texts)  # type: ignore[arg-type]

    def match(self, job: Job) -> bool:
        return (
            self.status in (None, job.status)
            and self.job_type in (None, job.job_type)
            and self.org_id in (None, job.org_id)
            and self.schedule_name in (None, job.schedule_name)
            and self.fingerprint in (None, job.fingerprint)
        )

    @property
    def digest(self) -> str:
        texts = [self.status, self.job_type, self.org_id, self.schedule_name, self.fingerprint]
        text = json.dumps([*texts, self.live])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a list: its phase, the priority while live, and `<time>#<id>`."""

    phase: str
    priority: int
    at: str

    def cursor(self, filters: Filters) -> str:
        text = json.dumps([filters.digest, self.phase, self.priority, self.at], separators=(",", ":"))
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, cursor: object, filters: Filters) -> Place:
        try:
            assert isinstance(cursor, str) and cursor
            text = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
            digest, phase, priority, at = json.loads(text)
            assert phase in ("live", "done") and type(priority) is int and priority in keys.PRIORITIES
            assert isinstance(at, str) and len(at.encode()) < 900
        except (AssertionError, ValueError, TypeError, RecursionError):
            raise InvalidCursor(f"cursor {str(cursor)[:80]!r} is not one that a list returned") from None
        if digest != filters.digest:
            raise InvalidCursor("the cursor belongs to a list with other filters: start again without it")
        return cls(phase, priority, at)


def list_jobs(store: Store, filters: Filters, limit: int, cursor: str | None) -> Page:
    """One page: live jobs by priority, time and id, then finished ones, newest first."""
    start = None if cursor is None else Place.parse(cursor, filters)
    agreed = store.control.read()
    jobs: list[Job] = []
    examined, weight, last = 0, 0, None
    for place, job in _walk(store, filters, start, agreed, limit):
        if len(jobs) == limit or examined == READ_BUDGET or weight > MAX_WEIGHT:
            assert last is not None
            return Page(jobs=tuple(jobs), cursor=last.cursor(filters))
        examined, last = examined + 1, place
        if job is not None and filters.match(job):
            jobs.append(job)
            weight += _weight(job)
    return Page(jobs=tuple(jobs))


def _weight(job: Job) -> int:
    """About how many bytes a job has as an answer."""
    contents = (job.payload_json, job.last_error, job.result, *(run.details for run in job.runs))
    return 2_000 + sum(len(each if isinstance(each, str) else repr(each)) for each in contents if each)


def _walk(
    store: Store, filters: Filters, start: Place | None, agreed: Agreed, limit: int
) -> Iterator[tuple[Place, Job | None]]:
    """Every job a list may show from a place on; None where an item is no job or went away."""
    live = filters.status is None or not filters.status.finished
    if live and (start is None or start.phase == "live"):
        for priority in keys.PRIORITIES:
            if start is None or priority <= start.priority:
                after = start.at if start and priority == start.priority else ""
                yield from _live(store, priority, agreed.shards, after, limit)
    if not filters.live and (filters.status is None or filters.status.finished):
        before = start.at if start and start.phase == "done" else ""
        yield from _finished(store, filters, agreed, before, limit)


def _live(
    store: Store, priority: int, shards: int, after: str, limit: int
) -> Iterator[tuple[Place, Job | None]]:
    # A space sorts before everything a key can go on with, so the item at `after` itself is left out.
    low = keys.DUE_PREFIX + (f"{after} " if after else "")
    lanes = (store.lane(priority, shard, low, keys.DUE_END, limit=limit + 1) for shard in range(shards))
    for item in heapq.merge(*lanes, key=lambda item: item["SK"]["S"]):
        place = Place("live", priority, item["SK"]["S"].removeprefix(keys.DUE_PREFIX))
        yield place, _decoded(store, item)


def _finished(
    store: Store, filters: Filters, agreed: Agreed, before: str, limit: int
) -> Iterator[tuple[Place, Job | None]]:
    partitions = [
        _done_keys(store, partition, before, limit)
        for partition in done_partitions(filters.status, filters.job_type, agreed)
    ]
    index_sk = f"{store.settings.index}SK"
    merged = heapq.merge(*partitions, key=lambda item: item[index_sk]["S"], reverse=True)
    while batch := list(islice(merged, min(limit + 1, 100))):
        found = {item["PK"]["S"]: item for item in store.table.get_many([key_of(item) for item in batch])}
        for entry in batch:
            item = found.get(entry["PK"]["S"])
            yield Place("done", 0, entry[index_sk]["S"]), _decoded(store, item) if item else None


def _done_keys(store: Store, partition: str, before: str, limit: int) -> Iterator[Item]:
    expression = Expression()
    index = store.settings.index
    condition = f"{expression.name(f'{index}PK')} = {expression.value({'S': partition})}"
    if before:
        condition += f" AND {expression.name(f'{index}SK')} < {expression.value({'S': before})}"
    for page in store.table.query(
        IndexName=index,
        KeyConditionExpression=condition,
        ScanIndexForward=False,
        Limit=limit + 1,
        **expression.parameters(),
    ):
        yield from page["Items"]


def done_partitions(status: Status | None, job_type: str | None, agreed: Agreed) -> list[str]:
    """The index partitions of finished jobs of a status, or all; of a type, or every known one."""
    return [
        keys.done_partition(each.value, one_type, shard)
        for each in ([status] if status else sorted(FINISHED))
        for one_type in ([job_type] if job_type else agreed.job_types)
        for shard in range(agreed.shards)
    ]


def _decoded(store: Store, item: Item) -> Job | None:
    try:
        return decode(item, store.settings)
    except Malformed:
        return None


def count(store: Store, now: datetime) -> Stats:
    """Counts by status and type, and the age of the oldest due job; bounded work."""
    agreed = store.control.read()
    by_status: Counter[str] = Counter({status.value: 0 for status in Status})
    by_type: Counter[str] = Counter()
    oldest: datetime | None = None
    truncated = False
    for priority in keys.PRIORITIES:
        for shard in range(agreed.shards):
            lane = store.lane(priority, shard, keys.DUE_PREFIX, keys.DUE_END, limit=READ_BUDGET)
            for job in (_decoded(store, item) for item in islice(lane, READ_BUDGET)):
                if job is None:
                    by_status[Status.PENDING.value] += 1
                    by_type[keys.INVALID_TYPE] += 1
                    continue
                by_status[job.status.value] += 1
                by_type[job.job_type] += 1
                if job.status in WAITING and job.scheduled_for <= now:
                    oldest = min(oldest or job.scheduled_for, job.scheduled_for)
            truncated = truncated or next(lane, None) is not None
    for partition in done_partitions(None, None, agreed):
        number, more = _count_done(store, partition)
        _, status, job_type, *_ = partition.split("#")
        by_status[status] += number
        by_type[job_type] += number
        truncated = truncated or more
    return Stats(
        by_status=dict(by_status),
        by_type={name: number for name, number in sorted(by_type.items()) if number},
        oldest_due_age=None if oldest is None else now - oldest,
        truncated=truncated,
    )


def _count_done(store: Store, partition: str) -> tuple[int, bool]:
    expression = Expression()
    index_pk = expression.name(f"{store.settings.index}PK")
    condition = f"{index_pk} = {expression.value({'S': partition})}"
    pages = store.table.query(
        IndexName=store.settings.index,
        KeyConditionExpression=condition,
        Select="COUNT",
        Limit=READ_BUDGET,
        **expression.parameters(),
    )
    page = next(pages)
    return page["Count"], "LastEvaluatedKey" in page
