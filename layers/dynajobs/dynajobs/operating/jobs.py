"""Jobs as operators see and change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynajobs.job import Status
from dynajobs.operating import bulk, groups, why
from dynajobs.operating.audit import Audit
from dynajobs.operating.masks import restored
from dynajobs.operating.telling import told
from dynajobs.views import job_view, page_view

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

View = dict[str, Any]


class Jobs:
    """Lists, details, changes. Every change is recorded under the actor's name."""

    def __init__(self, queue: JobQueue, audit: Audit) -> None:
        self._queue = queue
        self._audit = audit

    def list(self, *, limit: int = 50, cursor: str | None = None, **filters: Any) -> View:
        """One page; `filters`: status, job_type, org_id, schedule_name, fingerprint."""
        return page_view(self._queue.list(limit=limit, cursor=cursor, **filters), self._queue.settings)

    def show(self, job_id: str) -> View:
        """All there is to know about a job."""
        return job_view(self._queue.get(job_id), self._queue.settings, detail=True)

    def why(self, job_id: str) -> View:
        """Why a live job is not running: one ordered answer with its evidence."""
        return why.explain(self._queue, job_id)

    def errors(self) -> View:
        """Dead letters and failed jobs grouped by what went wrong."""
        return groups.group(self._queue)

    def enqueue(self, job_type: str, payload: Any = None, **options: Any) -> View:
        """A new job, or the one that is there already (`created` says which)."""
        with self._audit.of("jobs.enqueue", job_type, **told(options)) as details:
            payload = restored(payload, None, self._queue.settings.redact, "payload")
            job = self._queue.enqueue(job_type, payload, **options)
            details |= {"job_id": job.id, "created": job.created}
        return job_view(job, self._queue.settings)

    def retry(self, job_id: str) -> View:
        """Run a job again."""
        with self._audit.of("jobs.retry", job_id) as details:
            job = self._queue.retry(job_id)
            details |= {"job_id": job.id, "created": job.created}
        return job_view(job, self._queue.settings)

    def cancel(self, job_id: str) -> View:
        """Cancel a waiting job; ask a running one to stop."""
        with self._audit.of("jobs.cancel", job_id) as details:
            job = self._queue.cancel(job_id)
            details["requested"] = job.status is Status.IN_PROGRESS
        return job_view(job, self._queue.settings)

    def reschedule(self, job_id: str, **changes: Any) -> View:
        """Move a waiting job to another time or priority, or ahead of another."""
        with self._audit.of("jobs.reschedule", job_id, **told(changes)):
            job = self._queue.reschedule(job_id, **changes)
        return job_view(job, self._queue.settings)

    def bulk(self, request: bulk.Request) -> View:
        """One action on many jobs; see `dynajobs.operating.bulk`."""
        if request.dry_run:
            return bulk.preview(self._queue, request)
        results: list[View] = []
        with self._audit.of("jobs.bulk", request.action, **request.told()) as details:
            try:
                answer = bulk.carry_out(self._queue, request, results)
                details |= {name: answer[name] for name in ("done", "already", "skipped", "before")}
            finally:
                details["changed"] = [each["id"] for each in results if each["outcome"] == "done"]
        return answer
