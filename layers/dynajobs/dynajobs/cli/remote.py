"""An operator at the other end of the HTTP API: asks and does what `dynajobs.operating.operator` does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from dynajobs import keys
from dynajobs.cli.wire import Wire
from dynajobs.errors import InvalidJob, JobNotFound, ScheduleNotFound, TemplateNotFound
from dynajobs.invoke import POLL_SECONDS
from dynajobs.item import JOB_TYPE
from dynajobs.operating.bulk import Request
from dynajobs.producing import checked_type
from dynajobs.schedule_item import NAME

View = dict[str, Any]

JOBS = "/api/admin/jobs"
SCHEDULES = "/api/admin/schedules"
TEMPLATES = "/api/admin/templates"
RESERVATION = "/api/admin/reservation"


class Remote:
    """The queue as a whole."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.jobs = Jobs(wire)
        self.schedules = Schedules(wire)
        self.templates = Templates(wire)

    def stats(self) -> View:
        """Counts."""
        return _view(self._wire.get(f"{JOBS}/stats"))

    def about(self) -> View:
        """Where it is, and what is set."""
        return _view(self._wire.get("/api/admin/about"))

    def audit(self, limit: int = 50, cursor: str | None = None) -> View:
        """Who changed what."""
        return _view(self._wire.get("/api/admin/audit", limit=limit, cursor=cursor))

    def reservation(self) -> View:
        """Who has the queue to themselves."""
        return _view(self._wire.get(RESERVATION))

    def release(self) -> View:
        """End it."""
        return _view(self._wire.delete(RESERVATION))

    def tick(self) -> View:
        """Have the poller look now."""
        return _view(self._wire.post("/api/jobs/tick", patience=POLL_SECONDS + 10))


class Jobs:
    """What `operating.jobs.Jobs` does."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def list(self, *, limit: int = 50, cursor: str | None = None, **filters: Any) -> View:
        """One page."""
        for name, value in filters.items():
            if value == "":
                raise InvalidJob(f"{name} is '': it must be a string that is not empty, or None")
        if (job_type := filters.get("job_type")) is not None and not JOB_TYPE.fullmatch(job_type):
            return {"jobs": [], "cursor": None}  # as the table says: no job can have it
        return _view(self._wire.get(JOBS, limit=limit, cursor=cursor, **_filter(filters)))

    def show(self, job_id: str) -> View:
        """All there is to know about a job."""
        return _view(self._wire.get(_job(job_id)))

    def why(self, job_id: str) -> View:
        """Why it is not running."""
        return _view(self._wire.get(f"{_job(job_id)}/why"))

    def errors(self) -> View:
        """What went wrong, in groups."""
        return _view(self._wire.get("/api/admin/errors"))

    def enqueue(self, job_type: str, payload: Any = None, **options: Any) -> View:
        """A new job."""
        body = {"job_type": checked_type(job_type)} | _told({"payload": payload, **options})
        return _view(self._wire.post(JOBS, body))

    def retry(self, job_id: str) -> View:
        """Run it again."""
        return _view(self._wire.post(f"{_job(job_id)}/retry"))

    def cancel(self, job_id: str) -> View:
        """Cancel it."""
        return _view(self._wire.post(f"{_job(job_id)}/cancel"))

    def reschedule(self, job_id: str, **changes: Any) -> View:
        """Move it."""
        return _view(self._wire.post(f"{_job(job_id)}/reschedule", _told(changes)))

    def bulk(self, request: Request) -> View:
        """One action on many jobs."""
        body = _told(
            {
                "action": request.action,
                "ids": request.ids,
                "before": request.before,
                "cursor": request.cursor,
                "idempotency_key": request.idempotency_key,
            }
        )
        if request.filter is not None:
            body["filter"] = _filter(request.filter)
        return _view(self._wire.post(f"{JOBS}/bulk", body | {"dry_run": request.dry_run}))


class Schedules:
    """What `operating.schedules.Schedules` does."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def list(self) -> View:
        """All of them."""
        return _view(self._wire.get(SCHEDULES))

    def get(self, name: str) -> View:
        """One of them."""
        return _view(self._wire.get(_schedule(name)))

    def create(self, name: str, **arguments: Any) -> View:
        """A new one."""
        return _view(self._wire.post(SCHEDULES, {"name": name} | _told(arguments)))

    def update(self, name: str, **changes: Any) -> View:
        """Change what is given."""
        return _view(self._wire.put(_schedule(name), _told(changes)))

    def enable(self, name: str) -> View:
        """Run it from its next slot on."""
        return _view(self._wire.post(f"{_schedule(name)}/enable"))

    def disable(self, name: str) -> View:
        """Run it no more."""
        return _view(self._wire.post(f"{_schedule(name)}/disable"))

    def delete(self, name: str) -> None:
        """Forget it."""
        self._wire.delete(_schedule(name))

    def trigger(self, name: str) -> View:
        """Run it once now."""
        return _view(self._wire.post(f"{_schedule(name)}/trigger"))

    def backfill(self, name: str, start: datetime, end: datetime) -> View:
        """Run slots of the past."""
        return _view(self._wire.post(f"{_schedule(name)}/backfill", _told({"start": start, "end": end})))

    def runs(self, name: str, limit: int = 50, cursor: str | None = None) -> View:
        """One page of its history."""
        return _view(self._wire.get(f"{_schedule(name)}/runs", limit=limit, cursor=cursor))

    def next(self, name: str, n: int = 5) -> View:
        """Its coming slots."""
        return _view(self._wire.get(f"{_schedule(name)}/next", n=n))

    def preview(self, expression: str, timezone: str = "UTC", n: int = 10) -> View:
        """What an expression would do."""
        return _view(
            self._wire.post(f"{SCHEDULES}/preview", {"cron": expression, "timezone": timezone, "n": n})
        )


class Templates:
    """What `operating.templates.Templates` does."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def list(self) -> View:
        """All of them."""
        return _view(self._wire.get(TEMPLATES))

    def get(self, name: str) -> View:
        """One of them."""
        return _view(self._wire.get(_template(name)))

    def create(self, name: str, job_type: str, **arguments: Any) -> View:
        """A new one."""
        return _view(self._wire.post(TEMPLATES, {"name": name, "job_type": job_type} | _told(arguments)))

    def update(self, name: str, **changes: Any) -> View:
        """Change what is given."""
        return _view(self._wire.put(_template(name), _told(changes)))

    def delete(self, name: str) -> None:
        """Forget it."""
        self._wire.delete(_template(name))

    def enqueue(self, name: str, **options: Any) -> View:
        """A new job from it."""
        return _view(self._wire.post(f"{_template(name)}/enqueue", _told(options)))


def _view(body: Any) -> View:
    return dict(body or {})


def _told(arguments: Mapping[str, Any]) -> View:
    """Arguments as the API takes them: what is None is left out, times and lengths are written."""
    return {name: _written(value) for name, value in arguments.items() if value is not None}


def _written(value: Any) -> Any:
    if isinstance(value, datetime):
        return keys.timestamp(value)
    return value.total_seconds() if isinstance(value, timedelta) else value


def _filter(filters: Mapping[str, Any]) -> View:
    """Names as the API has them."""
    renamed = {"status": "state", "job_type": "type"}
    return {renamed.get(name, name): value for name, value in filters.items() if value is not None}


def _job(job_id: str) -> str:
    # What cannot be an id might be another path.
    if keys.canonical_id(job_id) is None:
        raise JobNotFound(f"{job_id!r} is no job id: it must be a UUID")
    return f"{JOBS}/{quote(job_id, safe='')}"


def _schedule(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ScheduleNotFound(f"there is no schedule {name!r}")
    return f"{SCHEDULES}/{quote(name, safe='')}"


def _template(name: str) -> str:
    if not NAME.fullmatch(name):
        raise TemplateNotFound(f"there is no template {name!r}")
    return f"{TEMPLATES}/{quote(name, safe='')}"
