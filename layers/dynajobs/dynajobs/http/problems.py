"""Errors as answers: one table from what was raised to a status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from dynajobs.errors import (
    AlreadyExists,
    DynajobsError,
    InvalidCursor,
    InvalidJob,
    InvalidSchedule,
    InvalidTransition,
    JobNotFound,
    ReservationBusy,
    ScheduleNotFound,
    TemplateInUse,
    TemplateNotFound,
    Unavailable,
)

STATUS: dict[type[DynajobsError], int] = {
    InvalidCursor: 400,
    JobNotFound: 404,
    ScheduleNotFound: 404,
    TemplateNotFound: 404,
    AlreadyExists: 409,
    InvalidTransition: 409,
    ReservationBusy: 409,
    TemplateInUse: 409,
    InvalidJob: 422,
    InvalidSchedule: 422,
    Unavailable: 503,
}


class Refusal(Exception):
    """An answer that is not what was asked for."""

    def __init__(
        self,
        status: int,
        error: str,
        message: str,
        details: Any = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.details = details
        self.headers = headers

    @property
    def body(self) -> dict[str, Any]:
        """As JSON."""
        told = {"error": self.error, "message": self.message}
        return told if self.details is None else told | {"details": self.details}


def not_allowed(method: str, allowed: Iterable[str]) -> Refusal:
    """The path is known, but not for this."""
    those = ", ".join(sorted(allowed))
    return Refusal(405, "MethodNotAllowed", f"{method} is not done here: {those}", headers={"Allow": those})


def refusal(error: DynajobsError) -> Refusal:
    """What an error of the library says over HTTP."""
    kind = next((each for each in type(error).__mro__ if each in STATUS), None)
    if kind is None:
        return Refusal(500, type(error).__name__, str(error))
    details: Any = None
    if isinstance(error, InvalidSchedule):
        details = {"field": error.field}
    elif isinstance(error, InvalidTransition):
        details = {"id": error.job.id, "status": error.job.status.value}
    headers = {"Retry-After": "5"} if STATUS[kind] == 503 else {}
    # What AWS said stays in the log: it may name what callers need not know.
    message = "AWS did not answer: try again" if STATUS[kind] == 503 else str(error)
    return Refusal(STATUS[kind], kind.__name__, message, details, headers)


def invalid(errors: Sequence[Any]) -> Refusal:
    """What a validator found, without the values: they may be secret."""
    details = [{"field": _place(each["loc"]), "message": _said(each)} for each in errors]
    first = details[0]
    return Refusal(422, "Invalid", f"{first['field']} {first['message']}", details)


def _place(loc: tuple[Any, ...]) -> str:
    """`priority`, `filter.state`: where it is, as its sender would name it."""
    parts = [str(part) for part in loc]
    return ".".join(parts[1:] if parts[0] in ("body", "query", "path") and len(parts) > 1 else parts)


def _said(error: dict[str, Any]) -> str:
    kind, said = error["type"], str(error.get("msg", ""))
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "is not known here"
    for ours, theirs in (("", "Value error, "), ("must", "Input should"), ("must", "String should")):
        if said.startswith(theirs):
            said = f"{ours}{said.removeprefix(theirs)}"
    return said.replace("a valid dictionary or object to extract fields from", "a JSON object")
