"""`/api/admin/jobs…` and the groups of what went wrong."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler import Response

from dynajobs.http.models import (
    Bulk,
    BulkOut,
    Enqueue,
    GroupsOut,
    JobDetail,
    JobOut,
    JobPage,
    Reschedule,
    StatsOut,
    WhyOut,
)
from dynajobs.http.routing import App, Cursor, Filter, Id, Limit, StateFilter, TypeFilter, answer
from dynajobs.operating.bulk import Request

JOBS = "/api/admin/jobs"


def add(app: App) -> None:
    """Bind them."""

    @app.route("GET", JOBS, answers={200: JobPage}, refuses=(400,), tag="jobs")
    def list_jobs(
        state: StateFilter = None,
        type: TypeFilter = None,  # noqa: A002 - the parameter's name in the URL
        org_id: Filter = None,
        schedule_name: Filter = None,
        fingerprint: Filter = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response[JobPage]:
        """List jobs.

        Live ones in the order they will run, then finished ones, newest first. A page may be short and still
        have a cursor.
        """
        filters = {
            "status": state,
            "job_type": type,
            "org_id": org_id,
            "schedule_name": schedule_name,
            "fingerprint": fingerprint,
        }
        return answer(app.operator.jobs.list(limit=limit, cursor=cursor, **filters))

    @app.route("POST", JOBS, answers={201: JobOut, 200: JobOut}, tag="jobs")
    def enqueue_job(job: Enqueue) -> Response[JobOut]:
        """Enqueue a job.

        201, or 200 with `created: false` if a job with its dedup key is there.
        """
        options = job.given()
        made = app.operator.jobs.enqueue(options.pop("job_type"), options.pop("payload", None), **options)
        return answer(made, 201 if made["created"] else 200)

    @app.route("GET", f"{JOBS}/stats", answers={200: StatsOut}, tag="jobs")
    def get_stats() -> Response[StatsOut]:
        """Count jobs by state and type."""
        return answer(app.operator.stats())

    @app.route("POST", f"{JOBS}/bulk", answers={200: BulkOut}, tag="jobs")
    def change_jobs(bulk: Bulk) -> Response[BulkOut]:
        """Do one thing to many jobs, or preview it.

        At most 100 a call: send it again with the answer's `cursor` until that is null. A call whose answer
        was lost is sent again as it was.
        """
        options = bulk.given()
        if bulk.filter is not None:
            chosen = bulk.filter.given()
            renamed = {"state": "status", "type": "job_type"}
            options["filter"] = {renamed.get(name, name): value for name, value in chosen.items()}
        return answer(app.operator.jobs.bulk(Request(**options)))

    @app.route("GET", "/api/admin/errors", answers={200: GroupsOut}, tag="jobs")
    def list_errors() -> Response[GroupsOut]:
        """Group dead letters and failed jobs by what went wrong."""
        return answer(app.operator.jobs.errors())

    @app.route("GET", f"{JOBS}/<job_id>", answers={200: JobDetail}, refuses=(404,), tag="jobs")
    def get_job(job_id: Id) -> Response[JobDetail]:
        """Show a job."""
        return answer(app.operator.jobs.show(job_id))

    @app.route("GET", f"{JOBS}/<job_id>/why", answers={200: WhyOut}, refuses=(404,), tag="jobs")
    def explain_job(job_id: Id) -> Response[WhyOut]:
        """Say why a job is not running."""
        return answer(app.operator.jobs.why(job_id))

    @app.route(
        "POST", f"{JOBS}/<job_id>/retry", answers={201: JobOut, 200: JobOut}, refuses=(404, 409), tag="jobs"
    )
    def retry_job(job_id: Id) -> Response[JobOut]:
        """Run a job again.

        A finished one as a new job (201); a failed one becomes due now, and what was retried before is
        answered again (200).
        """
        made = app.operator.jobs.retry(job_id)
        return answer(made, 201 if made["created"] else 200)

    @app.route(
        "POST", f"{JOBS}/<job_id>/cancel", answers={200: JobOut, 202: JobOut}, refuses=(404, 409), tag="jobs"
    )
    def cancel_job(job_id: Id) -> Response[JobOut]:
        """Cancel a waiting job (200), or ask a running one to stop (202)."""
        changed = app.operator.jobs.cancel(job_id)
        return answer(changed, 202 if changed["status"] == "in_progress" else 200)

    @app.route("POST", f"{JOBS}/<job_id>/reschedule", answers={200: JobOut}, refuses=(404, 409), tag="jobs")
    def reschedule_job(job_id: Id, change: Reschedule) -> Response[JobOut]:
        """Move a waiting job to another time or priority, or right ahead of another."""
        options: dict[str, Any] = {name: value for name, value in change.given().items() if value is not None}
        return answer(app.operator.jobs.reschedule(job_id, **options))
