"""The state machine: every transition is a pure function from a job and a moment to the next job.

                 claim               complete
    pending ──────────────▶ in_progress ──────▶ completed
       ▲  │    release, snooze │  ▲  │ │
       └──┼────────────────────┘  │  │ └──────▶ dead_letter   fail at the maximum, discard, never started
          │             claim     │  │ fail
          │                failed ┴──┘
          ▼                  │
      cancelled ◀────────────┘        and from in_progress: cancel before begin; after it, a request

`in_progress` has two halves: *claimed* (a token and a lease, no open run) and *begun* (an open run).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from dynajobs import fault
from dynajobs.errors import InvalidTransition
from dynajobs.fault import Fault
from dynajobs.job import MAX_STORED_RUNS, WAITING, Job, Run, Status
from dynajobs.settings import SKEW

MAX_UNDELIVERED = 20
TICK = timedelta(microseconds=1)


def claimable(job: Job, now: datetime) -> bool:
    """Due and waiting, or in progress under a lease that lapsed longer ago than clocks may differ."""
    if job.status in WAITING:
        return job.scheduled_for <= now
    return job.status is Status.IN_PROGRESS and lapsed(job, now)


def lapsed(job: Job, now: datetime) -> bool:
    """The lease is over, skew allowed for; a job in progress without any lease has lapsed."""
    return job.lock_expires_at is None or now - job.lock_expires_at > SKEW


def claim(job: Job, now: datetime, *, token: str, lease: timedelta, max_attempts: int) -> Job:
    """Take a claimable job. A lapsed lease is settled first, which may end the job instead."""
    if not claimable(job, now):
        raise _refused(job, "claimed")
    if job.status is Status.IN_PROGRESS:
        job = (
            _expire(job, now, max_attempts)
            if job.open_run
            else _undelivered(job, now, "the handler never began")
        )
        if job.status.finished:
            return job
    return _step(job, now, status=Status.IN_PROGRESS, locked_by=token, lock_expires_at=now + lease)


def begin(
    job: Job, now: datetime, *, worker: str, log: dict[str, str] | None, max_attempts: int, until: datetime
) -> Job:
    """Open the run of a claimed job, once per claim."""
    if job.status is not Status.IN_PROGRESS or job.open_run or job.locked_by is None:
        raise _refused(job, "begun")
    run = Run(run_id=job.locked_by, attempt=job.attempts + 1, worker=worker, log=log, started_at=now)
    return _step(
        job,
        now,
        runs=(*job.runs, run),
        lock_expires_at=until,
        max_attempts=job.max_attempts or max_attempts,
    )


def extend(job: Job, now: datetime, *, until: datetime, progress: dict[str, Any] | None = None) -> Job:
    """Renew the lease; the version stays, so that a renewal never looks like a change from outside."""
    if job.status is not Status.IN_PROGRESS:
        raise _refused(job, "renewed")
    return replace(job, lock_expires_at=until, updated_at=now, progress=progress or job.progress)


def release(job: Job, now: datetime, *, status: Status, reason: str, delay: timedelta) -> Job:
    """Give back a claim that could not be handed over; from the second time on, later."""
    if job.status is not Status.IN_PROGRESS or job.open_run:
        raise _refused(job, "released")
    job = _undelivered(job, now, reason)
    if job.status.finished:
        return job
    later = job.scheduled_for if job.undelivered < 2 else now + delay
    return _step(job, now, status=status, scheduled_for=later, **_UNLOCKED)


def complete(
    job: Job, now: datetime, *, result: Any = None, message: str | None = None, details: Any = None
) -> Job:
    """The handler returned normally; a cancel request that came too late changes nothing."""
    return _finish(
        _close(job, now, "completed", message=message, details=details),
        now,
        Status.COMPLETED,
        result=result,
        completed_at=now,
    )


def fail(
    job: Job,
    now: datetime,
    cause: Fault,
    *,
    delay: timedelta,
    message: str | None = None,
    details: Any = None,
) -> Job:
    """The attempt failed: retried later, dead after the last attempt, cancelled if that was asked for."""
    if job.cancel_requested:
        return _cancelled_in_run(job, now, cause, message=message, details=details)
    job = _close(job, now, "failed", message=message, details=details, error=cause.error)
    job = replace(job, attempts=job.attempts + 1, **_noted(cause))
    if job.attempts >= (job.max_attempts or 1):
        return _finish(job, now, Status.DEAD_LETTER)
    return _step(job, now, status=Status.FAILED, scheduled_for=now + delay, **_UNLOCKED)


def snooze(job: Job, now: datetime, *, delay: timedelta) -> Job:
    """Later, and no attempt counted."""
    if job.cancel_requested:
        return _cancelled_in_run(job, now, None, message="snoozed")
    job = _close(job, now, "snoozed")
    return _step(job, now, status=Status.PENDING, scheduled_for=now + delay, **_UNLOCKED)


def discard(job: Job, now: datetime, cause: Fault, *, run_status: str = "discarded") -> Job:
    """Dead letter at once: trying again cannot help."""
    job = _close(job, now, run_status, error=cause.error)
    return _finish(replace(job, **_noted(cause)), now, Status.DEAD_LETTER)


def cancel(job: Job, now: datetime) -> Job:
    """Cancelled if it is not running, a request if it is; the same job if there is nothing left to do."""
    if job.status is Status.CANCELLED or (job.open_run and job.cancel_requested):
        return job
    if job.status.finished:
        raise _refused(job, "cancelled")
    if job.open_run:
        return _step(job, now, cancel_requested=True)
    return _finish(job, now, Status.CANCELLED)


def retry(job: Job, now: datetime, *, new_id: str, shard: int) -> Job:
    """The successor of a finished job, due now."""
    if not job.status.finished:
        raise _refused(job, "retried")
    return Job(
        id=new_id,
        job_type=job.job_type,
        payload=job.payload,
        payload_json=job.payload_json,
        scheduled_for=now,
        priority=job.priority,
        max_attempts=job.max_attempts,
        created_at=now,
        org_id=job.org_id,
        group_id=job.group_id,
        schedule_name=job.schedule_name,
        triggered_by="retry",
        slot=job.slot or (job.dedup_sk if job.schedule_name else None),
        template=job.template,
        retry_of=job.id,
        shard=shard,
        created=True,
    )


def reschedule(
    job: Job, now: datetime, *, run_at: datetime | None = None, priority: int | None = None
) -> Job:
    """Another time, another priority, or both; status and attempts stay."""
    if job.status not in WAITING:
        raise _refused(job, "rescheduled")
    return _step(
        job,
        now,
        scheduled_for=job.scheduled_for if run_at is None else run_at,
        priority=job.priority if priority is None else priority,
    )


_UNLOCKED: dict[str, Any] = {"locked_by": None, "lock_expires_at": None}


def _expire(job: Job, now: datetime, max_attempts: int) -> Job:
    """A begun lease lapsed: that is a failed attempt, so a job that kills its worker ends."""
    cause = fault.from_message(
        job.job_type, "LeaseExpired", "lease expired: the worker stopped without a word"
    )
    if job.cancel_requested:
        return _cancelled_in_run(job, now, cause)
    job = _close(job, now, "expired", error=cause.error)
    job = replace(job, attempts=job.attempts + 1, **_noted(cause))
    if job.attempts >= (job.max_attempts or max_attempts):
        return _finish(job, now, Status.DEAD_LETTER)
    return job


def _undelivered(job: Job, now: datetime, reason: str) -> Job:
    job = replace(job, undelivered=job.undelivered + 1)
    if job.undelivered < MAX_UNDELIVERED:
        return job
    cause = fault.from_message(
        job.job_type, "NeverStarted", f"never started: claimed {job.undelivered} times, {reason}"
    )
    return _finish(replace(job, **_noted(cause)), now, Status.DEAD_LETTER)


def _cancelled_in_run(job: Job, now: datetime, cause: Fault | None, **closing: Any) -> Job:
    job = _close(job, now, "cancelled", error=cause.error if cause else None, **closing)
    return _finish(replace(job, **_noted(cause)) if cause else job, now, Status.CANCELLED)


def _close(job: Job, now: datetime, status: str, **closing: Any) -> Job:
    """Close the open run; of the closed ones the last ten stay in the job."""
    run = job.open_run
    if run is None:
        raise _refused(job, f"closed as {status}")
    closed = (*job.closed_runs, replace(run, status=status, finished_at=now, **closing))
    return replace(job, runs=closed[-MAX_STORED_RUNS:], runs_closed=job.runs_closed + 1)


def _finish(job: Job, now: datetime, status: Status, **changes: Any) -> Job:
    return _step(job, now, status=status, finished_at=now, **_UNLOCKED, **changes)


def _step(job: Job, now: datetime, **changes: Any) -> Job:
    return replace(job, version=job.version + 1, updated_at=now, created=False, **changes)


def _noted(cause: Fault) -> dict[str, Any]:
    return {"last_error": cause.last_error, "fingerprint": cause.fingerprint}


def _refused(job: Job, verb: str) -> InvalidTransition:
    if job.status is Status.IN_PROGRESS:
        state = "running" if job.open_run else "claimed"
    else:
        state = str(job.status)
    return InvalidTransition(f"job {job.id} is {state}: it cannot be {verb}", job=job)
