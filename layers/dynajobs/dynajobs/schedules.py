"""The schedules of a queue as programs and operators use them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from dynajobs import cron, history, keys, launching, producing
from dynajobs.dynamo import Conflict, Expression
from dynajobs.errors import (
    AlreadyExists,
    InvalidJob,
    InvalidSchedule,
    ScheduleNotFound,
    TemplateNotFound,
    Unavailable,
)
from dynajobs.item import Item, Malformed, key_of
from dynajobs.job import Job, Page
from dynajobs.schedule import Schedule, ScheduleRun
from dynajobs.schedule_item import (
    ARGUMENTS,
    NAME,
    Entry,
    checked_schedule,
    decode_schedule,
    encode_schedule,
    schedule_key,
)
from dynajobs.store import MAX_TRIES
from dynajobs.telemetry import logger
from dynajobs.templates import USED_BY, template_key

if TYPE_CHECKING:
    from dynajobs.declared import Change
    from dynajobs.queue import JobQueue
    from dynajobs.registry import Registry

_FIGURES = ("last_success_at", "success_rate", "average_duration", "max_duration")
MOST_BACKFILLED = 100
EARLIEST = 1970
"""The year before which no slot is run again: zones had other rules, and calendars no room to count back."""

READERS = 16


class Schedules:
    """Recurring jobs: cron expressions in time zones, with a history of every run.

    >>> queue = getfixture("queue")
    >>> nightly = queue.schedules.create("nightly", "report", cron="0 2 * * *", timezone="Europe/Berlin")
    >>> queue.schedules.next("nightly", 2)
    [datetime.datetime(2026, 11, 19, 1, 0, tzinfo=datetime.timezone.utc), \
datetime.datetime(2026, 11, 20, 1, 0, tzinfo=datetime.timezone.utc)]
    """

    def __init__(self, queue: JobQueue) -> None:
        self._queue = queue
        self._store = queue.store
        self._table = queue.store.table

    def create(
        self,
        name: str,
        job_type: str | None = None,
        *,
        template: str | None = None,
        param_overrides: Mapping[str, Any] | None = None,
        cron: str,
        timezone: str = "UTC",
        payload: Any = None,
        description: str = "",
        enabled: bool = True,
        priority: int = 0,
        max_attempts: int | None = None,
        catchup: str = "latest",
        catchup_window: timedelta | float = timedelta(days=1),
        overlap: str = "allow",
    ) -> Schedule:
        """Store a schedule; `AlreadyExists` if the name is taken.

        It makes a job of `job_type` with `payload`, or one from `template` with `param_overrides`, whenever
        `cron` says so in `timezone`.
        """
        given = {each: value for each, value in locals().items() if each in ARGUMENTS}
        return self.add(name, given)

    def add(self, name: str, arguments: Mapping[str, Any], *, declared: str | None = None) -> Schedule:
        """`create` with its arguments as a mapping, and what a declaration said."""
        schedule = self._checked(name, arguments)
        if schedule.enabled:
            schedule = replace(schedule, next_run_at=self._next_after_now(schedule))
        item = self._item(schedule, declared)
        actions = [self._table.action("Put", Item=item, ConditionExpression="attribute_not_exists(PK)")]
        if schedule.template:
            actions.append(self._use("ADD", schedule.template, name))
        try:
            self._carry_out(actions)
        except Conflict as conflict:
            if 0 not in conflict.failed:
                raise _no_template(schedule.template) from None
            if (conflict.item or {}).get("version") != item["version"]:
                raise AlreadyExists(
                    f"a schedule {name!r} exists: choose another name, or update it"
                ) from None
        return self._seen(schedule, history.Summary())

    def update(self, name: str, **changes: Any) -> Schedule:
        """Change some arguments of `create`; another cron or time zone, or enabling, counts from now."""
        return self.change(name, changes)

    def change(self, name: str, changes: Mapping[str, Any], *, declared: str | None = None) -> Schedule:
        """`update` with its arguments as a mapping, and what a declaration said."""
        for _ in range(MAX_TRIES):
            entry = self.entry(name)
            schedule = self.checked_change(entry.schedule, changes)
            said = entry.item.get("declared", {}).get("S")
            if schedule != entry.schedule or declared not in (None, said):
                item = self._item(schedule, declared or said)
                try:
                    self._carry_out(*self._replacing(entry, schedule, item))
                except Conflict as conflict:
                    if 0 not in conflict.failed:
                        raise _no_template(schedule.template) from None
                    if (conflict.item or {}).get("version") != item["version"]:
                        continue
            return self.get(name)
        raise Unavailable(f"schedule {name} changed {MAX_TRIES} times while it was being changed")

    def enable(self, name: str) -> Schedule:
        """Fire slots from now on; nothing changes if it is enabled."""
        return self.change(name, {"enabled": True})

    def disable(self, name: str) -> Schedule:
        """Fire no slots until it is enabled again; the history stays, jobs already queued still run."""
        return self.change(name, {"enabled": False})

    def delete(self, name: str) -> None:
        """Forget a schedule; its history stays until it expires, jobs already queued still run."""
        for _ in range(MAX_TRIES):
            item = self._stored(name)  # one that cannot be understood can be deleted as well
            template = item.get("template", {}).get("S")
            expression = Expression()
            condition = expression.as_seen(item, "version")
            delete = self._table.action(
                "Delete", Key=key_of(item), ConditionExpression=condition, **expression.parameters()
            )
            try:
                self._carry_out([delete], self._leaving(template, name))
                return
            except Conflict as conflict:
                if conflict.item is None:
                    return  # gone, by an earlier try of ours or by somebody else
        raise Unavailable(f"schedule {name} changed {MAX_TRIES} times while it was being deleted")

    def get(self, name: str) -> Schedule:
        """The schedule with its recent history in figures, or `ScheduleNotFound`."""
        schedule = self.entry(name).schedule
        return self._seen(schedule, history.summarize(self._store, name))

    def trigger(self, name: str) -> Job:
        """Run it once now, also while it is disabled; its slots stay as they are."""
        return launching.trigger(self._queue, self.entry(name), self._queue.now())

    def runs(self, name: str, limit: int = 50, cursor: str | None = None) -> Page:
        """One page of its history, newest first; it outlives the schedule."""
        producing.checked_whole("limit", limit, 1, 200)
        found, more = history.list_runs(self._store, _named(name), limit, cursor)
        if not found and cursor is None:
            self.entry(name)
        return Page(runs=found, cursor=more)

    def next(self, name: str, n: int = 5) -> list[datetime]:
        """The next `n` slots after now, also while it is disabled."""
        producing.checked_whole("n", n, 1, 1000)
        return list(islice(self.entry(name).cron.runs(self._queue.now()), n))

    def backfill(self, name: str, start: datetime, end: datetime) -> list[Job]:
        """Run the slots from `start` on and before `end` that had no job; at most 100, none in the future."""
        entry, now = self.entry(name), self._queue.now()
        for field, moment in (("start", start), ("end", end)):
            if not isinstance(moment, datetime) or moment.utcoffset() is None:
                raise InvalidSchedule(
                    f"{field} is {moment!r}: it must be a datetime with a time zone", field=field
                )
        if start.year < EARLIEST:
            raise InvalidSchedule(f"start is {start}: it must not be before {EARLIEST}", field="start")
        if start > end:
            raise InvalidSchedule(f"end is {end}: it must not be before start, {start}", field="end")
        slots = list(islice(entry.cron.between(start, end), MOST_BACKFILLED + 1))
        if len(slots) > MOST_BACKFILLED:
            raise InvalidSchedule(
                f"end is {end}: more than {MOST_BACKFILLED} slots lie between it and start; "
                f"go on from {slots[-1]} in a second call",
                field="end",
            )
        if slots and slots[-1] > now:
            raise InvalidSchedule(
                f"end is {end}: slots up to {slots[-1]} are in the future; now is {now}", field="end"
            )
        made = (launching.backfill(self._queue, entry, slot, now) for slot in slots)
        return [job for job in made if job is not None]

    def sync(
        self, source: Registry | Mapping[str, Mapping[str, Any]], dry_run: bool = False
    ) -> tuple[Change, ...]:
        """Bring declared schedules into the table: new ones are created, changed declarations applied.

        What an operator changed, a disable above all, stays; the difference is told. A source is a registry,
        or `create`'s arguments by name.
        """
        from dynajobs.declared import sync

        return sync(self, source, dry_run=dry_run)

    def entry(self, name: str) -> Entry:
        """The schedule as it is stored, or `ScheduleNotFound`."""
        try:
            return decode_schedule(self._stored(name))
        except Malformed as error:
            raise InvalidSchedule(f"{error}; delete it and create it anew", field="name") from None

    def _stored(self, name: str) -> Item:
        item = self._table.get(schedule_key(_named(name)))
        if item is None:
            raise ScheduleNotFound(f"there is no schedule {name!r}")
        return item

    def entries(self) -> Iterator[Entry]:
        """Every schedule that can be understood, by name."""
        expression = Expression()
        partition = expression.value({"S": keys.SCHEDULE})
        for page in self._table.query(
            KeyConditionExpression=f"PK = {partition}", ConsistentRead=True, **expression.parameters()
        ):
            for item in page["Items"]:
                try:
                    yield decode_schedule(item)
                except Malformed as error:
                    logger.warning("schedule left out", extra={"reason": str(error)})

    def _checked(self, name: str, arguments: Mapping[str, Any], *, anew: bool = True) -> Schedule:
        """What the arguments say; a payload that is not new need not fit the model of today."""
        schedule = checked_schedule(name, {key: value for key, value in arguments.items() if key != "name"})
        if anew and self._queue.registry is not None and schedule.job_type is not None:
            try:
                self._queue.registry.check(schedule.job_type, producing.payload_text(schedule.payload))
            except InvalidJob as error:
                raise InvalidSchedule(str(error), field="payload") from None
        return schedule

    def checked_change(self, old: Schedule, changes: Mapping[str, Any]) -> Schedule:
        """What a schedule would be after a change, or what is wrong with it."""
        arguments = {name: getattr(old, name) for name in ARGUMENTS}
        # A schedule has a type or a template: the new one takes the old one's place.
        if changes.get("template") is not None:
            arguments |= {"job_type": None, "payload": None}
        elif changes.get("job_type") is not None:
            arguments |= {"template": None, "param_overrides": None}
        new = self._checked(
            old.name, arguments | dict(changes), anew=bool({"job_type", "payload"} & set(changes))
        )
        recount = (new.cron, new.timezone) != (old.cron, old.timezone) or not old.enabled
        next_run_at = None
        if new.enabled:
            next_run_at = self._next_after_now(new) if recount else old.next_run_at
        return replace(new, next_run_at=next_run_at, last_run_at=old.last_run_at, total_runs=old.total_runs)

    def _next_after_now(self, schedule: Schedule) -> datetime:
        return cron.Cron.parse(schedule.cron, schedule.timezone).after(self._queue.now())

    def _item(self, schedule: Schedule, declared: str | None) -> Item:
        item = encode_schedule(schedule, self._store.settings)
        item["version"] = {"S": keys.new_id()}
        if declared is not None:
            item["declared"] = {"S": declared}
        return item

    def _replacing(
        self, entry: Entry, new: Schedule, item: Item
    ) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        expression, index = Expression(), self._store.settings.index
        owned = {*ARGUMENTS, "next_run_at", f"{index}PK", f"{index}SK"}
        change = expression.difference(entry.item, item, owned)
        # Where the next slot stays the same it is not written: a slot fired meanwhile must not leave its own.
        # To disable asks nothing of it, or a schedule that catches up with many slots could not be disabled.
        guard = ("version", "next_run_at") if new.enabled else ("version",)
        condition = expression.as_seen(entry.item, *guard)
        actions = [
            self._table.action(
                "Update",
                Key=entry.key,
                UpdateExpression=change,
                ConditionExpression=condition,
                **expression.parameters(),
            )
        ]
        if new.template == entry.schedule.template:
            return actions, None
        if new.template:
            actions.append(self._use("ADD", new.template, new.name))
        return actions, self._leaving(entry.schedule.template, new.name)

    def _leaving(self, template: str | None, schedule: str) -> dict[str, Any] | None:
        """What tells the template of a schedule that it is used no more."""
        return self._use("DELETE", template, schedule) if template else None

    def _use(self, verb: str, template: str, schedule: str) -> dict[str, Any]:
        expression = Expression()
        users, one = expression.name(USED_BY), expression.value({"SS": [schedule]})
        return self._table.action(
            "Update",
            Key=template_key(template),
            UpdateExpression=f"{verb} {users} {one}",
            ConditionExpression="attribute_exists(PK)",
            **expression.parameters(),
        )

    def _carry_out(self, actions: list[dict[str, Any]], leaving: dict[str, Any] | None = None) -> None:
        """All or nothing, except that a template that is gone need not be told."""
        together = [*actions, leaving] if leaving else actions
        try:
            if len(together) == 1:
                self._table.write(together[0])
            else:
                self._table.transact(together)
        except Conflict as conflict:
            if not leaving or conflict.failed != (len(actions),):
                raise
            self._carry_out(actions)

    def _seen(self, schedule: Schedule, summary: history.Summary) -> Schedule:
        parsed = cron.Cron.parse(schedule.cron, schedule.timezone)
        figures = {name: getattr(summary, name) for name in _FIGURES}
        return replace(schedule, **figures, warnings=cron.warnings(parsed, self._queue.now()))

    def list(self) -> tuple[Schedule, ...]:
        """All schedules, by name."""
        return tuple(schedule for schedule, _ in self.overview())

    def overview(self, recent: int = 0) -> tuple[tuple[Schedule, tuple[ScheduleRun, ...]], ...]:
        """All schedules, by name, each with its latest runs: one reading of its history gives both."""
        found = list(self.entries())
        if not found:
            return ()

        def read(entry: Entry) -> tuple[Schedule, tuple[ScheduleRun, ...]]:
            summary = history.summarize(self._store, entry.schedule.name, recent)
            return self._seen(entry.schedule, summary), summary.recent

        with ThreadPoolExecutor(min(READERS, len(found)), thread_name_prefix="dynajobs-read") as pool:
            return tuple(pool.map(read, found))


def _named(name: object) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ScheduleNotFound(f"there is no schedule {name!r}")
    return name


def _no_template(name: str | None) -> TemplateNotFound:
    return TemplateNotFound(f"there is no template {name!r}: create it first")
