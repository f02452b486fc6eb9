"""The run history of a schedule: one record per slot or manual run, read backwards."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from dynajobs import keys
from dynajobs.dedup import record_lifetime
from dynajobs.dynamo import Expression
from dynajobs.errors import InvalidCursor
from dynajobs.item import Item, Malformed, decode
from dynajobs.job import Job, Status
from dynajobs.jsons import cut_text, load_json
from dynajobs.schedule import ScheduleRun
from dynajobs.store import Store

SUMMED_UP = 50
"""Finished runs that the success rate and the durations are over."""

SEARCHED = 1000
"""Finished runs among which the last success is looked for."""

LOOKED_AT = 3000
"""Records of all kinds that are read for that."""

MAX_MESSAGE = 1024
_FINISHED = frozenset({"completed", "dead_letter", "cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The recent runs of a schedule in figures."""

    last_success_at: datetime | None = None
    success_rate: float | None = None
    average_duration: timedelta | None = None
    max_duration: timedelta | None = None
    recent: tuple[ScheduleRun, ...] = ()
    """The latest records, if they were asked for; one that is not over shows as queued."""


def gap_record(
    store: Store,
    schedule: str,
    last: datetime,
    outcome: str,
    now: datetime,
    *,
    count: int,
    message: str | None = None,
) -> Item:
    """The record of slots in a row that are not run, missed or skipped: the last one, and how many."""
    expires = now + record_lifetime(store.settings)
    item: Item = {
        "PK": {"S": keys.slots_partition(schedule)},
        # Beside the slot's own key, under which it may still be given a job.
        "SK": {"S": keys.slot_key(last, outcome)},
        "outcome": {"S": outcome},
        "count": {"N": str(count)},
        "created_at": {"S": keys.timestamp(now)},
        store.settings.ttl_attribute: {"N": str(int(expires.timestamp()))},
    }
    if message:
        item["message"] = {"S": cut_text(message, MAX_MESSAGE)}
    return item


def records(store: Store, schedule: str, before: str = "", *, page: int = SUMMED_UP) -> Iterator[Item]:
    """A schedule's records, newest first, read page by page as they are consumed."""
    expression = Expression()
    condition = f"PK = {expression.value({'S': keys.slots_partition(schedule)})}"
    if before:
        condition += f" AND SK < {expression.value({'S': before})}"
    for answer in store.table.query(
        KeyConditionExpression=condition,
        ScanIndexForward=False,
        ConsistentRead=True,
        Limit=page,
        **expression.parameters(),
    ):
        yield from answer["Items"]


def list_runs(
    store: Store, schedule: str, limit: int, cursor: str | None
) -> tuple[tuple[ScheduleRun, ...], str | None]:
    """One page of runs and the cursor of the next; what is not finished is looked up where it lives."""
    before = _parse_cursor(schedule, cursor) if cursor is not None else ""
    found = list(islice(records(store, schedule, before, page=limit + 1), limit + 1))
    shown = found[:limit]
    live = {_target(item): None for item in shown if _is_open(item)}
    wanted = [key for key in live if key]
    jobs = {
        (item["PK"]["S"], item["SK"]["S"]): item
        for item in store.table.get_many([{"PK": {"S": pk}, "SK": {"S": sk}} for pk, sk in wanted])
    }
    runs = tuple(_run(item, jobs.get(_target(item) or ("", "")), store) for item in shown)
    more = len(found) > limit
    return runs, _cursor(schedule, shown[-1]["SK"]["S"]) if more else None


def summarize(store: Store, schedule: str, recent: int = 0) -> Summary:
    """Rates and durations over the last finished runs, and the last success, however far back."""
    finished: list[ScheduleRun] = []
    latest: list[ScheduleRun] = []
    succeeded: datetime | None = None
    ended = 0
    for item in islice(records(store, schedule), LOOKED_AT):
        if len(latest) < recent:
            latest.append(_run(item, None, store))
        if item.get("outcome", {}).get("S") not in _FINISHED:
            continue
        run, ended = _run(item, None, store), ended + 1
        if len(finished) < SUMMED_UP:
            finished.append(run)
        if run.success and run.finished_at:
            succeeded = max(succeeded or run.finished_at, run.finished_at)
        if len(finished) >= SUMMED_UP and (succeeded or ended >= SEARCHED):
            break
    took = [run.duration for run in finished if run.duration is not None]
    return Summary(
        last_success_at=succeeded,
        success_rate=sum(run.success is True for run in finished) / len(finished) if finished else None,
        average_duration=sum(took, timedelta(0)) / len(took) if took else None,
        max_duration=max(took, default=None),
        recent=tuple(latest),
    )


def previous_success(store: Store, job: Job) -> datetime | None:
    """When the schedule of a job last succeeded; the newest of the recent records decides."""
    if job.schedule_name is None:
        return None
    return summarize(store, job.schedule_name).last_success_at


def recent(store: Store, schedule: str) -> tuple[Item | None, list[Item]]:
    """The newest record, and those of the last fifty whose run has not ended."""
    found = list(islice(records(store, schedule), SUMMED_UP))
    return (found[0] if found else None), [item for item in found if store.is_live(item)]


def _is_open(item: Item) -> bool:
    return "outcome" not in item


def _target(item: Item) -> tuple[str, str] | None:
    try:
        return item["job_pk"]["S"], item["job_sk"]["S"]
    except KeyError:
        return None


def _run(item: Item, live: Item | None, store: Store) -> ScheduleRun:
    outcome = item.get("outcome", {}).get("S")
    times: dict[str, datetime] = {
        name: keys.parse_time(item[name]["S"]) for name in ("started_at", "finished_at") if name in item
    }
    message = item.get("message", {}).get("S")
    if outcome is None:
        outcome = "queued"
        if job := _decoded(live, store):
            outcome, times, message = _of_live(job)
    details = item.get("details", {}).get("S")
    started, finished = times.get("started_at"), times.get("finished_at")
    return ScheduleRun(
        scheduled_for=keys.parse_slot_key(item["SK"]["S"]),
        triggered_by=item.get("triggered_by", {}).get("S", "scheduler"),
        outcome=outcome,
        job_id=item.get("job_id", {}).get("S"),
        started_at=started,
        finished_at=finished,
        duration=finished - started if started and finished else None,
        success=_success(outcome),
        message=message,
        details=None if details is None else load_json(details),
        count=int(item.get("count", {}).get("N", "1")),
    )


def _of_live(job: Job) -> tuple[str, dict[str, datetime], str | None]:
    if job.open_run and job.open_run.started_at:
        return "running", {"started_at": job.open_run.started_at}, None
    if job.status is Status.FAILED:
        return "failed", {}, job.runs[-1].error if job.runs else job.last_error
    return "queued", {}, None


def _success(outcome: str) -> bool | None:
    if outcome == "completed":
        return True
    return False if outcome in ("failed", "dead_letter", "cancelled") else None


def _decoded(item: Item | None, store: Store) -> Job | None:
    try:
        return decode(item, store.settings) if item else None
    except Malformed:
        return None


def _digest(schedule: str) -> str:
    return hashlib.sha256(f"runs of {schedule}".encode()).hexdigest()[:12]


def _cursor(schedule: str, sk: str) -> str:
    text = json.dumps([_digest(schedule), sk], separators=(",", ":"))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _parse_cursor(schedule: str, cursor: object) -> str:
    try:
        assert isinstance(cursor, str) and cursor
        digest, sk = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        assert isinstance(sk, str) and 0 < len(sk.encode()) < 1000
    except (AssertionError, ValueError, TypeError, RecursionError):
        raise InvalidCursor(f"cursor {str(cursor)[:80]!r} is not one that a list returned") from None
    if digest != _digest(schedule):
        raise InvalidCursor("the cursor belongs to the runs of another schedule: start again without it")
    return sk
