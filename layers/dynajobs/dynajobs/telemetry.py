"""Logs and Sentry: the only user of powertools' logging and of sentry_sdk, both loaded when first needed."""

from __future__ import annotations

import json
import logging
import sys
import threading
from contextlib import suppress
from typing import IO, Any

from dynajobs import fault, redact
from dynajobs.job import Job, Status
from dynajobs.keys import timestamp
from dynajobs.settings import Settings

# A producer's process decides about its own output: on import nothing is configured.
logger = logging.getLogger("dynajobs")
logger.addHandler(logging.NullHandler())

# Sentry drops an event over 1 MB whole, and a payload may have 256 KB of its own.
_MAX_SENT_PAYLOAD = 16 * 1024
_RESERVED = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime"})


def configure(
    settings: Settings,  # noqa: ARG001  every process has them
    *,
    service: str = "dynajobs",
    stream: IO[str] | None = None,
) -> None:
    """Write this process's dynajobs lines to stdout (or `stream`) as JSON, at POWERTOOLS_LOG_LEVEL or INFO.

    For processes that are ours (the Lambdas and the worker); calling it again changes nothing.
    """
    # Any part of powertools imports all of it (75 ms), so its own Logger costs no more than its formatter.
    from aws_lambda_powertools.logging import Logger

    for handler in [each for each in logger.handlers if isinstance(each, logging.NullHandler)]:
        # A second powertools Logger of this name would take the first handler for its own.
        logger.removeHandler(handler)
    Logger(service=logger.name, utc=True, use_rfc3339=True, stream=stream).append_keys(service=service)


class Telemetry:
    """What a process says about its jobs. No method raises: telling must never change what happens."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._used = False
        self._complained = False
        self._refused = False

    def transition(
        self,
        message: str,
        job: Job,
        *,
        level: int = logging.INFO,
        payload: Any = None,
        model: Any = None,
        **fields: Any,
    ) -> None:
        """One line: what happened to which job, and the fields that belong to it.

        The payload is logged only if a setting says so, and only where it is given: who knows the handler
        knows which fields are secret.
        """
        if not logger.isEnabledFor(level):
            return
        with suppress(Exception):
            # The logging module refuses fields named like its own.
            extra = {f"{name}_" if name in _RESERVED else name: value for name, value in fields.items()}
            if self._settings.log_payloads and payload is not None:
                extra["payload"] = self._masked(payload, model)
            extra |= _identity(job)
            logger.log(level, message, extra=extra, stacklevel=2)

    def failure(
        self,
        job: Job,
        error: BaseException | None,
        *,
        message: str | None = None,
        payload: Any = None,
        model: Any = None,
    ) -> None:
        """Report a failed attempt or a dead letter to Sentry, if there is one.

        `payload` is what the handler got, if it is to be sent. `model`, the payload's class, tells which
        fields are secret where the payload is plain data.
        """
        try:
            sentry = self._sentry()
            if sentry is None:
                return
            event, hint = _event(sentry, job, error, message)
            event["tags"] = {name: str(value) for name, value in _identity(job).items()}
            event["contexts"] = {"job": _context(job, error) | self._payload(payload, model)}
            if job.fingerprint:
                event["fingerprint"] = [job.fingerprint]
            self._used = True
            sentry.capture_event(event, hint)
        except Exception as problem:  # noqa: BLE001  the job's outcome must not depend on Sentry
            self._complain(problem)

    def flush(self, timeout: float = 2.0) -> None:
        """Send what is waiting: a Lambda that has answered is frozen, and the sending thread with it."""
        if not self._used:
            return
        try:
            sys.modules["sentry_sdk"].flush(timeout=timeout)
        except Exception as problem:  # noqa: BLE001  as above
            self._complain(problem)

    def _sentry(self) -> Any:
        """sentry_sdk with a client that sends, the user's own if there is one; else None."""
        if "sentry_sdk" not in sys.modules and not self._settings.sentry_dsn:
            return None
        # As much as half of a poller's other imports together, and rarely needed.
        import sentry_sdk

        with self._lock:
            if not sentry_sdk.get_client().is_active():
                if not self._settings.sentry_dsn or self._refused:
                    return None
                self._refused = True
                sentry_sdk.init(
                    dsn=self._settings.sentry_dsn,
                    # Locals and breadcrumbs would carry payloads past the mask. Personal data is not sent
                    # by default, and newer versions warn of the option that says so.
                    include_local_variables=False,
                    max_breadcrumbs=0,
                    # We report what failed; nothing is to be patched or reported on its own.
                    default_integrations=False,
                    auto_enabling_integrations=False,
                    auto_session_tracking=False,
                    send_client_reports=False,
                    enable_backpressure_handling=False,
                    in_app_exclude=["dynajobs"],
                )
                self._refused = False
        return sentry_sdk

    def _payload(self, payload: Any, model: Any) -> dict[str, Any]:
        if payload is None or not self._settings.sentry_payloads:
            return {}
        masked = self._masked(payload, model)
        text = json.dumps(masked, ensure_ascii=False, default=lambda value: f"<{type(value).__name__}>")
        if len(text) > _MAX_SENT_PAYLOAD:
            return {"payload": text[:_MAX_SENT_PAYLOAD] + "…"}
        return {"payload": json.loads(text)}

    def _masked(self, payload: Any, model: Any) -> Any:
        extra = (*self._settings.redact, *redact.secret_names(model))
        mask = redact.mask_model if hasattr(payload, "model_dump") else redact.mask
        return mask(payload, extra)

    def _complain(self, problem: Exception) -> None:
        if not self._complained:
            self._complained = True
            logger.warning("Sentry cannot be used: %s: %s", type(problem).__name__, fault.describe(problem))


def _identity(job: Job) -> dict[str, Any]:
    last = job.runs[-1].attempt if job.runs else job.attempts
    attempt = job.attempts + 1 if job.status is Status.IN_PROGRESS else last
    return {"job_id": job.id, "job_type": job.job_type, "attempt": attempt, "status": str(job.status)}


def _context(job: Job, error: BaseException | None) -> dict[str, Any]:
    context = {
        "job_id": job.id,
        "job_type": job.job_type,
        "status": str(job.status),
        "scheduled_for": timestamp(job.scheduled_for),
        "created_at": timestamp(job.created_at),
        "attempts": job.attempts,
        "max_attempts": job.max_attempts,
        "undelivered": job.undelivered,
        "priority": job.priority,
        "worker": job.runs[-1].worker if job.runs else None,
        "fingerprint": job.fingerprint,
        "org_id": job.org_id,
        "group_id": job.group_id,
        "schedule_name": job.schedule_name,
        "triggered_by": job.triggered_by,
        "template": job.template,
        "retry_of": job.retry_of,
        # An exception brings its own traceback.
        "last_error": job.last_error if error is None else None,
    }
    return {name: value for name, value in context.items() if value is not None}


def _event(sentry: Any, job: Job, error: BaseException | None, message: str | None) -> tuple[Any, Any]:
    if error is None:
        return {"level": "error", "message": message or f"{job.job_type}: {job.status}"}, {}
    from sentry_sdk.utils import event_from_exception

    # Also where the user's own client would send locals: they hold the payload unmasked.
    options = {**sentry.get_client().options, "include_local_variables": False}
    mechanism = {"type": "dynajobs", "handled": True}
    event, hint = event_from_exception(error, client_options=options, mechanism=mechanism)
    safe = {text: fault.describe(each) for each in _tree(error) if (text := _text(each))}
    for value in event["exception"]["values"]:
        raw = value.get("value") or ""
        # Notes follow the text. What a validation error says in full must not be sent, known or not.
        known = next((text for text in sorted(safe, key=len, reverse=True) if raw.startswith(text)), None)
        if known is not None:
            value["value"] = safe[known] + raw[len(known) :]
        elif str(value.get("type")).endswith("ValidationError"):
            value["value"] = "<details withheld>"
    if message:
        event["message"] = message
    return event, hint


def _tree(error: BaseException) -> list[BaseException]:
    found = [each for each, _ in fault.chain(error)]
    for each in found:
        if isinstance(each, BaseExceptionGroup) and len(found) < 100:
            found += [leaf for inner in each.exceptions for leaf, _ in fault.chain(inner)]
    return found


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  a broken __str__ has no text to replace
        return ""
