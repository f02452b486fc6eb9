"""Everything dynajobs raises on purpose.

DynajobsError
├── InvalidJob (ValueError)         an argument of a producing or changing call is wrong
├── InvalidCursor (ValueError)      a page cursor is not one of ours, or belongs to other filters
├── InvalidSettings (ValueError)    an environment variable or setting is out of range
├── InvalidSchedule (ValueError)    an argument of a schedule is wrong; `.field` names it
├── RegistrationError (ValueError)  a handler cannot be registered as written
├── JobNotFound (LookupError)
├── ScheduleNotFound (LookupError)
├── TemplateNotFound (LookupError)
├── AlreadyExists                   a schedule or template of that name is there
├── InvalidTransition               the job's state forbids the change; `.job` is the job as it is
├── LeaseLost                       another worker owns the job now, or it was taken away
├── ReservationBusy                 somebody else holds the reservation
├── TemplateInUse                   a schedule still uses the template
├── EnqueueFailed                   some jobs of a batch were not written; `.jobs` are those that were
└── Unavailable                     AWS failed after retries; `__cause__` is its error
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynajobs.job import Job


class DynajobsError(Exception):
    """The root of every error dynajobs raises on purpose."""


class InvalidJob(DynajobsError, ValueError):
    """An argument is wrong; the message names it, its value and what would be right."""


class InvalidCursor(DynajobsError, ValueError):
    """The cursor is not one that this list returned for these filters."""


class InvalidSettings(DynajobsError, ValueError):
    """A setting is out of range; the message names the variable, its value and the range."""


class InvalidSchedule(DynajobsError, ValueError):
    """An argument of a schedule is wrong; `field` is the argument's name."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


class RegistrationError(DynajobsError, ValueError):
    """A handler cannot be registered as written; the message says what to change."""


class JobNotFound(DynajobsError, LookupError):
    """No job with this id is stored (finished jobs expire)."""


class ScheduleNotFound(DynajobsError, LookupError):
    """No schedule has this name."""


class TemplateNotFound(DynajobsError, LookupError):
    """No template has this name."""


class AlreadyExists(DynajobsError):
    """The name is taken."""


class InvalidTransition(DynajobsError):
    """The job's state forbids the change; `job` is the job as it is now."""

    def __init__(self, message: str, *, job: Job) -> None:
        super().__init__(message)
        self.job = job


class LeaseLost(DynajobsError):
    """The lease on a job is held by somebody else now: stop working on it."""


class ReservationBusy(DynajobsError):
    """The reservation is held; try again later or wait for it."""


class TemplateInUse(DynajobsError):
    """A schedule still uses the template."""


class EnqueueFailed(DynajobsError):
    """Not every job of a batch was written; `jobs` are those that were, in order."""

    def __init__(self, message: str, *, jobs: Sequence[Job]) -> None:
        super().__init__(message)
        self.jobs = list(jobs)


class Unavailable(DynajobsError):
    """AWS answered with an error, or not at all, after the client's own retries."""
