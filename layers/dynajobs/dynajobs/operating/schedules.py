"""Schedules as operators see and change them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from dynajobs import cron, keys
from dynajobs.errors import InvalidJob, InvalidSchedule
from dynajobs.operating.audit import Audit
from dynajobs.operating.masks import restored
from dynajobs.operating.telling import told
from dynajobs.views import run_strip, runs_view, schedule_view

if TYPE_CHECKING:
    from dynajobs.declared import Change
    from dynajobs.queue import JobQueue
    from dynajobs.registry import Registry
    from dynajobs.schedule import Schedule

View = dict[str, Any]
_CONTENTS = frozenset({"payload", "param_overrides"})


class Schedules:
    """Lists, history, previews, changes. Every change is recorded under the actor's name."""

    def __init__(self, queue: JobQueue, audit: Audit) -> None:
        self._queue = queue
        self._audit = audit

    def list(self, recent: int = 0) -> View:
        """All of them, by name, each with its latest `recent` runs."""
        return {
            "schedules": [
                self._view(schedule) | {"recent": run_strip(runs)}
                for schedule, runs in self._queue.schedules.overview(recent)
            ]
        }

    def get(self, name: str) -> View:
        """One of them."""
        return self._view(self._queue.schedules.get(name))

    def create(self, name: str, **arguments: Any) -> View:
        """A new one."""
        with self._audit.of("schedules.create", name, **told(arguments)):
            return self._view(self._queue.schedules.add(name, self._unmasked(arguments, None)))

    def update(self, name: str, **changes: Any) -> View:
        """Change what is given."""
        with self._audit.of("schedules.update", name, **told(changes)):
            if _CONTENTS & changes.keys():
                changes = self._unmasked(changes, self._queue.schedules.entry(name).schedule)
            return self._view(self._queue.schedules.update(name, **changes))

    def enable(self, name: str) -> View:
        """Run it from its next slot on."""
        with self._audit.of("schedules.enable", name):
            return self._view(self._queue.schedules.enable(name))

    def disable(self, name: str) -> View:
        """Run it no more."""
        with self._audit.of("schedules.disable", name):
            return self._view(self._queue.schedules.disable(name))

    def delete(self, name: str) -> None:
        """Forget it."""
        with self._audit.of("schedules.delete", name):
            self._queue.schedules.delete(name)

    def trigger(self, name: str) -> View:
        """Run it once now."""
        with self._audit.of("schedules.trigger", name) as details:
            job = self._queue.schedules.trigger(name)
            details["job_id"] = job.id
        return {"job_id": job.id}

    def backfill(self, name: str, start: datetime, end: datetime) -> View:
        """Run slots of the past that had no job."""
        with self._audit.of("schedules.backfill", name, **told({"start": start, "end": end})) as details:
            jobs = self._queue.schedules.backfill(name, start, end)
            details["jobs"] = len(jobs)
        return {"job_ids": [job.id for job in jobs]}

    def sync(self, source: Registry | Mapping[str, Mapping[str, Any]], *, dry_run: bool = False) -> View:
        """Bring declared schedules into the table; what it did to each, or would do."""
        if dry_run:
            changes = self._queue.schedules.sync(source, dry_run=True)
        else:
            with self._audit.of("schedules.sync", "schedules") as details:
                changes = self._queue.schedules.sync(source)
                details |= {each.name: each.action for each in changes if each.action != "unchanged"}
        return {"schedules": [_change_view(change) for change in changes]}

    def runs(self, name: str, limit: int = 50, cursor: str | None = None) -> View:
        """One page of its history."""
        return runs_view(self._queue.schedules.runs(name, limit=limit, cursor=cursor), self._queue.settings)

    def next(self, name: str, n: int = 5) -> View:
        """Its coming slots."""
        return {"next": [keys.timestamp(slot) for slot in self._queue.schedules.next(name, n)]}

    def preview(self, expression: str, timezone: str = "UTC", n: int = 10) -> View:
        """What an expression would do: in words, its first runs, runs a day, what changes of clocks do."""
        parsed, now = cron.Cron.parse(expression, timezone), self._queue.now()
        slots = list(islice(parsed.runs(now), n))
        week = sum(1 for _ in islice(parsed.between(now, now + timedelta(days=7)), 7 * 1440))
        return {
            "cron_words": cron.describe(expression),
            "next": [
                {"utc": keys.timestamp(slot), "local": f"{parsed.local(slot):%a %Y-%m-%d %H:%M %Z}"}
                for slot in slots
            ],
            "per_day": round(week / 7, 2),
            "warnings": list(cron.warnings(parsed, now)),
        }

    def _unmasked(self, arguments: dict[str, Any], old: Schedule | None) -> dict[str, Any]:
        """With secrets that were only shown as masks."""
        found = dict(arguments)
        for name in _CONTENTS & found.keys():
            try:
                found[name] = restored(
                    found[name], getattr(old, name, None), self._queue.settings.redact, name
                )
            except InvalidJob as error:
                raise InvalidSchedule(str(error), field=name) from None
        return found

    def _view(self, schedule: Any) -> View:
        return schedule_view(schedule, self._queue.settings)


def _change_view(change: Change) -> View:
    drift = {
        name: {"declared": declared, "stored": stored} for name, (declared, stored) in change.drift.items()
    }
    return {"name": change.name, "action": change.action, "changed": list(change.changed), "drift": drift}
