"""Recording outcomes in groups: runs that end while a write is under way share the next one.

A request costs a Python process more than what is in it. Nobody waits for company: a lone outcome is written
at once, and a group is just who came meanwhile. Each job keeps its own guard; if one fails, all of the group
are written one by one, so that only the one it concerns learns of it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dynajobs.item import Stored
from dynajobs.job import Job
from dynajobs.store import Store

GROUP = 25


@dataclass(slots=True, eq=False)
class _Outcome:
    """An outcome that waits for its write, and the thread that wants to know."""

    seen: Stored
    decide: Callable[[Job], Job]
    turn: threading.Event = field(default_factory=threading.Event)
    recorded: Job | None = None
    alone: bool = False
    """Its group is written; what was not recorded then is written by itself."""


class Finisher:
    """One write at a time for all threads of a worker."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._waiting: deque[_Outcome] = deque()
        self._writing = False

    def settle(
        self, seen: Stored, decide: Callable[[Job], Job], actions: list[dict[str, Any]] | None = None
    ) -> Job:
        """Record an outcome, as `Store.settle` does; with actions of its own it is not shared."""
        if actions:
            return self.store.settle(seen, decide, actions)
        outcome = _Outcome(seen, decide)
        with self._lock:
            self._waiting.append(outcome)
            first, self._writing = not self._writing, True
        if not first:
            outcome.turn.wait()
        if outcome.recorded is None and not outcome.alone:
            self._write()
        return outcome.recorded or self.store.settle(seen, decide)

    def _write(self) -> None:
        """Write for all who wait, the caller first, then let the next one do so."""
        with self._lock:
            group = [self._waiting.popleft() for _ in range(min(len(self._waiting), GROUP))]
        mine, *others = group
        try:
            if others:
                with suppress(Exception):  # whose fault it is shows when each is written by itself
                    self._write_together(group)
            else:
                mine.recorded = self.store.settle(mine.seen, mine.decide)
        finally:
            for each in group:
                each.alone = True
                each.turn.set()
            with self._lock:
                self._writing = bool(self._waiting)
                if self._waiting:
                    self._waiting[0].turn.set()

    def _write_together(self, group: list[_Outcome]) -> None:
        changes = [(each.seen, each.decide(each.seen.job)) for each in group]
        for each, recorded in zip(group, self.store.settle_together(changes), strict=True):
            each.recorded = recorded
