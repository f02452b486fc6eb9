"""Walking the live lanes: what can be claimed, in which order, and what is put right on the way."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain, islice

from dynajobs import keys, lifecycle
from dynajobs.errors import DynajobsError
from dynajobs.item import Item, Malformed, Stored, decode, job_key
from dynajobs.job import Job, Status
from dynajobs.store import Changed, Store
from dynajobs.telemetry import Telemetry, logger

OVERLAP = timedelta(seconds=5)
"""How far a look goes back before the last one: clocks differ, and reads may lag behind writes."""

READERS = 16
FAIR_TURN = 5
"""Every fifth slot goes to the oldest job of any priority."""


@dataclass(slots=True)
class Turns:
    """Whose turn it is: by priority, but one slot in five goes to the oldest due job of all."""

    taken: int = 0

    def order(self, lanes: Iterable[Iterable[Stored]]) -> Iterator[Stored]:
        """The jobs of several priorities, highest first, in the order they get a slot."""
        waiting = [iter(lane) for lane in lanes]
        heads = [next(lane, None) for lane in waiting]
        while live := [place for place, head in enumerate(heads) if head is not None]:
            self.taken += 1
            place = live[0]
            if self.taken % FAIR_TURN == 0:
                place = min(live, key=lambda each: _age(heads[each]))
            head = heads[place]
            assert head is not None
            yield head
            heads[place] = next(waiting[place], None)


def _age(stored: Stored | None) -> tuple[datetime, str]:
    assert stored is not None
    return stored.job.scheduled_for, stored.job.id


class Walk:
    """One pass over lanes at one moment. Bad items are put right as they are met and never stop it.

    `lanes` are the shards to read, `since` the moment from which on; what falls due up to `ahead` from now is
    not yielded, but the first of it is remembered in `coming`.
    """

    def __init__(
        self,
        store: Store,
        now: datetime,
        lanes: Sequence[int],
        telemetry: Telemetry,
        *,
        since: datetime | None = None,
        ahead: timedelta = timedelta(0),
        consistent: bool = False,
        page: int | None = None,
    ) -> None:
        self.store = store
        self.now = now
        self.lanes = lanes
        self.telemetry = telemetry
        self.coming: datetime | None = None
        self.buried = 0
        self._low = keys.due_from(since) if since else keys.DUE_PREFIX
        self._high = keys.due_until(now + ahead)
        self._consistent = consistent
        self._page = page or store.settings.poll_limit

    def priority(self, priority: int) -> Iterator[Stored]:
        """What is live and due by now at one priority, oldest first, leased jobs included."""
        for each in self._jobs(priority, self._low, self._high):
            if each.job.scheduled_for > self.now:
                self.coming = min(self.coming or each.job.scheduled_for, each.job.scheduled_for)
                return
            yield each

    def claimable(self, priority: int) -> Iterator[Stored]:
        """What can be claimed now at one priority, oldest first."""
        for each in self.priority(priority):
            if lifecycle.claimable(each.job, self.now) and not self.store.held_back(each.job):
                yield each

    def everything(self, priority: int) -> Iterator[Stored]:
        """All that is live at one priority, however far off."""
        return self._jobs(priority, keys.DUE_PREFIX, keys.DUE_END)

    def sweep(self) -> None:
        """Items whose key has no sensible time in it never fall due: bury them, or give them their place."""
        absurd = f"{keys.DUE_PREFIX}{self.now.year + 100:04d}"
        for priority in keys.PRIORITIES:
            for _ in self._jobs(priority, absurd, keys.DUE_END):
                pass

    def _jobs(self, priority: int, low: str, high: str) -> Iterator[Stored]:
        lanes = [
            self.store.lane(priority, shard, low, high, limit=self._page, consistent=self._consistent)
            for shard in self.lanes
        ]
        for item in heapq.merge(*_begun(lanes), key=lambda item: item["SK"]["S"]):
            if found := self._understood(item):
                yield found

    def _understood(self, item: Item) -> Stored | None:
        """The job of an item that is where it should be; anything else is put right first."""
        try:
            job = decode(item, self.store.settings)
        except Malformed as malformed:
            self._bury(item, str(malformed))
            return None
        except Exception as error:  # noqa: BLE001 - one bad item must never stop the poll
            self._bury(item, f"{type(error).__name__}: {error}")
            return None
        stored = Stored(job, item)
        if not job.status.finished and job_key(job) == stored.key:
            return stored
        return self._moved(stored)

    def _moved(self, stored: Stored) -> Stored | None:
        """Re-key a job whose key says something else than its attributes; move a finished one out."""
        job = replace(stored.job, version=stored.job.version + 1, updated_at=self.now)
        if job.status.finished:
            job = replace(job, finished_at=job.finished_at or self.now, locked_by=None, lock_expires_at=None)
        try:
            job = self.store.replace(stored, job)
        except Changed:
            return None
        except DynajobsError as error:
            logger.warning("item not put right", extra={"job_id": job.id, "reason": str(error)})
            return None
        except Exception as error:  # noqa: BLE001 - as above
            self._bury(stored.item, f"{type(error).__name__}: {error}")
            return None
        self._tell("item moved to its place", job)
        return (
            self.store.as_stored(job) if not job.status.finished and job.scheduled_for <= self.now else None
        )

    def _bury(self, item: Item, reason: str) -> None:
        try:
            job = self.store.bury(item, reason, self.now)
        except DynajobsError as error:
            logger.warning("item not buried", extra={"reason": str(error)})
            return
        if job is not None:
            self.buried += 1
            self._tell("malformed item buried", job)

    def _tell(self, message: str, job: Job) -> None:
        self.telemetry.transition(message, job)
        if job.status is Status.DEAD_LETTER:
            self.telemetry.failure(job, None, message=job.last_error)


def _begun(lanes: list[Iterator[Item]]) -> list[Iterator[Item]]:
    """The same lanes with their first page read, side by side: one after the other would take its time."""
    if len(lanes) == 1:
        return lanes
    with ThreadPoolExecutor(min(READERS, len(lanes)), thread_name_prefix="dynajobs-read") as pool:
        heads = list(pool.map(lambda lane: list(islice(lane, 1)), lanes))
    return [chain(head, lane) for head, lane in zip(heads, lanes, strict=True)]
