"""A scheduled job queue in one DynamoDB table.

Everything here is loaded when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynajobs.backoff import Backoff as Backoff
    from dynajobs.context import JobContext as JobContext
    from dynajobs.dedup import make_dedup_key as make_dedup_key
    from dynajobs.errors import (
        AlreadyExists as AlreadyExists,
    )
    from dynajobs.errors import (
        DynajobsError as DynajobsError,
    )
    from dynajobs.errors import (
        EnqueueFailed as EnqueueFailed,
    )
    from dynajobs.errors import (
        InvalidCursor as InvalidCursor,
    )
    from dynajobs.errors import (
        InvalidJob as InvalidJob,
    )
    from dynajobs.errors import (
        InvalidSchedule as InvalidSchedule,
    )
    from dynajobs.errors import (
        InvalidSettings as InvalidSettings,
    )
    from dynajobs.errors import (
        InvalidTransition as InvalidTransition,
    )
    from dynajobs.errors import (
        JobNotFound as JobNotFound,
    )
    from dynajobs.errors import (
        LeaseLost as LeaseLost,
    )
    from dynajobs.errors import (
        RegistrationError as RegistrationError,
    )
    from dynajobs.errors import (
        ReservationBusy as ReservationBusy,
    )
    from dynajobs.errors import (
        ScheduleNotFound as ScheduleNotFound,
    )
    from dynajobs.errors import (
        TemplateInUse as TemplateInUse,
    )
    from dynajobs.errors import (
        TemplateNotFound as TemplateNotFound,
    )
    from dynajobs.errors import (
        Unavailable as Unavailable,
    )
    from dynajobs.job import (
        Job as Job,
    )
    from dynajobs.job import (
        Page as Page,
    )
    from dynajobs.job import (
        Run as Run,
    )
    from dynajobs.job import (
        Stats as Stats,
    )
    from dynajobs.job import (
        Status as Status,
    )
    from dynajobs.outcome import (
        Discard as Discard,
    )
    from dynajobs.outcome import (
        JobResult as JobResult,
    )
    from dynajobs.outcome import (
        Snooze as Snooze,
    )
    from dynajobs.queue import JobQueue as JobQueue
    from dynajobs.registry import BaseJobHandler as BaseJobHandler
    from dynajobs.registry import Registry as Registry
    from dynajobs.schedule import Schedule as Schedule
    from dynajobs.schedule import ScheduleRun as ScheduleRun
    from dynajobs.settings import Settings as Settings

_HOMES = {
    "backoff": ["Backoff"],
    "context": ["JobContext"],
    "dedup": ["make_dedup_key"],
    "errors": [
        "AlreadyExists",
        "DynajobsError",
        "EnqueueFailed",
        "InvalidCursor",
        "InvalidJob",
        "InvalidSchedule",
        "InvalidSettings",
        "InvalidTransition",
        "JobNotFound",
        "LeaseLost",
        "RegistrationError",
        "ReservationBusy",
        "ScheduleNotFound",
        "TemplateInUse",
        "TemplateNotFound",
        "Unavailable",
    ],
    "job": ["Job", "Page", "Run", "Stats", "Status"],
    "outcome": ["Discard", "JobResult", "Snooze"],
    "queue": ["JobQueue"],
    "registry": ["BaseJobHandler", "Registry"],
    "schedule": ["Schedule", "ScheduleRun"],
    "settings": ["Settings"],
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dynajobs' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"dynajobs.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOME)
