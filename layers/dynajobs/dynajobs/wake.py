"""The table's stream: what is enqueued due starts at once, and a poller is awake for what falls due soon.

It only makes things faster. With the stream off, late, doubled or out of order, the poller's tick finds the
same jobs, and every claim has one winner.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from dynajobs import keys, lifecycle
from dynajobs.control import Agreed
from dynajobs.item import Item, Stored, decode, job_key
from dynajobs.poller import Pass, Poller
from dynajobs.schedule_item import decode_schedule
from dynajobs.telemetry import logger
from dynajobs.vigil import LOOK_AHEAD, WATCH

STARTING = timedelta(seconds=3)
"""For so long after a poller was woken it counts as awake, unless it has made its pass since."""


class Waker:
    """Starts new jobs from stream records. It never waits: that would hold up the stream."""

    def __init__(self, poller: Poller) -> None:
        self.poller = poller
        self._woken_at: datetime | None = None
        self._counted_at: datetime | None = None

    def take(self, records: list[Any]) -> Pass:
        """Start what is due and see that a poller is awake for the rest."""
        now = self.poller.queue.now()
        jobs, odd = self._read(records)
        soon = [seen for seen in jobs if seen.job.scheduled_for <= now + LOOK_AHEAD]
        if not (soon or odd) or not self.poller.settings.enabled:
            return Pass()
        store = self.poller.queue.store
        agreed = store.control.read()
        due = [seen for seen in soon if lifecycle.claimable(seen.job, now) and not store.held_back(seen.job)]
        done = self.poller.start(due, self._room(agreed))
        if done.tried < len(due):
            if agreed.watched(now):
                return done  # the poller that watches waits for room
            self._count(agreed, done)
        if odd or done.waiting or any(seen.job.scheduled_for > now for seen in soon):
            self._wake(agreed, now)
        return done

    def _count(self, agreed: Agreed, done: Pass) -> None:
        """No room by the last count: count the leases in force, and start what they leave room for."""
        counted = self.poller.poll(agreed)
        done.claimed += counted.claimed
        done.waiting += counted.waiting
        self.poller.queue.store.control.tell_pass(self.poller.queue.now(), self.poller.leases)

    def _room(self, agreed: Agreed) -> int:
        """At most one round between two counts of the leases: only a count tells how many are in force."""
        if self._counted_at != agreed.ticked_at:
            self._counted_at = agreed.ticked_at
            self.poller.leases = 0
        if agreed.reserved(self.poller.queue.now()):
            return 0
        settings = self.poller.settings
        return min(settings.max_in_flight - agreed.leases, settings.poll_limit) - self.poller.leases

    def _wake(self, agreed: Agreed, now: datetime) -> None:
        starting = (
            self._woken_at is not None
            and now - self._woken_at < STARTING
            and (agreed.ticked_at is None or agreed.ticked_at <= self._woken_at)
        )
        if self.poller.wake and not agreed.watched(now) and not starting:
            self._woken_at = self.poller.queue.now()
            self.poller.wake({"source": WATCH})

    def _fires_soon(self, item: Item) -> bool:
        """A new schedule whose first slot comes before the next tick would see it."""
        slot = decode_schedule(item).schedule.next_run_at
        return slot is not None and slot <= self.poller.queue.now() + LOOK_AHEAD

    def _read(self, records: list[Any]) -> tuple[list[Stored], int]:
        """The new jobs of a batch in their places, and how many records only a poller can put right."""
        jobs: dict[str, Stored] = {}
        odd = 0
        for record in records:
            try:
                item: Item = record["dynamodb"]["NewImage"] if record["eventName"] == "INSERT" else {}
                if not item:
                    continue
                if item["PK"] == {"S": keys.SCHEDULE}:
                    odd += self._fires_soon(item)
                    continue
                seen = Stored(decode(item, self.poller.settings), item)
                if not seen.job.status.finished and job_key(seen.job) == seen.key:
                    jobs[seen.job.id] = seen  # a batch may say a thing twice
                    continue
                reason = "not in its place"
            except Exception as error:  # noqa: BLE001 - one bad record must not hold up the stream
                reason = f"{type(error).__name__}: {error}"
            odd += 1
            logger.info("record left to a poller", extra={"reason": reason})
        return list(jobs.values()), odd
