"""How a job is written as a DynamoDB item, and what is understood of an item somebody else wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dynajobs import keys
from dynajobs.errors import DynajobsError
from dynajobs.job import MAX_STORED_RUNS, Job, Run, Status
from dynajobs.jsons import dump_json, load_json
from dynajobs.settings import Settings
from dynajobs.units import item_size

Item = dict[str, dict[str, Any]]

JOB_TYPE = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
MAX_PAYLOAD_BYTES = 64 * 1024
MAX_ITEM_BYTES = 256 * 1024
"""Of a live item. DynamoDB holds 400 KB, and to its claim, its runs and its result something is added."""

_TEXTS = (
    "locked_by",
    "last_error",
    "fingerprint",
    "org_id",
    "group_id",
    "schedule_name",
    "triggered_by",
    "template",
    "retry_of",
    "retried_by",
    "dedup_pk",
    "dedup_sk",
    "waits_for",
    "slot",
)
_TIMES = ("lock_expires_at", "updated_at", "finished_at", "completed_at")
_COUNTS = ("undelivered", "version", "runs_closed")
_JSONS = ("result", "progress")
_RUN_TEXTS = ("worker", "message", "error")
_OWN = (
    frozenset({"job_type", "payload", "scheduled_for", "status", "attempts", "created_at", "priority"})
    | {"max_attempts", "cancel_requested", "run", "runs"}
    | frozenset((*_TEXTS, *_TIMES, *_COUNTS, *_JSONS))
)
_EVIDENCE_BYTES = 30 * 1024
"""Quoting cut evidence may double it: the dead letter's own payload must stay readable."""


class Malformed(DynajobsError):
    """The item is no job; the message says why."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A job together with the item it was read from: guards and differences are made from the item."""

    job: Job
    item: Item

    @property
    def key(self) -> Item:
        return key_of(self.item)


def key_of(item: Item) -> Item:
    """The primary key of an item."""
    return {"PK": item["PK"], "SK": item["SK"]}


def job_key(job: Job) -> Item:
    """Where a job in this state lives."""
    if job.status.finished:
        return {"PK": {"S": keys.job_partition(job.id)}, "SK": {"S": "job"}}
    return {
        "PK": {"S": keys.lane(job.priority, job.shard)},
        "SK": {"S": keys.due_key(job.scheduled_for, job.id)},
    }


def encode(job: Job, settings: Settings) -> Item:
    """The whole item of a job: keys, index keys, attributes, and the expiry of a finished one."""
    payload = dump_json(job.payload) if job.payload_json is None else job.payload_json
    item: Item = {
        **job_key(job),
        **_index_key(job, settings.index),
        "job_type": {"S": job.job_type},
        "payload": {"S": payload},
        "scheduled_for": {"S": keys.timestamp(job.scheduled_for)},
        "status": {"S": job.status.value},
        "attempts": {"N": str(job.attempts)},
        "created_at": {"S": keys.timestamp(job.created_at)},
    }
    if job.priority:
        item["priority"] = {"N": str(job.priority)}
    if job.max_attempts is not None:
        item["max_attempts"] = {"N": str(job.max_attempts)}
    if job.cancel_requested:
        item["cancel_requested"] = {"BOOL": True}
    for name in _TEXTS:
        if (text := getattr(job, name)) is not None:
            item[name] = {"S": text}
    for name in _TIMES:
        if (moment := getattr(job, name)) is not None:
            item[name] = {"S": keys.timestamp(moment)}
    for name in _COUNTS:
        if count := getattr(job, name):
            item[name] = {"N": str(count)}
    for name in _JSONS:
        if (value := getattr(job, name)) is not None:
            item[name] = {"S": dump_json(value)}
    if closed := job.closed_runs:
        item["runs"] = {"L": [encode_run(run) for run in closed]}
    if job.open_run:
        item["run"] = encode_run(job.open_run)
    elif job.locked_by is not None:
        item["run"] = {"M": {"run_id": {"S": job.locked_by}, "attempt": {"N": str(job.attempts + 1)}}}
    if (expiry := expires_at(job, settings)) is not None:
        item[settings.ttl_attribute] = {"N": str(expiry)}
    return item


def own_attributes(settings: Settings) -> frozenset[str]:
    """The attributes that are ours to remove from an item; what else an application put there stays."""
    return _OWN | {settings.ttl_attribute}


def _index_key(job: Job, index: str) -> Item:
    if job.status.finished:
        assert job.finished_at is not None
        pk = keys.done_partition(job.status.value, job.job_type, job.shard)
        sk = keys.done_key(job.finished_at, job.id)
    else:
        pk, sk = keys.job_partition(job.id), "job"
    return {f"{index}PK": {"S": pk}, f"{index}SK": {"S": sk}}


def expires_at(job: Job, settings: Settings) -> int | None:
    """When a finished job may be forgotten, in epoch seconds; live jobs and dead letters never are."""
    if not job.status.finished or job.status is Status.DEAD_LETTER or job.finished_at is None:
        return None
    days = settings.retention_days
    if job.status is Status.CANCELLED:
        days = max(days, 1)
    return int(job.finished_at.timestamp()) + days * 86400


def encode_run(run: Run) -> dict[str, Any]:
    """A run as a map, inside its job or moved out of it."""
    attributes: Item = {
        "run_id": {"S": run.run_id},
        "attempt": {"N": str(run.attempt)},
        "status": {"S": run.status},
    }
    for name in _RUN_TEXTS:
        if (text := getattr(run, name)) is not None:
            attributes[name] = {"S": text}
    for name in ("started_at", "finished_at"):
        if (moment := getattr(run, name)) is not None:
            attributes[name] = {"S": keys.timestamp(moment)}
    if run.details is not None:
        attributes["details"] = {"S": dump_json(run.details)}
    if run.log:
        attributes["log"] = {"M": {name: {"S": text} for name, text in run.log.items()}}
    return {"M": attributes}


def decode(item: Item, settings: Settings) -> Job:
    """The job of an item, ours or hand-written; `Malformed` says what cannot be understood."""
    pk, sk = item["PK"]["S"], item["SK"]["S"]
    if pk.startswith("job-id#"):
        job_id, lane_priority, time_text = pk.removeprefix("job-id#"), 0, ""
        index_pk = item.get(f"{settings.index}PK", {}).get("S", "")
        shard = int(index_pk.rpartition("#s")[2]) if re.search(r"#s\d+$", index_pk) else 0
    else:
        if (size := item_size(item)) > MAX_ITEM_BYTES:
            raise Malformed(f"the item has {size} bytes: its outcome needs room, at most {MAX_ITEM_BYTES}")
        lane_priority, shard = keys.parse_lane(pk)
        time_text, id_text = keys.parse_due_key(sk)
        job_id = keys.canonical_id(id_text) or keys.derived_id(pk, sk)
    job_type = _text(item, "job_type")
    if job_type is None or not JOB_TYPE.fullmatch(job_type):
        raise Malformed(f"job_type is {_shown(item, 'job_type')}: it must match {JOB_TYPE.pattern}")
    scheduled_for = _time(item, "scheduled_for") or _key_time(time_text)
    payload, payload_json = _payload(item)
    status, run = _status(item), item.get("run", {})
    runs = _runs(item)
    closed = len(runs)
    # Somebody who resets a stuck job by hand may leave its run behind: only a job in progress has one open.
    if status is Status.IN_PROGRESS and "started_at" in run.get("M", {}):
        runs = (*runs, decode_run(run))
    values: dict[str, Any] = {name: _text(item, name) for name in _TEXTS}
    values |= {name: _time(item, name) for name in _TIMES}
    values |= {name: _json(item, name) for name in _JSONS}
    return Job(
        id=job_id,
        job_type=job_type,
        payload=payload,
        payload_json=payload_json,
        status=status,
        scheduled_for=scheduled_for,
        priority=_whole(item, "priority", lane_priority, 0, 3),
        attempts=_whole(item, "attempts", 0),
        max_attempts=_whole(item, "max_attempts", 0, 1, 100) or None,
        created_at=_time(item, "created_at") or scheduled_for,
        cancel_requested=item.get("cancel_requested", {}).get("BOOL") is True,
        runs=runs,
        shard=shard,
        undelivered=_whole(item, "undelivered", 0),
        version=_whole(item, "version", 0),
        runs_closed=max(_whole(item, "runs_closed", 0), closed),
        **values,
    )


def decode_run(value: dict[str, Any]) -> Run:
    """The run of a map written by `encode_run`."""
    attributes = value.get("M")
    if not isinstance(attributes, dict) or "run_id" not in attributes:
        raise Malformed("a run record has no run_id")
    log = attributes.get("log", {}).get("M")
    return Run(
        run_id=_text(attributes, "run_id") or "",
        attempt=_whole(attributes, "attempt", 1),
        status=_text(attributes, "status") or "running",
        log={name: _text(log, name) or "" for name in log} if log else None,
        started_at=_time(attributes, "started_at"),
        finished_at=_time(attributes, "finished_at"),
        details=_json(attributes, "details"),
        **{name: _text(attributes, name) for name in _RUN_TEXTS},
    )


def buried(item: Item, reason: str, cause_fingerprint: str, now: datetime) -> Job:
    """The dead letter that tells of an item nobody can understand; it keeps what fits of the evidence."""
    pk, sk = item["PK"]["S"], item["SK"]["S"]
    evidence = dump_json({name: plain(value) for name, value in item.items()})
    if len(evidence.encode()) > _EVIDENCE_BYTES:
        evidence = evidence.encode()[:_EVIDENCE_BYTES].decode(errors="ignore")
        payload: dict[str, Any] = {"item": evidence, "truncated": True}
    else:
        payload = {"item": load_json(evidence)}
    return Job(
        id=keys.canonical_id(keys.parse_due_key(sk)[1]) or keys.derived_id(pk, sk),
        job_type=keys.INVALID_TYPE,
        payload=payload,
        status=Status.DEAD_LETTER,
        scheduled_for=now,
        created_at=now,
        updated_at=now,
        finished_at=now,
        last_error=f"Malformed: {reason}",
        fingerprint=cause_fingerprint,
        version=1,
    )


def plain(value: dict[str, Any]) -> Any:
    """An AttributeValue as a JSON value; numbers keep their text if Python would round them."""
    ((kind, content),) = value.items()
    match kind:
        case "M":
            return {name: plain(inner) for name, inner in content.items()}
        case "L":
            return [plain(inner) for inner in content]
        case "N":
            return _number(content)
        case "NS":
            return [_number(each) for each in content]
        case "NULL":
            return None
        case "B" | "BS":
            return "(binary)"
        case _:
            return content


def _number(text: str) -> int | float | str:
    from decimal import Decimal

    try:
        return int(text)
    except ValueError:
        number = float(text)
    return number if Decimal(repr(number)) == Decimal(text) else text


def _has_binary(value: dict[str, Any]) -> bool:
    ((kind, content),) = value.items()
    match kind:
        case "M":
            return any(map(_has_binary, content.values()))
        case "L":
            return any(map(_has_binary, content))
        case _:
            return kind in ("B", "BS")


def _payload(item: Item) -> tuple[dict[str, Any], str]:
    value = item.get("payload")
    if value is None or "NULL" in value:
        return {}, "{}"
    if "M" in value:
        if _has_binary(value):
            raise Malformed("payload has binary data in it: JSON cannot hold that")
        text = dump_json(plain(value))
    elif "S" in value:
        text = value["S"]
    else:
        raise Malformed(f"payload is {_shown(item, 'payload')}: it must be JSON text of an object, or a map")
    if len(text.encode(errors="surrogatepass")) > MAX_PAYLOAD_BYTES:
        raise Malformed(
            f"payload is {len(text.encode(errors='surrogatepass'))} bytes: at most {MAX_PAYLOAD_BYTES}"
        )
    try:
        payload = load_json(text)
    except ValueError as error:
        raise Malformed(f"payload is not JSON ({error})") from None
    if not isinstance(payload, dict):
        raise Malformed(f"payload is a JSON {type(payload).__name__}: it must be an object")
    return payload, text


def _key_time(text: str) -> datetime:
    try:
        return keys.parse_time(text)
    except ValueError:
        raise Malformed(
            f"there is no scheduled_for, and the key's time {text[:60]!r} is no instant"
        ) from None


def _status(item: Item) -> Status:
    text = _text(item, "status")
    try:
        return Status(text) if text is not None else Status.PENDING
    except ValueError:
        raise Malformed(
            f"status is {_shown(item, 'status')}: it must be one of {', '.join(Status)}"
        ) from None


def _runs(item: Item) -> tuple[Run, ...]:
    value = item.get("runs")
    if value is None or "NULL" in value:
        return ()
    if not isinstance(value.get("L"), list):
        raise Malformed("runs is no list")
    runs = tuple(decode_run(each) for each in value["L"])[-MAX_STORED_RUNS:]
    if any(run.status == "running" for run in runs):
        raise Malformed("runs holds a run that never ended")
    return runs


def _text(item: Item, name: str) -> str | None:
    value = item.get(name)
    if value is None or "NULL" in value:
        return None
    if "S" not in value:
        raise Malformed(f"{name} is {_shown(item, name)}: it must be a string")
    text: str = value["S"]
    return text


def _time(item: Item, name: str) -> datetime | None:
    text = _text(item, name)
    if text is None:
        return None
    try:
        return keys.parse_time(text)
    except ValueError:
        raise Malformed(
            f"{name} is {_shown(item, name)}: it must be an instant such as 2026-11-18T07:00:00Z"
        ) from None


def _whole(item: Item, name: str, default: int, low: int = 0, high: int = 10**9) -> int:
    value = item.get(name)
    if value is None or "NULL" in value:
        return default
    try:
        number = int(value["N"])
    except (KeyError, ValueError):
        number = -1
    if not low <= number <= high:
        raise Malformed(f"{name} is {_shown(item, name)}: it must be a whole number from {low} to {high}")
    return number


def _json(item: Item, name: str) -> Any:
    text = _text(item, name)
    if text is None:
        return None
    try:
        return load_json(text)
    except ValueError:
        raise Malformed(f"{name} is not JSON") from None


def _shown(item: Item, name: str) -> str:
    if name not in item:
        return "missing"
    try:
        return repr(plain(item[name]))[:80]
    except (ValueError, TypeError):
        return "unreadable"
