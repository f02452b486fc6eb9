"""The entry point of a handler Lambda: begin the claimed job an event names, run it, tell the outcome."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from dynajobs.errors import InvalidJob
from dynajobs.execution import Executor
from dynajobs.item import Item
from dynajobs.keys import new_id
from dynajobs.lease import Renewer, lease_end
from dynajobs.queue import JobQueue
from dynajobs.telemetry import Telemetry, configure, logger

if TYPE_CHECKING:
    from dynajobs.registry import Registry

_EVENT = ("pk", "sk", "job_id", "token")


def job_function(registry: Registry, queue: JobQueue | None = None) -> Callable[[Any, Any], dict[str, str]]:
    """The Lambda handler; the queue of the environment is opened with the first event."""
    made: list[Executor] = []

    def executor() -> Executor:
        if not made:
            opened = queue or JobQueue.from_env()
            configure(opened.settings)
            made.append(
                Executor(opened, registry, Telemetry(opened.settings), Renewer(opened.settings.lease))
            )
        return made[0]

    def handle(event: Any, context: Any) -> dict[str, str]:
        return _run(executor(), event, context)

    return handle


def _run(executor: Executor, event: Any, context: Any) -> dict[str, str]:
    if not isinstance(event, dict) or not all(
        isinstance(event.get(name), str) and event[name] for name in _EVENT
    ):
        raise InvalidJob(f"the event is not a job's: it must have the strings {', '.join(_EVENT)}")
    queue = executor.queue
    key: Item = {"PK": {"S": event["pk"]}, "SK": {"S": event["sk"]}}
    now = queue.now()
    left = getattr(context, "get_remaining_time_in_millis", None)
    deadline = now + timedelta(milliseconds=left()) if left else None
    seen = queue.store.begin(
        key,
        event["token"],
        now,
        nonce=new_id(),
        worker=getattr(context, "log_stream_name", None) or "local",
        log=_log(context),
        max_attempts=_max_attempts(executor, key),
        until=lease_end(now, queue.settings.lease, deadline),
    )
    if seen is None:
        logger.info("stale event", extra={"job_id": event["job_id"]})
        return {"job_id": event["job_id"], "status": "stale"}
    try:
        job = executor.run(seen, deadline)
    finally:
        executor.telemetry.flush()
    return {"job_id": event["job_id"], "status": "stale" if job is None else job.status.value}


def _max_attempts(executor: Executor, key: Item) -> int:
    """The limit to stamp. The event does not name the job type: it is read only if it makes a difference."""
    types = executor.registry.handlers
    limits = {executor.max_attempts(job_type) for job_type in types} or {executor.queue.settings.max_attempts}
    if len(limits) > 1 and (seen := executor.queue.store.read(key)):
        return executor.max_attempts(seen.job.job_type)
    return limits.pop()


def _log(context: Any) -> dict[str, str] | None:
    names = {"group": "log_group_name", "stream": "log_stream_name", "request_id": "aws_request_id"}
    found = {part: getattr(context, name, None) for part, name in names.items()}
    return {part: str(text) for part, text in found.items() if text} or None
