"""What a handler may answer: a tiny vocabulary besides plain values and exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dynajobs.producing import duration


@dataclass(frozen=True, slots=True)
class JobResult:
    """A structured result: `success=False` is a failed attempt, like an exception."""

    success: bool = True
    message: str = ""
    details: Any = None


class Snooze(Exception):
    """Run this job later; no attempt is counted. Return it or raise it.

    >>> Snooze(60).delay
    datetime.timedelta(seconds=60)
    """

    def __init__(self, delay: timedelta | float) -> None:
        super().__init__(delay)
        self.delay = duration("delay", delay)


class Discard(Exception):
    """Trying again cannot help: dead letter at once. Return it or raise it."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = str(reason)
