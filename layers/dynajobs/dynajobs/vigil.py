"""One invocation of the poller: a pass over all lanes, then a watch for what falls due while it lasts.

At most one poller watches. It says so in `control`, in promises of some seconds, so that others (a tick, a
wake by the stream) need not; it takes the promise back before its last look, so that nothing falls between.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from dynajobs import keys
from dynajobs.errors import Unavailable
from dynajobs.lanes import OVERLAP
from dynajobs.poller import Pass, Poller
from dynajobs.telemetry import logger

LOOK_AHEAD = timedelta(seconds=70)
"""From one tick to the next, and then some: a tick may come late."""

LOOK_EVERY = timedelta(seconds=0.5)
"""New work that is due earlier than what is waited for starts at most this late."""

PROMISE = timedelta(seconds=10)
RENEW_BEFORE = timedelta(seconds=4)
SHORT_WAIT, FULL_WAIT = timedelta(seconds=0.1), timedelta(seconds=1)
"""Until a poller that met the cap looks again: soon after it found room, else later and later."""

WATCH = "dynajobs.watch"
"""The source of an event by which a poller is woken."""


class Vigil:
    """Passes and looks until nothing is due or coming, another poller watches, or the time is up."""

    def __init__(
        self,
        poller: Poller,
        ends_at: datetime,
        *,
        woken: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.poller = poller
        self.control = poller.queue.store.control
        self.ends_at = ends_at
        self.sleep = sleep
        self._woken = woken
        self.total = Pass()
        self._watcher = keys.new_id()
        self._promised: datetime | None = None
        self._untold: int | None = None
        self._shards = 1
        self._looked_at = self._passed_at = self._now()

    def keep(self) -> Pass:
        """Watch as long as there is something to wait for."""
        try:
            self._keep()
        except Exception:
            with suppress(Exception):
                self._leave()  # or others would rely on it
            raise
        if self._untold is not None:
            self.control.tell_pass(self._passed_at, self._untold)
        return self.total

    def _keep(self) -> None:
        # Who was woken must see what it was woken for, however new.
        found, wait = self._pass(consistent=self._woken), SHORT_WAIT
        while True:
            if not found.waiting and found.coming is None:
                found = self._last_look()
            now = self._now()
            if found.waiting:
                # Short jobs make room soon.
                wait = SHORT_WAIT if found.claimed else min(wait * 2, FULL_WAIT)
            next_at = now + wait if found.waiting else found.coming
            if next_at is None:
                return
            if now + LOOK_EVERY > self.ends_at:
                if self._promised:
                    self._hand_on()
                return
            if not self._watching(now):
                return
            pause = wait if found.waiting else min(max(next_at - now, timedelta(0)), LOOK_EVERY)
            self.sleep(pause.total_seconds())
            try:
                found = self._look(full=bool(found.waiting) or self._pass_due())
            except Unavailable as error:
                logger.warning("poll failed", extra={"reason": str(error)})
                found = Pass(waiting=1)

    def _look(self, *, full: bool) -> Pass:
        found = self._pass() if full else self._glance()
        if found.waiting and not full:
            return self._pass()  # no room by the last count: count anew before it waits
        return found

    def _last_look(self) -> Pass:
        """Nobody was woken for what came while this one seemed awake: it says that it goes, then looks."""
        if self._promised:
            self._leave()
        elif self._woken and self._untold is not None:
            self.control.tell_pass(self._passed_at, self._untold)
            self._untold = None
        else:
            return Pass()
        self._woken = False
        return self._glance(consistent=True)

    def _pass_due(self) -> bool:
        interval = timedelta(seconds=self.poller.settings.poll_interval_seconds)
        return self._now() - self._passed_at >= interval

    def _pass(self, *, consistent: bool = False) -> Pass:
        agreed = self.control.read()
        self._shards = agreed.shards
        self._looked_at = self._passed_at = self._now()
        found = self._counted(self.poller.poll(agreed, ahead=LOOK_AHEAD, consistent=consistent, sharing=True))
        self._untold = self.poller.leases
        return found

    def _glance(self, *, consistent: bool = False) -> Pass:
        since, now = self._looked_at - OVERLAP, self._now()
        found = self.poller.glance(self._shards, since=since, ahead=LOOK_AHEAD, consistent=consistent)
        self._looked_at = now
        return self._counted(found)

    def _counted(self, found: Pass) -> Pass:
        self.total.claimed += found.claimed
        self.total.fired += found.fired
        return found

    def _watching(self, now: datetime) -> bool:
        """Whether it is this poller that watches; the promise is renewed when it is nearly over."""
        if self._promised and self._promised - now > RENEW_BEFORE:
            return True
        until = now + PROMISE
        passed = None if self._untold is None else (self._passed_at, self._untold)
        if not self.control.watch(self._watcher, now, until, passed):
            self._promised = None
            return False
        self._promised, self._untold = until, None
        return True

    def _leave(self) -> None:
        self._promised = None
        self.control.leave(self._watcher)

    def _hand_on(self) -> None:
        """The time is up and something is still to come: another poller goes on."""
        self._leave()
        if self.poller.wake:
            self.poller.wake({"source": WATCH})

    def _now(self) -> datetime:
        return self.poller.queue.now()
