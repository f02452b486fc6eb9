"""`/api/admin/schedules…`."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from dynajobs.http.models import (
    Backfill,
    Backfilled,
    CreateSchedule,
    NextOut,
    Preview,
    PreviewOut,
    RunPage,
    ScheduleOut,
    SchedulesOut,
    Triggered,
    UpdateSchedule,
)
from dynajobs.http.routing import App, Cursor, Limit, NamePath, answer

SCHEDULES = "/api/admin/schedules"
ONE = f"{SCHEDULES}/<name>"


def add(app: App) -> None:
    """Bind them."""

    @app.route("GET", SCHEDULES, answers={200: SchedulesOut}, tag="schedules")
    def list_schedules(recent: Annotated[int, Query(ge=0, le=50)] = 0) -> Response[SchedulesOut]:
        """List all schedules, by name, each with its latest runs if `recent` asks for some."""
        return answer(app.operator.schedules.list(recent))

    @app.route("POST", SCHEDULES, answers={201: ScheduleOut}, refuses=(404, 409), tag="schedules")
    def create_schedule(schedule: CreateSchedule) -> Response[ScheduleOut]:
        """Create a schedule of a job type, or of a template."""
        arguments = schedule.given()
        return answer(app.operator.schedules.create(arguments.pop("name"), **arguments), 201)

    @app.route("POST", f"{SCHEDULES}/preview", answers={200: PreviewOut}, role="read", tag="schedules")
    def preview_schedule(preview: Preview) -> Response[PreviewOut]:
        """Say what a cron expression would do."""
        return answer(app.operator.schedules.preview(preview.cron, preview.timezone, preview.n))

    @app.route("GET", ONE, answers={200: ScheduleOut}, refuses=(404,), tag="schedules")
    def get_schedule(name: NamePath) -> Response[ScheduleOut]:
        """Show a schedule."""
        return answer(app.operator.schedules.get(name))

    @app.route("PUT", ONE, answers={200: ScheduleOut}, refuses=(404,), tag="schedules")
    def update_schedule(name: NamePath, changes: UpdateSchedule) -> Response[ScheduleOut]:
        """Change a schedule; what is left out stays."""
        return answer(app.operator.schedules.update(name, **changes.given()))

    @app.route("DELETE", ONE, answers={204: None}, refuses=(404,), tag="schedules")
    def delete_schedule(name: NamePath) -> Response[str]:
        """Delete a schedule; its history stays until it expires."""
        app.operator.schedules.delete(name)
        return answer(None, 204)

    @app.route("POST", f"{ONE}/enable", answers={200: ScheduleOut}, refuses=(404,), tag="schedules")
    def enable_schedule(name: NamePath) -> Response[ScheduleOut]:
        """Run it from its next slot on."""
        return answer(app.operator.schedules.enable(name))

    @app.route("POST", f"{ONE}/disable", answers={200: ScheduleOut}, refuses=(404,), tag="schedules")
    def disable_schedule(name: NamePath) -> Response[ScheduleOut]:
        """Run it no more until it is enabled."""
        return answer(app.operator.schedules.disable(name))

    @app.route("POST", f"{ONE}/trigger", answers={202: Triggered}, refuses=(404,), tag="schedules")
    def trigger_schedule(name: NamePath) -> Response[Triggered]:
        """Run it once now."""
        return answer(app.operator.schedules.trigger(name), 202)

    @app.route("POST", f"{ONE}/backfill", answers={200: Backfilled}, refuses=(404,), tag="schedules")
    def backfill_schedule(name: NamePath, slots: Backfill) -> Response[Backfilled]:
        """Run slots of the past that had no job, at most 100."""
        return answer(app.operator.schedules.backfill(name, slots.start, slots.end))

    @app.route("GET", f"{ONE}/runs", answers={200: RunPage}, refuses=(400, 404), tag="schedules")
    def list_runs(name: NamePath, limit: Limit = 50, cursor: Cursor = None) -> Response[RunPage]:
        """List its runs, newest first, missed and skipped slots included."""
        return answer(app.operator.schedules.runs(name, limit=limit, cursor=cursor))

    @app.route("GET", f"{ONE}/next", answers={200: NextOut}, refuses=(404,), tag="schedules")
    def list_next(name: NamePath, n: Annotated[int, Query(ge=1, le=1000)] = 5) -> Response[NextOut]:
        """List its coming slots."""
        return answer(app.operator.schedules.next(name, n))
