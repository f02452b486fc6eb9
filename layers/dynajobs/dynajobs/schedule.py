"""What a schedule and one of its runs are: frozen values and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """A recurring job as it was when it was read. `next_run_at` is None while it is disabled.

    `success_rate` (0..1), `average_duration` and `max_duration` are over the last 50 finished runs, and None
    if there are none. `warnings` tell of coming slots that a change of clocks shifts or merges.
    """

    name: str
    cron: str
    job_type: str | None = None
    template: str | None = None
    param_overrides: Mapping[str, Any] | None = None
    timezone: str = "UTC"
    payload: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    enabled: bool = True
    priority: int = 0
    max_attempts: int | None = None
    catchup: str = "latest"
    catchup_window: timedelta = timedelta(days=1)
    overlap: str = "allow"
    next_run_at: datetime | None = None
    last_run_at: datetime | None = None
    last_success_at: datetime | None = None
    total_runs: int = 0
    success_rate: float | None = None
    average_duration: timedelta | None = None
    max_duration: timedelta | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleRun:
    """One slot of a schedule, or a gap of `count` missed ones whose last is `scheduled_for`.

    `triggered_by`: scheduler manual catchup backfill. `outcome`: queued running completed failed dead_letter
    cancelled missed skipped.
    """

    scheduled_for: datetime
    triggered_by: str
    outcome: str
    job_id: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    duration: timedelta | None = None
    success: bool | None = None
    message: str | None = None
    details: Any = None
    count: int = 1
