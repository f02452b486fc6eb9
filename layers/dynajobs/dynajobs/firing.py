"""Finding the schedules that are due, by one query of the index, and firing their slots."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from dynajobs import keys, launching, slots
from dynajobs.dynamo import Expression, Rejected
from dynajobs.errors import Unavailable
from dynajobs.item import Item
from dynajobs.launching import ScheduleChanged
from dynajobs.schedule_item import Entry, decode_schedule, schedule_key
from dynajobs.telemetry import Telemetry, logger

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

FIRE_THREADS = 8
ONE_BY_ONE = 4
"""So many schedules are fired in the calling thread: that is quick enough."""

TRY_AGAIN = timedelta(seconds=1)
"""After so long whoever watches tries again to fire what the table did not answer for."""

LOOK_EVERY = timedelta(seconds=5)
"""So often whoever watches looks for schedules that were made or changed meanwhile."""

AT_ONCE = 100
"""Schedules that are read and fired before it is asked how long it has taken."""

LOOK_LASTS = 10.0
"""Seconds after which what is still due waits for the next look."""

MAX_TRIES = 3
"""How often a schedule that changed meanwhile is decided anew, before the next look does it."""


class Scheduler:
    """Fires what is due. Several may run at once: each slot has one winner."""

    def __init__(self, queue: JobQueue, telemetry: Telemetry, *, threads: int | None = None) -> None:
        self.queue = queue
        self.telemetry = telemetry
        self.threads = threads or FIRE_THREADS
        self.coming: datetime | None = None
        """The next slot, if at the last look it was as near as was asked."""

        self._looked_at: datetime | None = None

    def awaits(self, now: datetime) -> bool:
        """A slot is due by the last look, or that was so long ago that there may be new schedules."""
        if self.coming is not None and self.coming <= now:
            return True
        return self._looked_at is not None and now - self._looked_at >= LOOK_EVERY

    def look(self, now: datetime, ahead: timedelta = timedelta(0)) -> int:
        """Fire every slot that is due; how many jobs that made. Its cost depends on what is due alone."""
        self.coming, self._looked_at = None, now
        if not self.queue.settings.scheduler_enabled:
            return 0
        due: list[Item] = []
        for name, slot in self._slots(now + ahead):
            if slot > now:
                self._expect(slot)
                break
            due.append(schedule_key(name))
        if not due:
            return 0
        fired, started = 0, time.monotonic()
        for start in range(0, len(due), AT_ONCE):
            if time.monotonic() - started > LOOK_LASTS:
                self._expect(now)  # jobs must not wait for all of it
                break
            found = self.queue.store.table.get_many(due[start : start + AT_ONCE], consistent=True)
            for made, following in self._fire_all(found, now):
                fired += made
                if following is not None and following <= now + ahead:
                    self._expect(following)
        return fired

    def next_slot(self) -> datetime | None:
        """The next slot of all, however far off."""
        if not self.queue.settings.scheduler_enabled:
            return None
        return next((slot for _, slot in self._slots(None)), None)

    def _expect(self, slot: datetime) -> None:
        self.coming = min(self.coming or slot, slot)

    def _slots(self, until: datetime | None) -> Iterator[tuple[str, datetime]]:
        """The enabled schedules by their next slot, as far as the index knows."""
        index, expression = self.queue.settings.index, Expression()
        condition = f"{expression.name(f'{index}PK')} = {expression.value({'S': keys.SCHEDULE_DUE})}"
        if until is not None:
            # '$' follows '#': a slot exactly then is inside.
            last = expression.value({"S": keys.slot_key(until) + "$"})
            condition += f" AND {expression.name(f'{index}SK')} < {last}"
        for page in self.queue.store.table.query(
            IndexName=index, KeyConditionExpression=condition, **expression.parameters()
        ):
            for item in page["Items"]:
                try:
                    yield item["SK"]["S"], keys.parse_slot_key(item[f"{index}SK"]["S"])
                except ValueError as error:
                    self._complain(item, error)

    def _fire_all(self, items: list[Item], now: datetime) -> list[tuple[int, datetime | None]]:
        if len(items) <= ONE_BY_ONE or self.threads == 1:
            return [self._fire(item, now) for item in items]
        with ThreadPoolExecutor(self.threads, thread_name_prefix="dynajobs-fire") as pool:
            return list(pool.map(lambda item: self._fire(item, now), items))

    def _fire(self, item: Item, now: datetime) -> tuple[int, datetime | None]:
        """Fire the due slots of one schedule: how many jobs that made, and the slot it goes on with."""
        fired, fresh = 0, item
        try:
            for _ in range(MAX_TRIES):
                made, following, changed = self._fire_as_read(decode_schedule(fresh), now)
                fired += made
                if changed is None:
                    return fired, following
                fresh = changed
        except Exception as error:  # noqa: BLE001 - one schedule must not stop the others
            self._complain(item, error)
            if isinstance(error, Unavailable) and not isinstance(error, Rejected):
                return fired, now + TRY_AGAIN
        return fired, None

    def _fire_as_read(self, entry: Entry, now: datetime) -> tuple[int, datetime | None, Item | None]:
        """The same, oldest slot first; and the schedule as it is now if it changed meanwhile."""
        schedule, fired = entry.schedule, 0
        seen = schedule.next_run_at if schedule.enabled else None
        if seen is None:
            return 0, None, None
        steps = slots.due_steps(
            entry.cron, seen, now, catchup=schedule.catchup, window=schedule.catchup_window
        )
        for step in steps:
            try:
                job = launching.fire(self.queue, entry, seen, step, now)
            except ScheduleChanged as changed:
                return fired, None, changed.item
            if job is not None:
                fired += 1
                self.telemetry.transition("slot fired", job, schedule=schedule.name)
            if step.missed or (step.slot and job is None):
                count = step.missed.count if step.missed else 1
                logger.warning("slots not run", extra={"schedule": schedule.name, "count": count})
            seen = step.next_run_at
        return fired, seen, None

    def _complain(self, item: Item, error: Exception) -> None:
        reason = f"{type(error).__name__}: {error}"
        logger.warning("schedule not fired", extra={"schedule": item["SK"]["S"], "reason": reason})
