"""What becomes of the due slots of a schedule: run on time, caught up with, or missed. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, takewhile

from dynajobs.cron import Cron

GRACE = timedelta(minutes=5)
"""A slot that is no later than this still counts as on time."""

MOST_CAUGHT_UP = 100
"""Slots that one tick catches up with; the next one goes on from there."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Slots one after the other that are not run."""

    last: datetime
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One transaction: a gap to record, a slot to run, and the slot the schedule goes on with."""

    next_run_at: datetime
    slot: datetime | None = None
    triggered_by: str = "scheduler"
    missed: Gap | None = None


def due_steps(
    cron: Cron, next_run_at: datetime, now: datetime, *, catchup: str, window: timedelta
) -> Iterator[Step]:
    """What to do about everything due from `next_run_at` to `now`, oldest first.

    `latest` runs only the last due slot, `all` each one, `none` only one that is on time; what is older than
    the window is missed in any case.
    """
    due = chain([next_run_at], takewhile(lambda slot: slot <= now, cron.runs(next_run_at)))
    steps = _every(due, cron, now, window) if catchup == "all" else _last(due, cron, now, catchup, window)
    return steps if next_run_at <= now else iter(())


def _every(due: Iterator[datetime], cron: Cron, now: datetime, window: timedelta) -> Iterator[Step]:
    slot: datetime | None = next(due)
    gap: Gap | None = None
    fired = 0
    while slot is not None and fired < MOST_CAUGHT_UP:
        following = next(due, None)
        on_time = following is None and now - slot <= GRACE
        if not on_time and now - slot > window:
            gap = Gap(slot, gap.count + 1 if gap else 1)
        else:
            yield Step(
                next_run_at=following or cron.after(now),
                slot=slot,
                triggered_by="scheduler" if on_time else "catchup",
                missed=gap,
            )
            gap, fired = None, fired + 1
        slot = following
    if gap:
        yield Step(next_run_at=cron.after(now), missed=gap)


def _last(
    due: Iterator[datetime], cron: Cron, now: datetime, catchup: str, window: timedelta
) -> Iterator[Step]:
    before, last, count = None, next(due), 1
    for slot in due:
        before, last, count = last, slot, count + 1
    on_time = now - last <= GRACE
    next_run_at = cron.after(now)
    if on_time or (catchup == "latest" and now - last <= window):
        missed = Gap(before, count - 1) if before else None
        triggered_by = "scheduler" if on_time else "catchup"
        yield Step(next_run_at=next_run_at, slot=last, triggered_by=triggered_by, missed=missed)
    else:
        yield Step(next_run_at=next_run_at, missed=Gap(last, count))
