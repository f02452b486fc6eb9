"""Firing due slots without claiming anything, and reading a schedule's history in short."""

from datetime import UTC, datetime
from typing import Any

from dynajobs import JobQueue
from dynajobs.firing import Scheduler
from dynajobs.item import Item
from dynajobs.telemetry import Telemetry
from tests.support.table import all_items

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
"""Where the clock of the tests starts."""


def at(hour: int, minute: int = 0, second: float = 0, *, day: int = 1) -> datetime:
    """An instant of January 2026."""
    whole = int(second)
    return datetime(2026, 1, day, hour, minute, whole, round((second - whole) * 1e6), tzinfo=UTC)


def fire(queue: JobQueue) -> int:
    """What a tick does about schedules: how many jobs it made."""
    return Scheduler(queue, Telemetry(queue.settings)).look(queue.now())


def history(queue: JobQueue, name: str = "s") -> list[tuple[Any, ...]]:
    """The runs of a schedule, newest first, by slot, outcome, what triggered them and how many they are."""
    runs = queue.schedules.runs(name, limit=200)
    return [(run.scheduled_for, run.outcome, run.triggered_by, run.count) for run in runs]


def slot_records(queue: JobQueue, name: str = "s") -> list[Item]:
    return all_items(queue, f"scheduled-job#schedule#{name}")
