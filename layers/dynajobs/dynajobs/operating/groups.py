"""What went wrong lately, grouped by fingerprint."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from dynajobs import keys, words
from dynajobs.job import Job, Status
from dynajobs.listing import READ_BUDGET

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

SPANS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}
BARS = 24


@dataclass(slots=True)
class Group:
    """Jobs that failed alike."""

    fingerprint: str
    latest: Job
    first_seen: datetime
    last_seen: datetime
    job_types: set[str] = field(default_factory=set)
    dead_letters: int = 0
    failed: int = 0
    retried: int = 0
    spans: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SPANS, 0))
    bars: list[int] = field(default_factory=lambda: [0] * BARS)

    def add(self, job: Job, seen_at: datetime, now: datetime) -> None:
        """One more of them."""
        self.job_types.add(job.job_type)
        self.dead_letters += job.status is Status.DEAD_LETTER
        self.failed += job.status is Status.FAILED
        self.retried += job.retried_by is not None
        for name, span in SPANS.items():
            self.spans[name] += now - seen_at <= span
        hours = int((now - seen_at) / timedelta(hours=1))
        if 0 <= hours < BARS:
            self.bars[BARS - 1 - hours] += 1
        self.first_seen = min(self.first_seen, seen_at)
        if seen_at > self.last_seen:
            self.last_seen, self.latest = seen_at, job

    def view(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "fingerprint": self.fingerprint,
            "title": _title(self.latest),
            "job_types": sorted(self.job_types),
            "dead_letters": self.dead_letters,
            "failed": self.failed,
            "retried": self.retried,
            **self.spans,
            "bars": self.bars,
            "first_seen": keys.timestamp(self.first_seen),
            "last_seen": keys.timestamp(self.last_seen),
            "job_id": self.latest.id,
        }


def group(queue: JobQueue) -> dict[str, Any]:
    """Dead letters and what waits for a retry, the latest first; `truncated` if some were not read."""
    now = queue.now()
    groups: dict[str, Group] = {}
    examined, truncated = 0, False
    for status in (Status.DEAD_LETTER, Status.FAILED):
        cursor, read = None, 0
        while read < READ_BUDGET:
            page = queue.list(status=status, limit=200, cursor=cursor)
            for job in page.jobs:
                seen_at = job.finished_at or job.updated_at or job.created_at
                name = job.fingerprint or "unknown"
                found = groups.setdefault(name, Group(name, job, seen_at, seen_at))
                found.add(job, seen_at, now)
            examined += len(page.jobs)
            # A page can be short because it read as much as one may: that is the end of it here, too.
            read += 200 if page.jobs else READ_BUDGET
            cursor = page.cursor
            if cursor is None:
                break
        truncated = truncated or cursor is not None
    ordered = sorted(groups.values(), key=lambda each: each.last_seen, reverse=True)
    return {"groups": [each.view() for each in ordered], "examined": examined, "truncated": truncated}


def _title(job: Job) -> str:
    errors = [run.error for run in job.runs if run.error]
    return errors[-1] if errors else words.first_line(job.last_error or "") or "no message"
