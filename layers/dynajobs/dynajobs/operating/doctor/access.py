"""Whether we may read what operators need, and whether our clock is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from dynajobs import keys
from dynajobs.control import RESERVATION
from dynajobs.dynamo import Expression, Rejected
from dynajobs.errors import Unavailable
from dynajobs.operating.doctor.finding import Finding, denied, fine, odd, wrong
from dynajobs.settings import SKEW

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

RESOLUTION = timedelta(seconds=1)
"""An answer's date has whole seconds."""


def permissions(queue: JobQueue) -> Iterator[Finding]:
    """Each kind of read, tried once. Writes are not tried."""
    table, index = queue.store.table, queue.settings.index
    reads: dict[str, Callable[[], Any]] = {
        "dynamodb:GetItem": lambda: table.get(RESERVATION),
        "dynamodb:BatchGetItem": lambda: table.get_many([RESERVATION]),
        "dynamodb:Query": lambda: _query(queue, "PK", keys.lane(0, 0)),
        f"dynamodb:Query on index {index}": lambda: _query(
            queue, f"{index}PK", keys.done_partition("completed", "none", 0), IndexName=index
        ),
    }
    refused = []
    for name, read in reads.items():
        try:
            read()
        except Rejected as error:  # for another reason: the check of the table tells of it
            if denied(error):
                refused.append(name)
    yield Finding(
        check="permissions",
        ok=not refused,
        evidence=f"denied: {', '.join(refused)}" if refused else "reads and queries are allowed",
        advice="allow it in the policy of whoever runs this" if refused else "",
    )


def clock(queue: JobQueue) -> Iterator[Finding]:
    """Our clock and AWS's: leases are given and taken by them."""
    sent = queue.now()
    try:
        answer = queue.store.table.told("describe_table")
    except Unavailable as error:
        answer = getattr(error.__cause__, "response", {})
    received, theirs = queue.now(), _date(answer)
    if theirs is None:
        yield odd("clock", "what answers tells no time to compare with")
        return
    ahead, behind = sent - (theirs + RESOLUTION), theirs - received
    skew = max(ahead, behind)
    if skew > SKEW:
        evidence = f"ours is {skew.total_seconds():.0f} s {'ahead' if ahead > behind else 'behind'}"
        advice = "set it by NTP: with clocks this far apart leases lapse too early or too late"
        yield wrong("clock", evidence, advice)
    else:
        yield fine("clock", "within 2 s of AWS's")


def _date(answer: dict[str, Any]) -> datetime | None:
    told = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    try:
        return parsedate_to_datetime(told) if told else None
    except ValueError:
        return None


def _query(queue: JobQueue, name: str, value: str, **options: str) -> None:
    expression = Expression()
    condition = f"{expression.name(name)} = {expression.value({'S': value})}"
    pages = queue.store.table.query(
        KeyConditionExpression=condition, Limit=1, **expression.parameters(), **options
    )
    next(pages)
