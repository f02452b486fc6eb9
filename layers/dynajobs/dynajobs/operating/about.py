"""Where an operator is, and what is set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynajobs import keys
from dynajobs.version import VERSION

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

_SHOWN = (
    "enabled",
    "scheduler_enabled",
    "max_attempts",
    "retention_days",
    "max_in_flight",
    "lease_seconds",
    "audit_days",
    "shards",
)


def about(queue: JobQueue) -> dict[str, Any]:
    """Names, versions, the job types that are known, and the settings that matter to operators."""
    settings, agreed = queue.settings, queue.store.control.read()
    told = agreed.poller
    return {
        "table": settings.table,
        "region": queue.store.table.client.meta.region_name or "",
        "environment": settings.environment,
        "version": VERSION,
        "now": keys.timestamp(queue.now()),
        "job_types": list(agreed.job_types),
        "handled": sorted(told.job_types) if told else None,
        "last_tick_at": keys.timestamp(agreed.looked_at) if agreed.looked_at else None,
        "settings": {name: getattr(settings, name) for name in _SHOWN},
    }
