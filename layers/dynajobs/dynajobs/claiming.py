"""What every claimer does alike, poller or worker: the wait after a failure, the telling of a claim."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from dynajobs.backoff import Backoff, BackoffPolicy
from dynajobs.job import Job, Status
from dynajobs.telemetry import Telemetry, logger

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue
    from dynajobs.registry import Handler


def backoff_delay(
    queue: JobQueue, attempts: int, jitter: float, policy: BackoffPolicy | None = None
) -> timedelta:
    """The wait after the attempts-th failure; a policy that misbehaves gives way to the default."""
    settings = queue.settings
    default = Backoff(settings.base_delay_seconds, settings.max_delay_seconds, settings.jitter)
    if policy is None or isinstance(policy, Backoff):
        return (policy or default).delay(attempts, random=jitter)
    try:
        delay = policy(attempts)
        if isinstance(delay, timedelta) and timedelta(0) <= delay <= timedelta(days=366):
            return delay
        raise ValueError(f"backoff returned {delay!r}: it must be a timedelta from 0 to 366 days")
    except Exception as error:  # noqa: BLE001 - the job must not be lost because its backoff is broken
        logger.warning("backoff ignored", extra={"reason": f"{type(error).__name__}: {error}"})
        return default.delay(attempts, random=jitter)


def report_claim(telemetry: Telemetry, seen: Job, job: Job, handler: Handler | None = None) -> None:
    """Tell of a claim, and of the lapsed lease it settled.

    Without the handler nobody knows which fields of the payload are secret, so none is told.
    """
    known: dict[str, Any] = {"payload": job.payload, "model": handler.model} if handler else {}
    if job.runs_closed > seen.runs_closed:
        telemetry.transition("lease expired", job, level=logging.WARNING)
        telemetry.failure(job, None, message=job.closed_runs[-1].error, **known)
    elif job.status is Status.DEAD_LETTER:
        telemetry.failure(job, None, message=job.last_error, **known)
    telemetry.transition("job claimed" if not job.status.finished else f"job {job.status}", job, **known)
