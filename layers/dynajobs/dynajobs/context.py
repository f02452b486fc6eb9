"""What a handler knows about its job and may tell about it while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from dynajobs import keys
from dynajobs.errors import InvalidJob
from dynajobs.job import Job
from dynajobs.jsons import cut_text, exact
from dynajobs.lease import Lease

MAX_ACTIONS = 90
_MAX_MESSAGE = 1024


class JobContext:
    """The running job, as its handler sees it."""

    def __init__(
        self,
        lease: Lease,
        started_at: datetime,
        now: Callable[[], datetime],
        previous_success: Callable[[Job], datetime | None] = lambda _: None,
    ) -> None:
        self._lease = lease
        self._now = now
        self._previous_success = previous_success
        self.job: Job = lease.seen.job
        self.attempt: int = self.job.attempts + 1
        self.scheduled_for: datetime = _slot(self.job) or self.job.scheduled_for
        self.late_by: timedelta = max(started_at - self.job.scheduled_for, timedelta(0))
        self.actions: list[dict[str, Any]] = []
        self.result: Any = None

    @cached_property
    def previous_success(self) -> datetime | None:
        """When the schedule of this job last succeeded; read when it is first asked for."""
        return self._previous_success(self.job)

    @property
    def cancelled(self) -> bool:
        """Somebody asked this job to stop; known since the last renewal or heartbeat."""
        return self._lease.seen.job.cancel_requested

    @property
    def remaining(self) -> timedelta | None:
        """How long until the Lambda is stopped; None outside Lambda."""
        return None if self._lease.deadline is None else self._lease.deadline - self._now()

    def heartbeat(self) -> None:
        """Renew the lease now; `LeaseLost` if another worker has the job: stop then."""
        self._lease.renew()

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Say how far the job is; shown to operators from the next renewal on."""
        found = {
            "done": done,
            "total": total,
            "message": None if message is None else cut_text(message, _MAX_MESSAGE),
        }
        exact(found, "progress")
        self._lease.progress = {name: value for name, value in found.items() if value is not None}

    def complete_with(self, actions: Sequence[dict[str, Any]], result: Any = None) -> None:
        """Write these `TransactItems` in the transaction that completes the job, once the handler returns.

        If one of their conditions fails, none is written and the attempt has failed.
        """
        if len(self.actions) + len(actions) > MAX_ACTIONS:
            raise InvalidJob(
                f"complete_with got {len(self.actions) + len(actions)} actions: at most {MAX_ACTIONS}"
            )
        self.actions.extend(actions)
        if result is not None:
            self.result = result


def _slot(job: Job) -> datetime | None:
    """The slot of a scheduled job: it stays what it was when the job itself is moved to a later time."""
    slot = job.slot or job.dedup_sk
    if job.schedule_name is None or slot is None:
        return None
    with suppress(ValueError):
        return keys.parse_slot_key(slot)
    return None
