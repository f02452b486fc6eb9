"""Schedules that do not fire."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from dynajobs import keys, words
from dynajobs.dynamo import Expression
from dynajobs.item import Item, Malformed
from dynajobs.operating.doctor.finding import OVERDUE, Finding, fine, some, wrong
from dynajobs.schedule_item import decode_schedule

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

LOOKED_AT = 1000


def schedules(queue: JobQueue) -> Iterator[Finding]:
    """Those that are overdue, and those that nobody can understand."""
    now, bad, late, number = queue.now(), [], [], 0
    for item in islice(_stored(queue), LOOKED_AT):
        number += 1
        name = item["SK"]["S"]
        try:
            schedule = decode_schedule(item).schedule
        except Malformed:
            bad.append(name)
            continue
        if schedule.enabled and (schedule.next_run_at is None or now - schedule.next_run_at > OVERDUE):
            late.append(name)
    if bad:
        evidence = (
            f"{words.plural(len(bad), 'schedule')} cannot be understood, and will not fire: {some(bad)}"
        )
        advice = "delete and create it anew"
        yield wrong("schedules", evidence, advice)
    if late:
        evidence = f"{words.plural(len(late), 'schedule')} should have fired over 5 minutes ago: {some(late)}"
        advice = "see what the poller's log says of it"
        yield wrong("schedules", evidence, advice)
    if not bad and not late:
        most = f", the first {LOOKED_AT:,}" * (number == LOOKED_AT)
        yield fine("schedules", f"{words.plural(number, 'schedule')}{most}, none late")


def _stored(queue: JobQueue) -> Iterator[Item]:
    expression = Expression()
    partition = expression.value({"S": keys.SCHEDULE})
    for page in queue.store.table.query(
        KeyConditionExpression=f"PK = {partition}", **expression.parameters()
    ):
        yield from page["Items"]
