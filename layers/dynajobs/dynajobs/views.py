"""Jobs, schedules and counts as the JSON that people and programs are shown, secrets masked."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from dynajobs import keys
from dynajobs.cron import describe
from dynajobs.job import Job, Page, Run, Stats
from dynajobs.jsons import dump_json
from dynajobs.redact import mask, mask_json, mask_text
from dynajobs.schedule import Schedule, ScheduleRun
from dynajobs.settings import Settings

if TYPE_CHECKING:
    from dynajobs.control import Reservation
    from dynajobs.templates import Template


def job_view(job: Job, settings: Settings, *, detail: bool = False) -> dict[str, Any]:
    """A job; in detail with `payload_json`, the stored text as it is except for what is secret in it."""
    extra = settings.redact
    view = {
        "id": job.id,
        "job_type": job.job_type,
        "payload": _shown(job.payload, extra),
        "status": job.status.value,
        "scheduled_for": keys.timestamp(job.scheduled_for),
        "priority": job.priority,
        "attempts": job.attempts,
        "max_attempts": job.max_attempts,
        "created_at": keys.timestamp(job.created_at),
        "updated_at": _time(job.updated_at),
        "finished_at": _time(job.finished_at),
        "completed_at": _time(job.completed_at),
        "locked_by": job.locked_by,
        "lock_expires_at": _time(job.lock_expires_at),
        "last_error": job.last_error,
        "result": _shown(job.result, extra),
        "progress": _shown(job.progress, extra),
        "cancel_requested": job.cancel_requested,
        "org_id": job.org_id,
        "group_id": job.group_id,
        "schedule_name": job.schedule_name,
        "triggered_by": job.triggered_by,
        "template": job.template,
        "retry_of": job.retry_of,
        "retried_by": job.retried_by,
        "undelivered": job.undelivered,
        "version": job.version,
        "runs": [_run_view(run, extra) for run in job.runs],
        "created": job.created,
        "fingerprint": job.fingerprint,
        "dedup_key": job.dedup_pk
        and dedup_key_view(job.dedup_pk.removeprefix(keys.dedup_partition("")), extra),
        "dedup_window": job.dedup_sk,
    }
    if detail:
        text = dump_json(job.payload) if job.payload_json is None else job.payload_json
        view["payload_json"] = mask_json(text, extra)
    return view


def page_view(page: Page, settings: Settings) -> dict[str, Any]:
    """One page of a list of jobs."""
    return {"jobs": [job_view(job, settings) for job in page.jobs], "cursor": page.cursor}


def stats_view(stats: Stats) -> dict[str, Any]:
    """Counts over the table; the age is in seconds."""
    return {
        "by_status": dict(stats.by_status),
        "by_type": dict(stats.by_type),
        "oldest_due_age": _seconds(stats.oldest_due_age),
        "truncated": stats.truncated,
    }


def schedule_view(schedule: Schedule, settings: Settings) -> dict[str, Any]:
    """A schedule; lengths of time are in seconds, `cron_words` is None where words might mislead."""
    extra = settings.redact
    return {
        "name": schedule.name,
        "description": schedule.description,
        "enabled": schedule.enabled,
        "cron": schedule.cron,
        "cron_words": describe(schedule.cron),
        "timezone": schedule.timezone,
        "job_type": schedule.job_type,
        "payload": _shown(dict(schedule.payload), extra),
        "template": schedule.template,
        "param_overrides": _shown(schedule.param_overrides and dict(schedule.param_overrides), extra),
        "priority": schedule.priority,
        "max_attempts": schedule.max_attempts,
        "catchup": schedule.catchup,
        "catchup_window": schedule.catchup_window.total_seconds(),
        "overlap": schedule.overlap,
        "next_run_at": _time(schedule.next_run_at),
        "last_run_at": _time(schedule.last_run_at),
        "last_success_at": _time(schedule.last_success_at),
        "total_runs": schedule.total_runs,
        "success_rate": schedule.success_rate,
        "average_duration": _seconds(schedule.average_duration),
        "max_duration": _seconds(schedule.max_duration),
        "warnings": list(schedule.warnings),
    }


def runs_view(page: Page, settings: Settings) -> dict[str, Any]:
    """One page of a schedule's history."""
    return {
        "runs": [_schedule_run_view(run, settings.redact) for run in page.runs],
        "cursor": page.cursor,
    }


def run_strip(runs: Iterable[ScheduleRun]) -> list[dict[str, Any]]:
    """The latest runs of a schedule in short, newest first."""
    return [
        {
            "scheduled_for": keys.timestamp(run.scheduled_for),
            "outcome": run.outcome,
            "triggered_by": run.triggered_by,
            "count": run.count,
            "job_id": run.job_id,
            "duration": _seconds(run.duration),
        }
        for run in runs
    ]


def template_view(template: Template, settings: Settings) -> dict[str, Any]:
    """A template."""
    return {
        "name": template.name,
        "job_type": template.job_type,
        "payload": _shown(dict(template.payload), settings.redact),
        "priority": template.priority,
        "max_attempts": template.max_attempts,
        "description": template.description,
        "used_by": list(template.used_by),
    }


def reservation_view(held: Reservation | None) -> dict[str, Any]:
    """The last reservation; every value is None if there never was one."""
    if held is None:
        return dict.fromkeys(("by", "status", "since", "until", "released_at", "in_flight"))
    return {
        "by": held.by,
        "status": held.status,
        "since": keys.timestamp(held.since),
        "until": keys.timestamp(held.until),
        "released_at": _time(held.released_at),
        "in_flight": held.in_flight,
    }


def _schedule_run_view(run: ScheduleRun, extra: Collection[str]) -> dict[str, Any]:
    return {
        "scheduled_for": keys.timestamp(run.scheduled_for),
        "outcome": run.outcome,
        "triggered_by": run.triggered_by,
        "count": run.count,
        "job_id": run.job_id,
        "duration": _seconds(run.duration),
        "started_at": _time(run.started_at),
        "finished_at": _time(run.finished_at),
        "success": run.success,
        "message": run.message,
        "details": _shown(run.details, extra),
    }


def _run_view(run: Run, extra: Collection[str]) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "attempt": run.attempt,
        "worker": run.worker,
        "log": dict(run.log) if run.log else None,
        "started_at": _time(run.started_at),
        "finished_at": _time(run.finished_at),
        "status": run.status,
        "message": run.message,
        "details": _shown(run.details, extra),
        "error": run.error,
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else keys.timestamp(moment)


def _seconds(span: timedelta | None) -> float | None:
    return None if span is None else span.total_seconds()


def dedup_key_view(key: str, extra: Collection[str] = ()) -> str:
    """A dedup key; `make_dedup_key` writes the payload into it."""
    *about, last = key.split("::", 2)
    return "::".join([*about, mask_text(last, extra)])


def _shown(value: Any, extra: Collection[str]) -> Any:
    return _finite(_texts(mask(value, extra), extra))


def _texts(value: Any, extra: Collection[str]) -> Any:
    """Texts may be JSON themselves: what was cut, and what nobody could understand."""
    if isinstance(value, str):
        return mask_text(value, extra)
    if isinstance(value, dict):
        return {name: _texts(inner, extra) for name, inner in value.items()}
    return [_texts(inner, extra) for inner in value] if isinstance(value, list) else value


def _finite(value: Any) -> Any:
    """Without the infinities that Python makes of numbers such as 1e999: JSON cannot be written with them."""
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
