"""One action on many jobs: previewed with counts, frozen at a moment, bounded per call, safe to send again.

Each action does nothing the second time: a finished job has one successor, a cancelled one stays so, and what
changed after the moment is left alone. So a call whose answer was lost is sent again as it was.
"""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from dynajobs import keys
from dynajobs.dynamo import Conflict
from dynajobs.errors import DynajobsError, InvalidCursor, InvalidJob, InvalidTransition, JobNotFound
from dynajobs.item import Item
from dynajobs.job import FINISHED, Job, Status
from dynajobs.listing import Filters, list_jobs
from dynajobs.views import job_view

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

ACTIONS = {
    "retry": FINISHED | {Status.FAILED},
    "cancel": frozenset({Status.PENDING, Status.FAILED, Status.IN_PROGRESS}),
}
"""By action, the states it is for."""

WRONG = frozenset({Status.FAILED, Status.DEAD_LETTER})
"""What a retry is for where no state and no job is named: success is not repeated by accident."""

A_CALL = 100
"""Jobs that one call changes."""

A_PREVIEW = 1000
"""Jobs that a preview looks at, and the most that can be named one by one."""

SAMPLES = 5
REMEMBERED = timedelta(days=7)
"""For so long calls with one idempotency key mean the same moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be done with which jobs: those with these `ids`, or those that the `filter` finds."""

    action: str
    ids: Sequence[str] | None = None
    filter: Mapping[str, str] | None = None
    """Names and values as `JobQueue.list` takes them."""

    before: datetime | None = None
    """What was made or changed later is left alone; now if left out."""

    dry_run: bool = False
    cursor: str | None = None
    idempotency_key: str | None = None
    """Calls with one key have one moment, that of the first: without `before` it makes them safe."""

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise InvalidJob(f"action is {self.action!r}: it must be one of {', '.join(ACTIONS)}")
        if (self.ids is None) == (self.filter is None):
            raise InvalidJob("ids or filter: give one of them")
        if self.ids is not None and not 1 <= len(self.ids) <= A_PREVIEW:
            raise InvalidJob(f"ids has {len(self.ids)} entries: it must have 1 to {A_PREVIEW}")
        if self.filter is not None and not self.filter:
            raise InvalidJob("filter is empty: name at least a state or a type")

    @property
    def chosen(self) -> Filters | None:
        """Which jobs, if they are not named."""
        if self.filter is None:
            return None
        return Filters.checked(
            self.filter.get("status"),
            live=self.action == "cancel",
            **{name: value for name, value in self.filter.items() if name != "status"},
        )

    @property
    def states(self) -> frozenset[Status]:
        """Those that the action is for, here."""
        unnamed = self.action == "retry" and self.filter is not None and "status" not in self.filter
        return WRONG if unnamed else ACTIONS[self.action]

    def told(self) -> dict[str, Any]:
        """What an audit record says of it."""
        about: dict[str, Any] = {"filter": dict(self.filter)} if self.filter is not None else {}
        if self.ids is not None:
            about["ids"] = len(self.ids)
        if self.before is not None:
            about["before"] = keys.timestamp(self.before)
        if self.idempotency_key:
            about["idempotency_key"] = self.idempotency_key
        return about


@dataclass(slots=True)
class _Preview:
    eligible: int = 0
    by_status: Counter[str] = field(default_factory=Counter)
    by_type: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    samples: list[Job] = field(default_factory=list)
    oldest: datetime | None = None
    newest: datetime | None = None

    def add(self, job: Job, refusal: str | None) -> None:
        if refusal:
            self.skipped[refusal] += 1
            return
        self.eligible += 1
        self.by_status[job.status.value] += 1
        self.by_type[job.job_type] += 1
        self.oldest = min(self.oldest or job.created_at, job.created_at)
        self.newest = max(self.newest or job.created_at, job.created_at)
        if len(self.samples) < SAMPLES:
            self.samples.append(job)


class Refused(DynajobsError):
    """The job is not one of those that were meant, or not any more."""


def preview(queue: JobQueue, request: Request) -> dict[str, Any]:
    """What `carry_out` would do: how many, by state and type, which not, and some of them."""
    before, place = _start(queue, request)
    found, examined = _Preview(), 0
    while True:
        jobs, missing, place = _page(queue, request, place, 200)
        for job in jobs:
            found.add(job, _refusal(request, job, before))
        if missing:
            found.skipped["it is gone"] += missing
        examined += len(jobs) + missing
        if place is None or examined >= A_PREVIEW or not jobs:
            break
    return {
        "action": request.action,
        "dry_run": True,
        "before": keys.timestamp(before),
        "eligible": found.eligible,
        "skipped": dict(found.skipped),
        "by_status": dict(found.by_status),
        "by_type": dict(found.by_type),
        "samples": [job_view(job, queue.settings) for job in found.samples],
        "oldest": keys.timestamp(found.oldest) if found.oldest else None,
        "newest": keys.timestamp(found.newest) if found.newest else None,
        "truncated": place is not None,
    }


def carry_out(
    queue: JobQueue, request: Request, results: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Change up to 100 jobs; `cursor` is for the next call, None at the end.

    What came of each job is in `results` at once, whatever happens to the next.
    """
    results = [] if results is None else results
    before, place = _start(queue, request)
    jobs, missing, place = _page(queue, request, place, A_CALL)
    for job in jobs:
        outcome, new_id = _apply(queue, request, job, before)
        results.append({"id": job.id, "outcome": outcome, "job_id": new_id})
    outcomes = Counter(each["outcome"] for each in results)
    done, already = outcomes.pop("done", 0), outcomes.pop("already", 0)
    if missing:
        outcomes["it is gone"] += missing
    return {
        "action": request.action,
        "dry_run": False,
        "before": keys.timestamp(before),
        "done": done,
        "already": already,
        "skipped": dict(outcomes),
        "results": results,
        "cursor": None if place is None else _cursor(request, before, place),
    }


def _apply(queue: JobQueue, request: Request, job: Job, before: datetime) -> tuple[str, str | None]:
    """What came of it, and the id of the job it left or made."""
    if request.action == "retry" and job.retried_by:
        return "already", job.retried_by
    if request.action == "cancel" and (job.status is Status.CANCELLED or job.cancel_requested):
        return "already", job.id

    def check(fresh: Job) -> None:
        """Lists are a moment old: what counts is the job that is changed."""
        if reason := _refusal(request, fresh, before):
            raise Refused(reason)

    try:
        change = queue.retry if request.action == "retry" else queue.cancel
        return "done", change(job, check=check).id
    except Refused as refused:
        return str(refused), None
    except InvalidTransition as error:
        return f"it is {error.job.status}", None
    except JobNotFound:
        return "it is gone", None


def _refusal(request: Request, job: Job, before: datetime) -> str | None:
    filters = request.chosen
    if job.status not in request.states or (filters and not filters.match(job)):
        return f"it is {job.status}"
    if request.action == "retry" and job.retried_by:
        return "it was retried already"
    if request.action == "cancel" and job.cancel_requested:
        return "it was asked to stop already"
    return "it is newer" if _changed_at(job) > before else None


def _changed_at(job: Job) -> datetime:
    if job.finished_at:
        return job.finished_at
    if job.open_run and job.open_run.started_at:
        # A running job tells that it lives again and again: that is no change to what was previewed.
        return job.open_run.started_at
    return job.updated_at or job.created_at


def _page(
    queue: JobQueue, request: Request, place: str | None, limit: int
) -> tuple[list[Job], int, str | None]:
    """Some of the jobs, how many of those named are gone, and where to go on."""
    if request.chosen is not None:
        page = list_jobs(queue.store, request.chosen, limit, place)
        return list(page.jobs), 0, page.cursor
    ids = request.ids or ()
    start = int(place or 0)
    named = ids[start : start + limit]
    found = [seen.job for each in named if (seen := queue.store.look(keys.canonical_id(each) or ""))]
    end = start + limit
    return found, len(named) - len(found), str(end) if end < len(ids) else None


def _start(queue: JobQueue, request: Request) -> tuple[datetime, str | None]:
    """The moment that counts, and where to begin."""
    if request.cursor is None:
        return request.before or _remembered(queue, request.idempotency_key), None
    try:
        text = urlsafe_b64decode(request.cursor + "=" * (-len(request.cursor) % 4))
        digest, before, place = json.loads(text)
        if digest != _digest(request) or not isinstance(place, str):
            raise ValueError(digest)
        if request.ids is not None and not (place.isdecimal() and 0 < int(place[:9]) < len(request.ids)):
            raise ValueError(place)
        return request.before or keys.parse_time(before), place
    except (ValueError, TypeError, RecursionError):
        raise InvalidCursor(
            f"cursor {request.cursor[:80]!r} is not one that an earlier call returned for these jobs"
        ) from None


def _cursor(request: Request, before: datetime, place: str) -> str:
    text = json.dumps([_digest(request), keys.timestamp(before), place], separators=(",", ":"))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _digest(request: Request) -> str:
    filters = sorted((request.filter or {}).items())
    about = json.dumps([request.action, list(request.ids or ()), filters])
    return hashlib.sha256(about.encode()).hexdigest()[:12]


def _remembered(queue: JobQueue, key: str | None) -> datetime:
    """Now; or when a call with this key first came, so that sending it again means the same jobs."""
    now = queue.now()
    if key is None:
        return now
    place: Item = {"PK": {"S": keys.bulk_partition()}, "SK": {"S": key}}
    expires = {"N": str(int((now + REMEMBERED).timestamp()))}
    item: Item = {**place, "before": {"S": keys.timestamp(now)}, queue.settings.ttl_attribute: expires}
    try:
        queue.store.table.put(item)
    except Conflict as conflict:
        return keys.parse_time((conflict.item or item)["before"]["S"])
    return now
