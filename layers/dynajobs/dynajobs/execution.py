"""Running one begun job to its outcome: parse, call, understand the answer, record it, report it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from dynajobs import fault, history, lifecycle
from dynajobs.claiming import backoff_delay
from dynajobs.context import JobContext
from dynajobs.dynamo import Rejected
from dynajobs.errors import InvalidJob, LeaseLost
from dynajobs.fault import Fault
from dynajobs.item import Stored
from dynajobs.job import Job
from dynajobs.jsons import cut_json, cut_text, exact
from dynajobs.lease import Lease, Renewer
from dynajobs.outcome import Discard, JobResult, Snooze
from dynajobs.queue import JobQueue
from dynajobs.registry import Handler, Registry
from dynajobs.store import ActionRefused
from dynajobs.telemetry import Telemetry

MAX_RESULT = 16 * 1024
MAX_DETAILS = 4 * 1024
MAX_MESSAGE = 1024

Transition = Callable[[Job, datetime], Job]
Settle = Callable[[Stored, Callable[[Job], Job], list[dict[str, Any]]], Job]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a run: the transition to make, and what to tell of it."""

    transition: Transition
    error: BaseException | None = None
    actions: list[dict[str, Any]] = field(default_factory=list)


class Executor:
    """Runs begun jobs with the handlers of a registry."""

    def __init__(
        self,
        queue: JobQueue,
        registry: Registry,
        telemetry: Telemetry,
        renewer: Renewer | None = None,
        settle: Settle | None = None,
    ) -> None:
        self.queue = queue
        self.registry = registry
        self.telemetry = telemetry
        self.renewer = renewer
        self.settle = settle or queue.store.settle

    def max_attempts(self, job_type: str) -> int:
        """The limit of a job that was enqueued without one."""
        handler = self.registry.handlers.get(job_type)
        return (handler and handler.max_attempts) or self.queue.settings.max_attempts

    def run(self, seen: Stored, deadline: datetime | None = None) -> Job | None:
        """Run a begun job and record what became of it; None if the lease was lost on the way."""
        lease = Lease(self.queue.store, seen, self.queue.now, deadline)
        if self.renewer:
            self.renewer.add(lease)
        started_at = self.queue.now()
        context = JobContext(
            lease, started_at, self.queue.now, partial(history.previous_success, self.queue.store)
        )
        model: Any = None
        try:
            handler = self.registry.handlers.get(seen.job.job_type)
            if handler is None:
                verdict = self._unknown(seen.job)
            else:
                try:
                    model = handler.parse(seen.job.payload_json or "{}")
                except ValueError as error:
                    verdict = _unfit(seen.job, error)
                else:
                    verdict = self._perform(handler, model, context)
        finally:
            if self.renewer:
                self.renewer.remove(lease)
            seen = lease.close()
        return self._record(seen, verdict, context, model)

    def _perform(self, handler: Handler, payload: Any, context: JobContext) -> Verdict:
        """Call the handler and understand its answer. Whatever it raises is its answer, exits included."""
        try:
            return self._understood(handler, handler.call(payload, context), context)
        except (Snooze, Discard) as answer:
            return self._understood(handler, answer, context)
        except BaseException as error:  # noqa: BLE001 - SystemExit in a handler must not end the worker
            return self._failed(handler, fault.from_exception(handler.job_type, error), error)

    def _understood(self, handler: Handler, answer: Any, context: JobContext) -> Verdict:
        if isinstance(answer, Snooze):
            return self._snoozed(handler, answer)
        if isinstance(answer, Discard):
            cause = fault.from_message(
                handler.job_type, "Discard", answer.reason or "discarded by the handler"
            )
            return Verdict(lambda job, now: lifecycle.discard(job, now, cause), answer)
        try:
            if isinstance(answer, JobResult):
                message, details = (
                    cut_text(str(answer.message), MAX_MESSAGE),
                    _kept(answer.details, MAX_DETAILS),
                )
                if not answer.success:
                    cause = fault.from_message(handler.job_type, "JobFailed", message or "success=False")
                    return self._failed(handler, cause, None, message=message, details=details)
                result = context.result
            else:
                message, details, result = None, None, context.result if answer is None else answer
            result = _kept(result, MAX_RESULT)
        except InvalidJob as error:
            return self._failed(handler, fault.from_message(handler.job_type, "NotJSON", str(error)), None)
        return Verdict(
            lambda job, now: lifecycle.complete(
                job, now, result=result, message=message or None, details=details
            ),
            actions=context.actions,
        )

    def _snoozed(self, handler: Handler, answer: Snooze) -> Verdict:
        try:
            self.queue.now() + answer.delay
        except OverflowError:
            cause = fault.from_message(handler.job_type, "Snooze", f"{answer.delay} is beyond the year 9999")
            return self._failed(handler, cause, None)
        return Verdict(lambda job, now: lifecycle.snooze(job, now, delay=answer.delay))

    def _unknown(self, job: Job) -> Verdict:
        """An ordinary failure: the deploy that brings the handler may lag behind the producer's."""
        known = ", ".join(sorted(self.registry.handlers)) or "none"
        cause = fault.from_message(
            job.job_type, "UnknownJobType", f"no handler for job type {job.job_type!r} (registered: {known})"
        )
        return self._failed(None, cause, None)

    def _failed(
        self, handler: Handler | None, cause: Fault, error: BaseException | None, **closing: Any
    ) -> Verdict:
        jitter = self.queue.random.random()

        def fail(job: Job, now: datetime) -> Job:
            delay = backoff_delay(self.queue, job.attempts + 1, jitter, handler.backoff if handler else None)
            return lifecycle.fail(job, now, cause, delay=delay, **closing)

        return Verdict(fail, error)

    def _record(self, seen: Stored, verdict: Verdict, context: JobContext, model: Any) -> Job | None:
        try:
            job = self.settle(seen, lambda job: verdict.transition(job, self.queue.now()), verdict.actions)
        except ActionRefused as refused:
            cause = fault.from_message(seen.job.job_type, "ActionRefused", str(refused))
            return self._record_failure(seen, cause, refused, context, model)
        except (Rejected, AttributeError, TypeError, ValueError) as error:
            # The last three are botocore's, which does not check what it is told not to check.
            if not verdict.actions:
                raise
            text = f"complete_with: {type(error).__name__}: {error}"
            cause = fault.from_message(seen.job.job_type, "ActionsRejected", text)
            return self._record_failure(seen, cause, error, context, model)
        except LeaseLost:
            self.telemetry.transition("lease lost", seen.job)
            return None
        self._tell(job, verdict, context, model)
        return job

    def _tell(self, job: Job, verdict: Verdict, context: JobContext, model: Any) -> None:
        run = job.closed_runs[-1]
        handler = self.registry.handlers.get(job.job_type)
        # Without a handler nobody knows which fields are secret.
        known: dict[str, Any] = {}
        if handler:
            known = {"payload": job.payload if model is None else model, "model": handler.model}
        took = (run.finished_at or job.created_at) - (run.started_at or job.created_at)
        self.telemetry.transition(
            f"job {'snoozed' if run.status == 'snoozed' else job.status.replace('_', ' ')}",
            job,
            duration_ms=_ms(took),
            late_ms=_ms(context.late_by),
            **known,
        )
        if run.status in ("failed", "discarded"):
            self.telemetry.failure(job, verdict.error, message=run.error, **known)

    def _record_failure(
        self, seen: Stored, cause: Fault, error: BaseException, context: JobContext, model: Any
    ) -> Job | None:
        handler = self.registry.handlers.get(seen.job.job_type)
        return self._record(seen, self._failed(handler, cause, error), context, model)


def _unfit(job: Job, error: BaseException) -> Verdict:
    cause = fault.from_validation(job.job_type, error)
    return Verdict(lambda seen, now: lifecycle.discard(seen, now, cause, run_status="failed"), error)


def _kept(value: Any, most: int) -> Any:
    return None if value is None else cut_json(exact(value, "result"), most)


def _ms(span: timedelta) -> int:
    return round(span.total_seconds() * 1000)
