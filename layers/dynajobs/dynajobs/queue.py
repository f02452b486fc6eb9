"""The queue as producers and operators use it."""

from __future__ import annotations

import random as _random
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

from dynajobs import keys, lifecycle, listing, producing
from dynajobs.dynamo import Conflict, Expression, Table
from dynajobs.errors import InvalidJob, InvalidSettings, InvalidTransition, JobNotFound, Unavailable
from dynajobs.item import Item, Stored, encode
from dynajobs.job import WAITING, Job, Page, Stats, Status
from dynajobs.settings import Settings
from dynajobs.store import MAX_TRIES, Changed, Store
from dynajobs.telemetry import Telemetry

if TYPE_CHECKING:
    from dynajobs.control import Reservation
    from dynajobs.registry import Registry
    from dynajobs.schedules import Schedules
    from dynajobs.templates import Templates

Clock = Callable[[], datetime]
Check = Callable[[Job], None]


def utc_now() -> datetime:
    """The clock of every queue that was given no other."""
    return datetime.now(UTC)


class JobQueue:
    """A queue in one DynamoDB table.

    `clock` tells the time, `random` makes jitter, `registry` checks payloads when a job is enqueued. Without
    `settings` those of the environment apply.
    """

    def __init__(
        self,
        table: str,
        *,
        client: Any = None,
        clock: Clock | None = None,
        settings: Settings | None = None,
        random: _random.Random | None = None,
        registry: Registry | None = None,
    ) -> None:
        if not table:
            raise InvalidSettings(f"table is {table!r}: give the table's name, or set DYNAJOBS_TABLE")
        self.settings = replace(settings or Settings.from_env(), table=table)
        self.clock = clock or utc_now
        self.random = random or _random.Random()
        self.registry = registry
        self.store = Store(Table(table, client), self.settings)
        self._telemetry = Telemetry(self.settings)

    @classmethod
    def from_env(cls, *, registry: Registry | None = None) -> JobQueue:
        """The queue that `DYNAJOBS_TABLE` names, with the settings of the environment."""
        settings = Settings.from_env()
        return cls(settings.table, settings=settings, registry=registry)

    def now(self) -> datetime:
        """The queue's time, in UTC."""
        return self.clock().astimezone(UTC)

    def enqueue(
        self,
        job_type: str,
        payload: Any = None,
        *,
        run_at: datetime | None = None,
        delay: timedelta | float | None = None,
        priority: int = 0,
        max_attempts: int | None = None,
        org_id: str | None = None,
        group_id: str | None = None,
        dedup_key: str | None = None,
        dedup_window: str | date | datetime = keys.ACTIVE,
        job_id: str | UUID | None = None,
    ) -> Job:
        """Store a job and return it.

        It is due now, at `run_at`, or after `delay`. With a `dedup_key` there is one job per key and
        `dedup_window`; if it exists already, it is returned with `created=False`.
        """
        job = self.build(
            job_type,
            payload,
            run_at=run_at,
            delay=delay,
            priority=priority,
            max_attempts=max_attempts,
            org_id=org_id,
            group_id=group_id,
            dedup_key=dedup_key,
            dedup_window=dedup_window,
            job_id=job_id,
        )
        return self.put(job, new_id=job_id is None)

    def put(self, job: Job, *, new_id: bool) -> Job:
        """Store a job that was built; an id that the caller chose must be a new one."""
        if not new_id and self.store.look(job.id):
            raise InvalidJob(f"job_id is {job.id}: a job with this id exists; leave it out to get a new one")
        stored = producing.put_new(self.store, job)
        if stored.created:
            self._telemetry.transition("job enqueued", stored)
        return stored

    def enqueue_many(
        self,
        job_type: str,
        payloads: Iterable[Any],
        *,
        run_at: datetime | None = None,
        delay: timedelta | float | None = None,
        priority: int = 0,
        max_attempts: int | None = None,
        org_id: str | None = None,
        group_id: str | None = None,
    ) -> list[Job]:
        """Store one job per payload, in order. All are checked first; the writes are not atomic."""
        jobs = [
            self.build(
                job_type,
                payload,
                run_at=run_at,
                delay=delay,
                priority=priority,
                max_attempts=max_attempts,
                org_id=org_id,
                group_id=group_id,
            )
            for payload in producing.checked_payloads(payloads)
        ]
        stored = producing.put_many(self.store, jobs)
        for job in stored:
            self._telemetry.transition("job enqueued", job)
        return stored

    def job_item(self, job_type: str, payload: Any = None, **options: Any) -> Item:
        """The item of a job as `client.put_item` takes it, with `enqueue`'s options except the dedup key.

        Put it with `ConditionExpression="attribute_not_exists(PK)"`.
        """
        job = self.build(job_type, payload, **options)
        if job.dedup_pk is not None:
            raise InvalidJob("dedup_key takes two items in one transaction: use enqueue_actions")
        self.store.control.ensure_lanes()
        return encode(job, self.settings)

    def enqueue_actions(self, job_type: str, payload: Any = None, **options: Any) -> list[dict[str, Any]]:
        """`TransactItems` that enqueue a job inside your own transaction; a duplicate cancels it."""
        return producing.put_actions(self.store, self.build(job_type, payload, **options))

    def build(self, job_type: str, payload: Any, **options: Any) -> Job:
        """A new job from `enqueue`'s arguments, checked and not stored."""
        job = producing.build(job_type, payload, now=self.now(), shards=self.settings.shards, **options)
        if self.registry is not None:
            self.registry.check(job.job_type, job.payload_json or "{}")
        return job

    @cached_property
    def schedules(self) -> Schedules:
        """Recurring jobs."""
        from dynajobs.schedules import Schedules

        return Schedules(self)

    @cached_property
    def templates(self) -> Templates:
        """Jobs to be made, under a name."""
        from dynajobs.templates import Templates

        return Templates(self)

    def reserve(
        self, by: str, ttl: timedelta | float = timedelta(minutes=5), wait: timedelta | float | None = None
    ) -> AbstractContextManager[Reservation]:
        """Have the queue to yourself for a `with` block: while it lasts no new job is started.

        `ReservationBusy` if somebody has it, at once or after `wait`. A crash frees it after `ttl`.
        """
        from dynajobs.reservation import reserve

        return reserve(self, by, ttl, wait)

    def reservation(self) -> Reservation | None:
        """The last reservation: who, since and until when, and whether it is active, released or expired."""
        return self.store.control.reservation(self.now())

    def get(self, job: Job | str) -> Job:
        """The job as it is now, or `JobNotFound`."""
        return self.store.find(job).job

    def list(
        self,
        *,
        status: Status | str | None = None,
        job_type: str | None = None,
        org_id: str | None = None,
        schedule_name: str | None = None,
        fingerprint: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page:
        """One page of jobs: live ones in the order they will run, then finished ones, newest first."""
        producing.checked_whole("limit", limit, 1, 200)
        filters = listing.Filters.checked(
            status,
            job_type=job_type,
            org_id=org_id,
            schedule_name=schedule_name,
            fingerprint=fingerprint,
        )
        return listing.list_jobs(self.store, filters, limit, cursor)

    def stats(self) -> Stats:
        """Counts by status and type, and how long the oldest due job has been waiting."""
        return listing.count(self.store, self.now())

    def cancel(self, job: Job | str, *, check: Check | None = None) -> Job:
        """Cancel a job that is not running; ask a running one to stop (`ctx.cancelled`).

        `check` may refuse the job as it is when it is changed, by raising.
        """
        return self._change(job, _checked_by(check, lifecycle.cancel))

    def retry(self, job: Job | str, *, check: Check | None = None) -> Job:
        """Run a finished job again as a new job, or a failed one now. A second call makes no second job.

        `check` may refuse the job as it is when it is changed, by raising.
        """
        seen = self.store.find(job)
        if not seen.job.status.finished:
            return self._change(seen.job, _checked_by(check, _due_now))
        if check:
            check(seen.job)
        new_id = keys.new_id()
        new = lifecycle.retry(
            seen.job, self.now(), new_id=new_id, shard=keys.shard_of(new_id, self.settings.shards)
        )
        expression = Expression()
        name = expression.name("retried_by")
        link = self.store.table.action(
            "Update",
            Key=seen.key,
            UpdateExpression=f"SET {name} = {expression.value({'S': new.id})}",
            ConditionExpression=f"attribute_exists(PK) AND attribute_not_exists({name})",
            **expression.parameters(),
        )
        try:
            self.store.table.transact([link, *producing.put_actions(self.store, new)])
            self._telemetry.transition("job retried", new, retry_of=seen.job.id)
            return new
        except Conflict as conflict:
            successor = (conflict.item or {}).get("retried_by", {}).get("S")
        if successor == new.id:
            return new
        if successor is None:
            raise JobNotFound(f"no job {seen.job.id} is stored: it has expired")
        try:
            return self.get(successor)
        except JobNotFound:
            raise JobNotFound(
                f"job {seen.job.id} was retried as {successor}, which is no longer stored"
            ) from None

    def reschedule(
        self,
        job: Job | str,
        *,
        run_at: datetime | None = None,
        delay: timedelta | float | None = None,
        priority: int | None = None,
        before: Job | str | None = None,
    ) -> Job:
        """Move a waiting job to another time or priority, or right ahead of another waiting job."""
        due = producing.due_time(self.now(), run_at, delay)
        if priority is not None:
            producing.checked_whole("priority", priority, 0, 3)
        if before is not None:
            if due is not None or priority is not None:
                raise InvalidJob("before is given together with run_at, delay or priority: give before alone")
            other = self.get(before)
            if other.status not in WAITING:
                raise InvalidTransition(
                    f"job {other.id} is {other.status}: nothing can go before it", job=other
                )
            try:
                due, priority = other.scheduled_for - lifecycle.TICK, other.priority
            except OverflowError:
                raise InvalidJob(f"before is {other.id}: it is due at the first instant there is") from None
        elif due is None and priority is None:
            raise InvalidJob("nothing to change: give run_at, delay, priority or before")
        return self._change(
            job, lambda seen, now: lifecycle.reschedule(seen, now, run_at=due, priority=priority)
        )

    def _change(self, job: Job | str, transition: Callable[[Job, datetime], Job]) -> Job:
        """Read, decide, write on condition of what was read; from the start if it changed meanwhile."""
        for _ in range(MAX_TRIES):
            seen: Stored = self.store.find(job)
            new = transition(seen.job, self.now())
            if new is seen.job:
                return new
            try:
                changed = self.store.replace(seen, new)
                self._telemetry.transition(_said(changed), changed)
                return changed
            except Changed:
                job = seen.job.id
        raise Unavailable(f"job {seen.job.id} changed {MAX_TRIES} times while it was being changed")


def _checked_by(
    check: Check | None, transition: Callable[[Job, datetime], Job]
) -> Callable[[Job, datetime], Job]:
    def checked(job: Job, now: datetime) -> Job:
        if check:
            check(job)
        return transition(job, now)

    return checked


def _due_now(job: Job, now: datetime) -> Job:
    if job.status is not Status.FAILED:
        raise InvalidTransition(
            f"job {job.id} is {job.status}: only a finished or failed job can be retried", job=job
        )
    return lifecycle.reschedule(job, now, run_at=now)


def _said(job: Job) -> str:
    if job.status is Status.CANCELLED:
        return "job cancelled"
    return "cancel requested" if job.cancel_requested else "job rescheduled"
