"""Every key, prefix and timestamp format of the table, and the ids that go into them."""

from __future__ import annotations

import os
import re
import threading
import time
from datetime import UTC, date, datetime
from uuid import UUID, uuid5

PRIORITIES = (3, 2, 1, 0)
CONTROL = "control"
SCHEDULE = "schedule"
SCHEDULE_DUE = "schedule-due"
TEMPLATE = "template"
DUE_PREFIX = "scheduled#"
DUE_END = "scheduled$"
"""'$' follows '#': greater than every sort key of a live job."""

RUN_PREFIX = "run#"
ACTIVE = "active"
INVALID_TYPE = "invalid"
_NAMESPACE = UUID("8a3f6f0e-5f1c-5c5e-9f0b-6a1d1e0b7c11")
_LANE = re.compile(r"job(?:#p(?P<priority>[1-3]))?(?:#s(?P<shard>[1-9]\d*))?")


def timestamp(moment: datetime) -> str:
    """UTC, fixed width, so that text order is time order (`isoformat` alone drops zero microseconds)."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


def parse_time(text: str) -> datetime:
    """Any ISO 8601 form of an instant; ValueError without an offset or without sense."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no UTC offset")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} is outside the years 1..9999") from error


def lane(priority: int, shard: int) -> str:
    """The partition of live jobs of one priority and shard."""
    return "job" + (f"#p{priority}" if priority else "") + (f"#s{shard}" if shard else "")


def parse_lane(pk: str) -> tuple[int, int]:
    """Priority and shard of a lane's partition key."""
    match = _LANE.fullmatch(pk)
    if not match:
        raise ValueError(f"{pk!r} is no lane")
    return int(match["priority"] or 0), int(match["shard"] or 0)


def due_key(scheduled_for: datetime, job_id: str) -> str:
    """The sort key of a live job."""
    return f"{DUE_PREFIX}{timestamp(scheduled_for)}#{job_id}"


def due_from(moment: datetime) -> str:
    """The least sort key due at `moment`."""
    return f"{DUE_PREFIX}{timestamp(moment)}"


def due_until(moment: datetime) -> str:
    """The greatest sort key due at `moment`: '$' follows '#', so a job due exactly then is inside."""
    return f"{DUE_PREFIX}{timestamp(moment)}$"


def parse_due_key(sk: str) -> tuple[str, str]:
    """The time's text and the id's text of a live sort key, unchecked; either may be empty."""
    time_text, _, id_text = sk.removeprefix(DUE_PREFIX).rpartition("#")
    return (time_text, id_text) if time_text else (id_text, "")


def job_partition(job_id: str) -> str:
    """The partition of a finished job and its older runs, and the index key of a live one."""
    return f"job-id#{job_id}"


def run_key(sequence: int) -> str:
    """The sort key of the sequence-th closed run of a job, moved out of the job's item."""
    return f"{RUN_PREFIX}{sequence:06d}"


def done_partition(status: str, job_type: str, shard: int) -> str:
    """The index partition of finished jobs of one status and type."""
    return f"done#{status}#{job_type}" + (f"#s{shard}" if shard else "")


def done_key(finished_at: datetime, job_id: str) -> str:
    """The index sort key of a finished job."""
    return f"{timestamp(finished_at)}#{job_id}"


def dedup_partition(key: str) -> str:
    """The partition of a dedup record."""
    return f"scheduled-job#{key}"


def slots_partition(schedule: str) -> str:
    """The partition of a schedule's slots, its run history."""
    return dedup_partition(f"schedule#{schedule}")


def audit_partition(day: date) -> str:
    """The partition of one day's audit records."""
    return f"audit#{day.isoformat()}"


def bulk_partition() -> str:
    """Where the moments of bulk calls are remembered."""
    return "audit#bulk"


def slot_key(moment: datetime, suffix: str = "") -> str:
    """A slot's sort key; with a suffix that of a run between slots, or in the index of a schedule."""
    return timestamp(moment) + (f"#{suffix}" if suffix else "")


def parse_slot_key(sk: str) -> datetime:
    """The instant of a slot's key."""
    return parse_time(sk.partition("#")[0])


def canonical_id(text: str) -> str | None:
    """The id in its one written form, or None if it is no UUID."""
    try:
        canonical = str(UUID(text))
    except ValueError:
        return None
    # UUID() also takes braces, underscores and dashes in odd places.
    return canonical if canonical == text.lower() else None


def derived_id(pk: str, sk: str) -> str:
    """The id of an item whose key has none, or whose own id is taken."""
    return str(uuid5(_NAMESPACE, pk + sk))


def shard_of(job_id: str, shards: int) -> int:
    """Which of `shards` lanes a new job goes to; its random bits decide."""
    return UUID(job_id).int % shards


_id_lock = threading.Lock()
_last_id = 0


def new_id() -> str:
    """A UUIDv7, greater than every one this process made before: equal times order by creation."""
    global _last_id
    random = int.from_bytes(os.urandom(10), "big")
    fresh = (time.time_ns() // 1_000_000) << 74 | (random & ((1 << 73) - 1))
    with _id_lock:
        # Same millisecond, or the clock went back: count on from the last one by a random step.
        _last_id = fresh if fresh >> 74 > _last_id >> 74 else _last_id + 1 + (random & 0xFFFFFFFF)
        value = _last_id
    high, low = value >> 62, value & ((1 << 62) - 1)
    return str(UUID(int=(high >> 12) << 80 | 0x7 << 76 | (high & 0xFFF) << 64 | 0b10 << 62 | low))
