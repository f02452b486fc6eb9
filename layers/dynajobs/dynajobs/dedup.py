"""The dedup record of a job: one item per key and window that points at the job and outlives it."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from dynajobs import keys
from dynajobs.dynamo import NEW, Expression, Table
from dynajobs.errors import InvalidJob
from dynajobs.item import Item, Stored, job_key
from dynajobs.job import Job
from dynajobs.jsons import dump_json
from dynajobs.settings import Settings

MIN_RETENTION = timedelta(days=30)
MAX_KEY_BYTES = 1024
MAX_WINDOW_BYTES = 256
_MAX_PK_BYTES, _MAX_SK_BYTES = 2048, 1024


def make_dedup_key(job_type: str, org_id: str | None, payload: dict[str, Any] | None = None) -> str:
    """A key that is equal for equal work: `<type>::<org|global>::<sorted-json>`, hashed if it grows too long.

    >>> make_dedup_key("sync", None, {"b": 1, "a": 2})
    'sync::global::{"a":2,"b":1}'
    """
    import hashlib
    import json

    text = json.dumps(
        payload or {}, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    key = f"{job_type}::{org_id or 'global'}::{text}"
    if len(key.encode()) > MAX_KEY_BYTES:
        key = f"{job_type}::{org_id or 'global'}::sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    return key


def checked_key(key: object) -> str:
    """A dedup key a caller may use, or `InvalidJob`."""
    _check_text("dedup_key", key, MAX_KEY_BYTES)
    assert isinstance(key, str)
    if key.startswith("schedule#"):
        raise InvalidJob(f"dedup_key is {key!r}: keys that start with 'schedule#' are reserved for schedules")
    return key


def checked_window(window: object) -> str:
    """The sort key of a window: `active`, a label, a date, or an instant."""
    if isinstance(window, datetime):
        if window.utcoffset() is None:
            raise InvalidJob(f"dedup_window is {window!r}: give the datetime a time zone")
        try:
            return keys.timestamp(window)
        except OverflowError:
            raise InvalidJob(f"dedup_window is {window!r}: it must be in the years 1 to 9999") from None
    if isinstance(window, date):
        return window.isoformat()
    _check_text("dedup_window", window, MAX_WINDOW_BYTES)
    assert isinstance(window, str)
    return window


def _check_text(name: str, value: object, most: int) -> None:
    if not isinstance(value, str):
        raise InvalidJob(f"{name} is {value!r}: it must be a string of 1 to {most} bytes")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidJob(f"{name} is {value!r}: it cannot be written as UTF-8") from None
    if not 1 <= size <= most:
        raise InvalidJob(f"{name} has {size} bytes: it must have 1 to {most}")
    if any(ord(character) < 32 or 127 <= ord(character) < 160 for character in value):
        raise InvalidJob(f"{name} is {value!r}: control characters are not allowed")


def record(job: Job) -> Item:
    """The record that a job of this key and window is there."""
    key = job_key(job)
    assert job.dedup_pk is not None and job.dedup_sk is not None
    return {
        "PK": {"S": job.dedup_pk},
        "SK": {"S": job.dedup_sk},
        "job_pk": key["PK"],
        "job_sk": key["SK"],
        "job_id": {"S": job.id},
        "created_at": {"S": keys.timestamp(job.created_at)},
        **({"triggered_by": {"S": job.triggered_by}} if job.triggered_by else {}),
    }


def on_create(table: Table, job: Job, replacing: Item | None = None) -> dict[str, Any]:
    """Put the record if there is none, or over one whose target is gone, if it still is what was seen."""
    if replacing is None:
        return table.action("Put", Item=record(job), ConditionExpression=NEW)
    expression = Expression()
    condition = expression.as_seen(replacing, "job_id", "job_pk", "job_sk", "outcome")
    return table.action("Put", Item=record(job), ConditionExpression=condition, **expression.parameters())


def on_change(table: Table, seen: Stored, new: Job, settings: Settings) -> dict[str, Any] | None:
    """What a job's change means for its record: deleted, closed with the outcome, repointed, or nothing."""
    pk, sk = seen.job.dedup_pk, seen.job.dedup_sk
    if not pk or not sk or not _is_record_key(pk, sk):
        return None
    expression = Expression()
    condition = f"{expression.name('job_id')} = {expression.value({'S': seen.job.id})}"
    target: dict[str, Any] = {"Key": {"PK": {"S": pk}, "SK": {"S": sk}}, "ConditionExpression": condition}
    if not new.status.finished:
        key = job_key(new)
        if key == seen.key:
            return None
        change = expression.difference({}, {"job_pk": key["PK"], "job_sk": key["SK"]})
    elif sk == keys.ACTIVE:
        return table.action("Delete", **target, **expression.parameters())
    else:
        change = expression.difference({}, _outcome(new, settings))
    return table.action("Update", UpdateExpression=change, **target, **expression.parameters())


def record_lifetime(settings: Settings) -> timedelta:
    """For so long after its end a record is kept."""
    return max(timedelta(days=settings.retention_days), MIN_RETENTION)


def _is_record_key(pk: str, sk: str) -> bool:
    """False for what an item written by hand may claim: a foreign key, or one that DynamoDB refuses."""
    fits = len(pk.encode()) <= _MAX_PK_BYTES and len(sk.encode()) <= _MAX_SK_BYTES
    return fits and pk.startswith(keys.dedup_partition(""))


def _outcome(job: Job, settings: Settings) -> Item:
    assert job.finished_at is not None
    keep = record_lifetime(settings)
    found: Item = {
        "outcome": {"S": job.status.value},
        "finished_at": {"S": keys.timestamp(job.finished_at)},
        settings.ttl_attribute: {"N": str(int(job.finished_at.timestamp() + keep.total_seconds()))},
    }
    # A job that ended while it waited did not end with its last run.
    if job.schedule_name and job.runs and job.runs[-1].finished_at == job.finished_at:
        run = job.runs[-1]
        if run.started_at:
            found["started_at"] = {"S": keys.timestamp(run.started_at)}
        if run.message or run.error:
            found["message"] = {"S": run.message or run.error or ""}
        if run.details is not None:
            found["details"] = {"S": dump_json(run.details)}
    return found
