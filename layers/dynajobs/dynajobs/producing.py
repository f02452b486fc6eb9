"""From a producer's arguments to a stored job: checks, the job, and the writes that create it once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from dynajobs import dedup, keys
from dynajobs.dynamo import NEW, Conflict
from dynajobs.errors import EnqueueFailed, InvalidJob, Unavailable
from dynajobs.item import JOB_TYPE, MAX_PAYLOAD_BYTES, Item, Malformed, decode, encode
from dynajobs.job import Job, Status
from dynajobs.jsons import dump_json, exact
from dynajobs.store import MAX_TRIES, Store

PUT_THREADS = 16


def build(
    job_type: str,
    payload: Any,
    *,
    now: datetime,
    shards: int,
    run_at: datetime | None = None,
    delay: timedelta | float | None = None,
    priority: int = 0,
    max_attempts: int | None = None,
    org_id: str | None = None,
    group_id: str | None = None,
    dedup_key: str | None = None,
    dedup_window: str | date | datetime = keys.ACTIVE,
    job_id: str | UUID | None = None,
) -> Job:
    """A new job, every argument checked."""
    text = payload_text(payload)
    window = dedup.checked_window(dedup_window)
    if dedup_key is None and window != keys.ACTIVE:
        raise InvalidJob(f"dedup_window is {dedup_window!r} but there is no dedup_key: give both or neither")
    new_id = keys.new_id() if job_id is None else _checked_id(job_id)
    return Job(
        id=new_id,
        job_type=checked_type(job_type),
        payload=json.loads(text),
        payload_json=text,
        scheduled_for=due_time(now, run_at, delay) or now,
        priority=checked_whole("priority", priority, 0, 3),
        max_attempts=None if max_attempts is None else checked_whole("max_attempts", max_attempts, 1, 100),
        created_at=now,
        org_id=_checked_label("org_id", org_id),
        group_id=_checked_label("group_id", group_id),
        dedup_pk=None if dedup_key is None else keys.dedup_partition(dedup.checked_key(dedup_key)),
        dedup_sk=None if dedup_key is None else window,
        shard=keys.shard_of(new_id, shards),
        created=True,
    )


def checked_type(job_type: object) -> str:
    """A job type, or `InvalidJob`."""
    if not isinstance(job_type, str) or not JOB_TYPE.fullmatch(job_type):
        raise InvalidJob(f"job_type is {job_type!r}: it must match {JOB_TYPE.pattern}")
    return job_type


def checked_whole(name: str, value: object, low: int, high: int) -> int:
    """A whole number in its range, or `InvalidJob`; a bool is no number here."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidJob(f"{name} is {value!r}: it must be a whole number from {low} to {high}")
    return value


def due_time(now: datetime, run_at: object, delay: object) -> datetime | None:
    """When a job is due, from one of the two ways to say it; None if neither is given."""
    if run_at is not None and delay is not None:
        raise InvalidJob("run_at and delay are both given: give one of them")
    if delay is not None:
        try:
            return now + duration("delay", delay)
        except OverflowError:
            raise InvalidJob(f"delay is {delay!r}: the job would be due beyond the year 9999") from None
    if run_at is None:
        return None
    if not isinstance(run_at, datetime) or run_at.tzinfo is None or run_at.utcoffset() is None:
        raise InvalidJob(f"run_at is {run_at!r}: it must be a datetime with a time zone")
    try:
        return run_at.astimezone(UTC)
    except OverflowError:
        raise InvalidJob(f"run_at is {run_at!r}: it must be in the years 1 to 9999, in UTC") from None


def duration(name: str, value: object) -> timedelta:
    """A timedelta, or seconds as a number; never negative."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        try:
            value = timedelta(seconds=value)
        except OverflowError:
            raise InvalidJob(f"{name} is {value!r}: that is beyond the year 9999") from None
    if not isinstance(value, timedelta) or value < timedelta(0):
        raise InvalidJob(f"{name} is {value!r}: it must be a timedelta or seconds, not negative")
    return value


def payload_text(payload: Any) -> str:
    """The JSON text a payload is stored as; what JSON cannot hold exactly is refused."""
    if payload is None:
        payload = {}
    elif hasattr(payload, "model_dump"):
        payload = _model_values(payload)
    if not isinstance(payload, Mapping):
        raise InvalidJob(f"payload is a {type(payload).__name__}: it must be a mapping, a BaseModel or None")
    text = dump_json(exact(payload, "payload"))
    if (size := len(text.encode())) > MAX_PAYLOAD_BYTES:
        raise InvalidJob(
            f"payload has {size} bytes as JSON: at most {MAX_PAYLOAD_BYTES}; "
            "store the rest elsewhere and pass its key"
        )
    return text


def _model_values(model: Any) -> Any:
    """A model as JSON values with its secrets in clear: the handler needs them, JSON mode would mask them."""
    try:
        return _revealed(
            model.model_dump(mode="json", by_alias=True, round_trip=True),
            model.model_dump(by_alias=True, round_trip=True),
        )
    except ValueError as error:
        raise InvalidJob(f"payload is a {type(model).__name__} that JSON cannot hold: {error}") from None


def _revealed(masked: Any, real: Any) -> Any:
    if hasattr(real, "get_secret_value"):
        secret = real.get_secret_value()
        return secret.decode() if isinstance(secret, bytes) else secret
    if isinstance(masked, dict) and isinstance(real, Mapping):
        return {name: _revealed(value, real.get(name)) for name, value in masked.items()}
    if isinstance(masked, list) and isinstance(real, list | tuple):
        return [_revealed(value, other) for value, other in zip(masked, real, strict=False)]
    return masked


def _checked_id(job_id: object) -> str:
    text = str(job_id) if isinstance(job_id, UUID) else job_id
    canonical = keys.canonical_id(text) if isinstance(text, str) else None
    if canonical is None:
        raise InvalidJob(f"job_id is {job_id!r}: it must be a UUID")
    return canonical


def _checked_label(name: str, value: object) -> str | None:
    if value is not None:
        if not isinstance(value, str):
            raise InvalidJob(f"{name} is {value!r}: it must be a string or None")
        exact(value, name)
        if not 1 <= len(value.encode()) <= 256:
            raise InvalidJob(f"{name} has {len(value.encode())} bytes: it must have 1 to 256")
    return value


def put_new(store: Store, job: Job) -> Job:
    """Store a job; with a dedup key the existing one comes back if there is one."""
    store.control.ensure_lanes()
    if job.dedup_pk is not None:
        return _put_once(store, job)
    store.put(job)
    return job


def put_many(store: Store, jobs: list[Job]) -> list[Job]:
    """Store jobs side by side; conditional puts, because a batch write could land on a claimed job."""
    from concurrent.futures import ThreadPoolExecutor

    store.control.ensure_lanes()
    written: list[Job] = []
    errors: list[Exception] = []

    def put(job: Job) -> Job | None:
        if errors:
            return None
        try:
            store.put(job)
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller learns of it below
            errors.append(error)
            return None
        return job

    if jobs:
        with ThreadPoolExecutor(min(PUT_THREADS, len(jobs)), thread_name_prefix="dynajobs-put") as pool:
            written = [job for job in pool.map(put, jobs) if job is not None]
    if errors:
        raise EnqueueFailed(
            f"{len(written)} of {len(jobs)} jobs were written, then: {errors[0]}", jobs=written
        ) from errors[0]
    return written


def put_actions(store: Store, job: Job) -> list[dict[str, Any]]:
    """The actions that create a job inside the caller's own transaction; a duplicate cancels it."""
    store.control.ensure_lanes()
    actions = [_put_action(store, job)]
    if job.dedup_pk is not None:
        actions.insert(0, dedup.on_create(store.table, job))
    return actions


def _put_action(store: Store, job: Job) -> dict[str, Any]:
    return store.table.action("Put", Item=encode(job, store.settings), ConditionExpression=NEW)


def _put_once(store: Store, job: Job) -> Job:
    """Job and dedup record in one transaction; a record whose job is gone is replaced, if it still is so."""
    replacing: Item | None = None
    for _ in range(MAX_TRIES):
        try:
            store.table.transact([dedup.on_create(store.table, job, replacing), _put_action(store, job)])
            return job
        except Conflict as conflict:
            if 0 not in conflict.failed:
                return job  # the record is new and our own job is there: an earlier try of ours arrived
            record = conflict.items.get(0)
        replacing = None
        if record is None:
            continue  # it went away meanwhile
        if record.get("job_id") == {"S": job.id}:
            return job
        if existing := _existing(store, record, job):
            return existing
        replacing = record
    raise Unavailable(
        f"the dedup record {job.dedup_pk} changed {MAX_TRIES} times while a job was being created"
    )


def _existing(store: Store, record: Item, wanted: Job) -> Job | None:
    """The job a record stands for; None if it has no outcome and its job is gone."""
    outcome, job_id = record.get("outcome", {}).get("S"), record.get("job_id", {}).get("S", "")
    if outcome is None:
        if "job_pk" not in record or "job_sk" not in record:
            return None
        item = store.table.get({"PK": record["job_pk"], "SK": record["job_sk"]})
        if item is None:
            return None
        try:
            return decode(item, store.settings)
        except Malformed:
            outcome = Status.PENDING.value
    elif stored := store.look(job_id):
        return stored.job
    created_at = record.get("created_at", {}).get("S")
    return replace(
        wanted,
        id=job_id,
        payload={},
        payload_json=None,
        status=Status(outcome),
        created_at=keys.parse_time(created_at) if created_at else wanted.created_at,
        created=False,
    )


def checked_payloads(payloads: Iterable[Any]) -> list[Any]:
    """The payloads of a batch, as a list."""
    if isinstance(payloads, Mapping | str | bytes) or not isinstance(payloads, Iterable):
        raise InvalidJob(f"payloads is a {type(payloads).__name__}: it must be an iterable of payloads")
    return list(payloads)
