"""Whether the queue is alive: when a poller last looked, and how long the oldest due job has waited."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from dynajobs import keys
from dynajobs.control import Agreed
from dynajobs.operating.why import silent_for

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

SEARCHED = 200
"""Items of a lane that are looked at for one that waits; those before it run under a lease."""


def health(queue: JobQueue) -> dict[str, Any]:
    """`ok` is false once the poller has been silent for more than two ticks, and before its first."""
    agreed, now = queue.store.control.read(), queue.now()
    oldest = oldest_due(queue, agreed, now)
    return {
        "ok": agreed.looked_at is not None and silent_for(agreed, now) is None,
        "last_tick_at": keys.timestamp(agreed.looked_at) if agreed.looked_at else None,
        "oldest_due_age": (now - oldest).total_seconds() if oldest else None,
    }


def oldest_due(queue: JobQueue, agreed: Agreed, now: datetime) -> datetime | None:
    """Since when the oldest due job has waited, by its key."""
    found: datetime | None = None
    for priority in keys.PRIORITIES:
        for shard in range(agreed.shards):
            lane = queue.store.lane(priority, shard, keys.DUE_PREFIX, keys.due_until(now), limit=25)
            for item in islice(lane, SEARCHED):
                if item.get("status", {}).get("S") not in ("pending", "failed"):
                    continue
                try:
                    due_at = keys.parse_time(keys.parse_due_key(item["SK"]["S"])[0])
                except ValueError:
                    continue
                found = min(found or due_at, due_at)
                break
    return found
