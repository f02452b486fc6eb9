"""Holding on to a job while it runs: the lease, its renewals, and what they bring back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from dynajobs import lifecycle
from dynajobs.errors import DynajobsError, LeaseLost
from dynajobs.item import Stored
from dynajobs.settings import SKEW
from dynajobs.store import Store
from dynajobs.telemetry import logger


def lease_end(now: datetime, length: timedelta, deadline: datetime | None) -> datetime:
    """A lease never outlives the Lambda that holds it by more than clocks may differ."""
    return now + length if deadline is None else min(now + length, deadline + SKEW)


class Lease:
    """The hold of this process on one begun job. Renewals and the end exclude each other."""

    def __init__(
        self, store: Store, seen: Stored, now: Callable[[], datetime], deadline: datetime | None = None
    ) -> None:
        self.seen = seen
        self.lost = False
        self.progress: dict[str, Any] | None = None
        self.deadline = deadline
        self._store = store
        self._now = now
        self._length = store.settings.lease
        self._lock = threading.Lock()
        self._closed = False
        self._renew_at = self._next()

    def _next(self) -> float:
        return time.monotonic() + self._length.total_seconds() / 3

    @property
    def renewal_due(self) -> bool:
        """A third of the lease has passed since it was last renewed."""
        return time.monotonic() >= self._renew_at

    def renew(self) -> None:
        """Extend the lease, carry progress out and cancel requests in; `LeaseLost` if it is gone."""
        with self._lock:
            if self._closed:
                return
            now = self._now()
            until = lease_end(now, self._length, self.deadline)
            try:
                new = lifecycle.extend(self.seen.job, now, until=until, progress=self.progress)
                self.seen = self._store.renew(self.seen, new)
            except LeaseLost:
                self.lost = True
                raise
            self._renew_at = self._next()

    def close(self) -> Stored:
        """No renewal after this one; the job as last seen."""
        with self._lock:
            self._closed = True
            return self.seen


class Renewer:
    """One thread that renews every open lease of this process when a third of it has passed."""

    def __init__(self, lease: timedelta) -> None:
        self._interval = lease.total_seconds() / 12
        self._leases: set[Lease] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, lease: Lease) -> None:
        with self._lock:
            self._leases.add(lease)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="dynajobs-renewer", daemon=True)
                self._thread.start()

    def remove(self, lease: Lease) -> None:
        with self._lock:
            self._leases.discard(lease)

    def _run(self) -> None:
        # An event nobody sets, not time.sleep: whoever replaces that one in a test must not end this thread.
        pause = threading.Event()
        while not pause.wait(self._interval):
            self.renew_due()

    def renew_due(self) -> None:
        """Renew what is due now; a failure is logged and tried again at the next round."""
        with self._lock:
            due = [lease for lease in self._leases if lease.renewal_due]
        for lease in due:
            try:
                lease.renew()
            except LeaseLost:
                self.remove(lease)
            except DynajobsError as error:
                logger.warning("lease not renewed", extra={"job_id": lease.seen.job.id, "reason": str(error)})
