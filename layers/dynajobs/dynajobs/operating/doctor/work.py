"""Work that is stuck: in lanes, under leases, behind a reservation."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING

from dynajobs import keys, words
from dynajobs.control import Agreed
from dynajobs.item import Item, Malformed, decode
from dynajobs.job import WAITING, Job, Status
from dynajobs.operating.doctor.finding import OVERDUE, Finding, fine, odd, some, wrong
from dynajobs.settings import SKEW

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

LOOKED_AT = 200
"""Due items of a lane that are looked at."""

MOST_SHARDS = 64
READERS = 16


@dataclass(slots=True)
class _Seen:
    """What stands in the lanes that are read, as far as it was looked at."""

    looked_at: int = 0
    more: bool = False
    silent: list[str] = field(default_factory=list)
    oldest: Job | None = None
    bad: list[str] = field(default_factory=list)
    types: set[str] = field(default_factory=set)

    def add(self, item: Item, queue: JobQueue, now: datetime) -> None:
        self.looked_at += 1
        try:
            job = decode(item, queue.settings)
        except (Malformed, ValueError) as error:
            self.bad.append(f"{item['PK']['S']} {item['SK']['S']} ({error})")
            return
        if job.status in WAITING and job.scheduled_for <= now:
            self.types.add(job.job_type)
            # One that waits for its schedule's earlier run is not late.
            if job.waits_for is None:
                self.oldest = min(self.oldest or job, job, key=lambda each: each.scheduled_for)
        if (
            job.status is Status.IN_PROGRESS
            and now - (job.lock_expires_at or job.updated_at or job.scheduled_for) > OVERDUE + SKEW
        ):
            self.silent.append(job.id)


def work(queue: JobQueue) -> Iterator[Finding]:
    """Due jobs that nobody starts, leases that nobody takes up, items that nobody understands."""
    agreed, now = queue.store.control.read(), queue.now()
    seen = _look(queue, agreed, now)
    bound = f", the first {LOOKED_AT:,} of a lane" * seen.more
    yield _backlog(seen, now, f"{words.plural(seen.looked_at, 'due item')} looked at{bound}")
    if seen.silent:
        evidence = f"{words.plural(len(seen.silent), 'lease')} ended over 5 minutes ago: {some(seen.silent)}"
        yield wrong("leases", evidence, "have the poller look: dynajobs tick")
    else:
        yield fine("leases", "none that ended is left behind")
    if seen.bad:
        evidence = (
            f"{words.plural(len(seen.bad), 'item')} in a lane cannot be understood: {some(seen.bad, 1)}"
        )
        advice = "the poller's next full look makes dead letters of them"
        yield odd("items", evidence, advice)
    if agreed.poller and (homeless := sorted(each for each in seen.types if not agreed.poller.handles(each))):
        evidence = f"due jobs have types without a function: {some(homeless)}"
        advice = "name one in the poller's DYNAJOBS_HANDLERS, or a fallback '*'"
        yield wrong("types", evidence, advice)


def lanes(queue: JobQueue) -> Iterator[Finding]:
    """Jobs in lanes that no poller reads, as after lowering the number of shards and deleting our notes."""
    known = queue.store.control.read().shards
    beyond = [(priority, shard) for priority in keys.PRIORITIES for shard in range(known, MOST_SHARDS)]

    def used(lane: tuple[int, int]) -> bool:
        return any(queue.store.lane(*lane, keys.DUE_PREFIX, keys.DUE_END, limit=1))

    with ThreadPoolExecutor(READERS, thread_name_prefix="dynajobs-read") as pool:
        found = [
            keys.lane(*lane)
            for lane, any_there in zip(beyond, pool.map(used, beyond), strict=True)
            if any_there
        ]
    if found:
        evidence = (
            f"{words.plural(len(found), 'lane')} beyond the {known} that are read have jobs: {some(found)}"
        )
        advice = "set DYNAJOBS_SHARDS back, or trigger dynajobs.recover_lanes"
        yield wrong("lanes", evidence, advice)
    else:
        yield fine("lanes", f"{known} a priority, none beyond has jobs")


def reservation(queue: JobQueue) -> Iterator[Finding]:
    """Somebody who has the queue to themselves."""
    now = queue.now()
    held = queue.reservation()
    if held is not None and held.status == "active":
        evidence = f"{held.by} has the queue until {words.clock(held.until)}: nothing starts before"
        yield odd("reservation", evidence, "dynajobs reservation release ends it")
    else:
        ended = f", since {words.relative(held.released_at or held.until, now)}" if held else ""
        yield fine("reservation", f"nobody has the queue to themselves{ended}")


def _look(queue: JobQueue, agreed: Agreed, now: datetime) -> _Seen:
    seen = _Seen()
    absurd = f"{keys.DUE_PREFIX}{now.year + 100:04d}"
    for priority in keys.PRIORITIES:
        for shard in range(agreed.shards):
            due = queue.store.lane(priority, shard, keys.DUE_PREFIX, keys.due_until(now), limit=LOOKED_AT)
            # Keys without a sensible time stand at the end, where nothing ever falls due.
            never = queue.store.lane(priority, shard, absurd, keys.DUE_END, limit=LOOKED_AT)
            for item in chain(islice(due, LOOKED_AT), islice(never, LOOKED_AT)):
                seen.add(item, queue, now)
            seen.more = seen.more or next(due, None) is not None
    return seen


def _backlog(seen: _Seen, now: datetime, looked_at: str) -> Finding:
    if seen.oldest is None or now - seen.oldest.scheduled_for <= OVERDUE:
        return fine("backlog", f"no job is late: {looked_at}")
    waited = words.length(now - seen.oldest.scheduled_for)
    return wrong(
        "backlog",
        f"the oldest due job has waited {waited}: {looked_at}",
        f"dynajobs jobs why {seen.oldest.id} says what for",
    )
