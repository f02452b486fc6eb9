"""One action on many jobs: previewed with counts, frozen at a moment, bounded per call, safe to send again.

Each action does nothing the second time: a finished job has one successor, a cancelled one stays so, and what
changed after the moment is left alone. So a call whose answer was lost is sent again as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dynajobs import keys
from dynajobs.errors import InvalidCursor, InvalidJob, InvalidTransition, JobNotFound
from dynajobs.job import FINISHED, WAITING, Job, Status
from dynajobs.listing import Filters, list_jobs
from dynajobs.views import job_view

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

ACTIONS = {
    "retry": FINISHED | {Status.FAILED},
    "cancel": frozenset({Status.PENDING, Status.FAILED, Status.IN_PROGRESS}),
}
"""By action, the states it is for."""

A_CALL = 100
"""Jobs that one call changes."""

A_PREVIEW = 1000
"""Jobs that a preview looks at, and the most that can be named one by one."""

SAMPLES = 5


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
    """Noted in the audit record; the call is safe to repeat without it."""

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise InvalidJob(f"action is {self.action!r}: it must be one of {', '.join(ACTIONS)}")
        if (self.ids is None) == (self.filter is None):
            raise InvalidJob("ids or filter: give one of them")
        if self.ids is not None and not 1 <= len(self.ids) <= A_PREVIEW:
            raise InvalidJob(f"ids has {len(self.ids)} entries: it must have 1 to {A_PREVIEW}")

    def told(self) -> dict[str, Any]:
        """What an audit record says of it."""
        about: dict[str, Any] = {"filter": dict(self.filter)} if self.filter is not None else {}
        if self.ids is not None:
            about["ids"] = len(self.ids)
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


def preview(queue: JobQueue, request: Request) -> dict[str, Any]:
    """What `carry_out` would do: how many, by state and type, which not, and some of them."""
    before = request.before or queue.now()
    found = _Preview()
    examined, cursor = 0, request.cursor
    while True:
        jobs, missing, cursor = _page(queue, request, cursor, 200)
        for job in jobs:
            found.add(job, _refusal(request.action, job, before))
        if missing:
            found.skipped["it is gone"] += missing
        examined += len(jobs) + missing
        if cursor is None or examined >= A_PREVIEW or not jobs:
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
        "truncated": cursor is not None,
    }


def carry_out(queue: JobQueue, request: Request) -> dict[str, Any]:
    """Change up to 100 jobs; `cursor` is for the next call, None at the end."""
    before = request.before or queue.now()
    jobs, missing, cursor = _page(queue, request, request.cursor, A_CALL)
    skipped: Counter[str] = Counter({"it is gone": missing} if missing else {})
    results: list[dict[str, Any]] = []
    for job in jobs:
        outcome, new_id = _apply(queue, request.action, job, before)
        if outcome not in ("done", "already"):
            skipped[outcome] += 1
        results.append({"id": job.id, "outcome": outcome, "job_id": new_id})
    outcomes = Counter(each["outcome"] for each in results)
    return {
        "action": request.action,
        "dry_run": False,
        "before": keys.timestamp(before),
        "done": outcomes["done"],
        "already": outcomes["already"],
        "skipped": dict(skipped),
        "results": results,
        "cursor": cursor,
    }


def _apply(queue: JobQueue, action: str, job: Job, before: datetime) -> tuple[str, str | None]:
    """What came of it, and the id of the job it left or made."""
    if action == "retry" and job.retried_by:
        return "already", job.retried_by
    if action == "cancel" and (job.status is Status.CANCELLED or job.cancel_requested):
        return "already", job.id
    if reason := _refusal(action, job, before):
        return reason, None
    try:
        changed = queue.retry(job) if action == "retry" else queue.cancel(job)
    except InvalidTransition as error:
        return f"it is {error.job.status}", None
    except JobNotFound:
        return "it is gone", None
    return "done", changed.id


def _refusal(action: str, job: Job, before: datetime) -> str | None:
    if job.status not in ACTIONS[action]:
        return f"it is {job.status}"
    if action == "retry" and job.retried_by:
        return "it was retried already"
    if action == "cancel" and job.cancel_requested:
        return "it was asked to stop already"
    # A running job tells that it lives again and again: that is no change to what was previewed.
    changed_at = job.finished_at or (job.updated_at if job.status in WAITING else None) or job.created_at
    return "it is newer" if changed_at > before else None


def _page(
    queue: JobQueue, request: Request, cursor: str | None, limit: int
) -> tuple[list[Job], int, str | None]:
    """Some of the jobs, how many of those named are gone, and where to go on."""
    if request.ids is None:
        chosen = {"status": None, **(request.filter or {})}
        filters = Filters.checked(chosen.pop("status"), live=request.action == "cancel", **chosen)
        page = list_jobs(queue.store, filters, limit, cursor)
        return list(page.jobs), 0, page.cursor
    start = _position(cursor, len(request.ids))
    named = request.ids[start : start + limit]
    found = [seen.job for each in named if (seen := queue.store.look(keys.canonical_id(each) or ""))]
    end = start + limit
    return found, len(named) - len(found), str(end) if end < len(request.ids) else None


def _position(cursor: str | None, many: int) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal() or not 0 < int(cursor) < many:
        raise InvalidCursor(f"cursor {cursor[:80]!r} is not one that an earlier call returned for these ids")
    return int(cursor)
