"""One operator at one queue: everything that can be asked or done, answered as JSON."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from dynajobs import keys, reservation
from dynajobs.operating.about import about
from dynajobs.operating.audit import Actor, Audit
from dynajobs.operating.health import health
from dynajobs.operating.jobs import Jobs
from dynajobs.operating.schedules import Schedules
from dynajobs.operating.telling import told
from dynajobs.operating.templates import Templates
from dynajobs.views import reservation_view, stats_view

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

View = dict[str, Any]


class Operator:
    """What the API serves and the command line shows."""

    def __init__(self, queue: JobQueue, actor: Actor) -> None:
        self._queue = queue
        self._audit = Audit(queue, actor)
        self.jobs = Jobs(queue, self._audit)
        self.schedules = Schedules(queue, self._audit)
        self.templates = Templates(queue, self._audit)

    def stats(self) -> View:
        """Counts by state and type, and how long the oldest due job has waited."""
        return stats_view(self._queue.stats())

    def health(self) -> View:
        """Whether the poller ticked lately, and what waits."""
        return health(self._queue)

    def about(self) -> View:
        """Where this is, and what is set."""
        return about(self._queue)

    def audit(self, limit: int = 50, cursor: str | None = None) -> View:
        """One page of what was changed by whom, newest first."""
        return self._audit.list(limit, cursor)

    def tick(self, poll: Callable[[], View]) -> View:
        """Have the poller look now, and wait for it."""
        with self._audit.of("tick", "poller") as details:
            done = poll()
            details |= {name: int(done.get(name, 0)) for name in ("claimed", "fired")}
        return {"ok": True, **details}

    def refused(self, action: str, target: str, outcome: str) -> None:
        """Write down what was not even tried."""
        self._audit.record(action, target, outcome)

    def reservation(self) -> View:
        """Who has, or last had, the queue to themselves."""
        return reservation_view(self._queue.reservation())

    def reserve(self, by: str, ttl: timedelta | float = timedelta(minutes=5)) -> View:
        """Let nothing new start; the answer's `token` ends it."""
        token = keys.new_id()
        with self._audit.of("reservation.take", by, **told({"ttl": ttl})):
            held = reservation.take(self._queue, by, ttl, token)
        return reservation_view(held) | {"token": token}

    def release(self, token: str | None = None) -> View:
        """End a reservation, by its token or whoever's it is."""
        with self._audit.of("reservation.release", "reservation") as details:
            details["released"] = reservation.release(self._queue, token)
        return self.reservation()
