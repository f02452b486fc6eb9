"""What a job is: frozen values and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

MAX_STORED_RUNS = 10


class Status(StrEnum):
    """Where a job is in its life."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    DEAD_LETTER = "dead_letter"
    CANCELLED = "cancelled"

    @property
    def finished(self) -> bool:
        """True for a final status: such a job never runs again."""
        return self in FINISHED


FINISHED = frozenset({Status.COMPLETED, Status.DEAD_LETTER, Status.CANCELLED})
WAITING = frozenset({Status.PENDING, Status.FAILED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One execution of a job. `status`: running completed failed expired snoozed discarded cancelled."""

    run_id: str
    attempt: int
    status: str = "running"
    worker: str | None = None
    log: Mapping[str, str] | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    message: str | None = None
    details: Any = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A job as it was when it was read or written. Values never change; calls return new ones.

    `attempts` counts failed attempts. `runs` are the last ten closed runs and the open one, oldest first.
    `created` is True only on the value returned by the call that created the job.
    """

    id: str
    job_type: str
    payload: dict[str, Any] = field(default_factory=dict)
    status: Status = Status.PENDING
    scheduled_for: datetime
    priority: int = 0
    attempts: int = 0
    max_attempts: int | None = None
    created_at: datetime
    updated_at: datetime | None = None
    finished_at: datetime | None = None
    completed_at: datetime | None = None
    locked_by: str | None = None
    lock_expires_at: datetime | None = None
    last_error: str | None = None
    fingerprint: str | None = None
    result: Any = None
    progress: Mapping[str, Any] | None = None
    cancel_requested: bool = False
    org_id: str | None = None
    group_id: str | None = None
    schedule_name: str | None = None
    triggered_by: str | None = None
    template: str | None = None
    retry_of: str | None = None
    retried_by: str | None = None
    undelivered: int = 0
    version: int = 0
    runs: tuple[Run, ...] = ()
    runs_closed: int = 0
    dedup_pk: str | None = None
    dedup_sk: str | None = None
    slot: str | None = None
    """Of a job that runs a slot of its schedule again: that slot. Its own record is the first job's."""

    waits_for: str | None = None
    """The slot of the same schedule whose run has to be over before this one starts."""

    shard: int = 0
    created: bool = field(default=False, compare=False)
    payload_json: str | None = field(default=None, repr=False, compare=False)
    """The payload exactly as stored, where it is known; what is written back when the job moves."""

    @property
    def open_run(self) -> Run | None:
        """The run under way; None while the job waits or is claimed but not begun."""
        return self.runs[-1] if self.runs and self.runs[-1].status == "running" else None

    @property
    def closed_runs(self) -> tuple[Run, ...]:
        """The stored runs that have ended (the last ten), oldest first."""
        return self.runs[:-1] if self.open_run else self.runs


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """One page of a list. Iterate over it; pass `cursor` to the same call for the next page."""

    jobs: tuple[Job, ...] = ()
    runs: tuple[Any, ...] = ()
    cursor: str | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.jobs or self.runs)

    def __len__(self) -> int:
        return len(self.jobs or self.runs)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stats:
    """Counts over the table; `truncated` says that counting stopped before the end to save reads."""

    by_status: Mapping[str, int]
    by_type: Mapping[str, int]
    oldest_due_age: timedelta | None
    truncated: bool
