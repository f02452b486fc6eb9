"""All checks, from what everything rests on to what is stuck."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from dynajobs.dynamo import Rejected
from dynajobs.errors import Unavailable
from dynajobs.operating.doctor.access import clock, permissions
from dynajobs.operating.doctor.finding import Finding, denied, fine, odd
from dynajobs.operating.doctor.poller import function, poller
from dynajobs.operating.doctor.schedules import schedules
from dynajobs.operating.doctor.table import table
from dynajobs.operating.doctor.work import lanes, reservation, work

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

Check = Callable[["JobQueue"], Iterator[Finding]]


def examine(queue: JobQueue, poller_function: str = "") -> Iterator[Finding]:
    """Look at everything; `poller_function` is the name of the poller's, if it is to be looked at."""
    first = list(table(queue))
    yield fine("settings", "each is in its range")
    yield from first
    if first[0].ok is False and len(first) == 1:
        return
    for check in (permissions, clock, poller):
        yield from _tried(check.__name__, check, queue)
    if poller_function:
        yield from _tried("function", partial(function, name=poller_function), queue)
    else:
        yield odd("function", "the poller's function was not looked at", "give --function")
    for check in (reservation, work, lanes, schedules):
        yield from _tried(check.__name__, check, queue)


def report(findings: list[Finding]) -> dict[str, Any]:
    """As JSON; `ok` if nothing is wrong."""
    return {
        "ok": all(each.ok is not False for each in findings),
        "findings": [each.view() for each in findings],
    }


def _tried(name: str, check: Check, queue: JobQueue) -> Iterator[Finding]:
    """A request that is refused hides one thing; the others can still be looked at."""
    try:
        yield from check(queue)
    except Unavailable as error:
        if not isinstance(error, Rejected) and not denied(error):
            raise
        yield odd(name, f"it cannot be looked at: {error.__cause__}")
