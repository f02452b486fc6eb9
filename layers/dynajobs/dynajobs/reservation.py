"""The direct-execution reservation: while one is held, nobody starts a new job."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING

from dynajobs import keys, lifecycle
from dynajobs.control import RESERVATION, Reservation
from dynajobs.dynamo import Conflict, Expression
from dynajobs.errors import InvalidJob, ReservationBusy, Unavailable
from dynajobs.item import Item
from dynajobs.lanes import Walk
from dynajobs.producing import duration
from dynajobs.telemetry import Telemetry, logger

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

TRY_EVERY = 0.25
SEARCHED = 1000


@contextmanager
def reserve(
    queue: JobQueue, by: str, ttl: timedelta | float, wait: timedelta | float | None
) -> Iterator[Reservation]:
    """Hold the reservation for the length of a `with` block."""
    patience = duration("wait", wait).total_seconds() if wait is not None else 0
    token, deadline = keys.new_id(), time.monotonic() + patience
    while True:
        try:
            held = take(queue, by, ttl, token)
            break
        except ReservationBusy:
            left = deadline - time.monotonic()
            if left <= 0:
                raise
            time.sleep(min(TRY_EVERY, left))
    try:
        yield held
    finally:
        if queue.now() > held.until:
            logger.warning("the reservation was over before its end: jobs may have run", extra={"by": by})
        release(queue, token)


def take(queue: JobQueue, by: str, ttl: timedelta | float, token: str) -> Reservation:
    """Begin a reservation that whoever has the token can end; `ReservationBusy` while another lasts."""
    if not isinstance(by, str) or not 1 <= len(by.encode(errors="replace")) <= 256:
        raise InvalidJob(f"by is {by!r}: it must be a text of 1 to 256 bytes that says who reserves")
    length = duration("ttl", ttl)
    if not length:
        raise InvalidJob(f"ttl is {ttl!r}: it must be longer than nothing")
    held = _take(queue, by, token, length)
    if isinstance(held, dict):
        raise ReservationBusy(
            f"the queue is reserved by {held['by']['S']!r} until {held['until']['S']}: try again later, "
            "or wait for it"
        )
    logger.info("reserved", extra={"by": by, "until": keys.timestamp(held.until)})
    try:
        return replace(held, in_flight=_in_flight(queue))
    except BaseException:
        release(queue, token)  # nobody would know what ends it
        raise


def release(queue: JobQueue, token: str | None = None) -> bool:
    """End the reservation of this token, or whoever's it is; False if there was none to end."""
    expression = Expression()
    released: Item = {"status": {"S": "released"}, "released_at": {"S": keys.timestamp(queue.now())}}
    active: Item = {"status": {"S": "active"}} | ({"token": {"S": token}} if token else {})
    mine = expression.as_seen(active, *active)
    try:
        queue.store.table.update(RESERVATION, expression.difference({}, released), mine, expression)
    except Conflict as conflict:
        if token and (conflict.item or {}).get("token") != {"S": token}:
            logger.warning("the reservation had expired, and somebody else took it")
        return False
    logger.info("reservation released")
    return True


def _take(queue: JobQueue, by: str, token: str, length: timedelta) -> Reservation | Item:
    """The reservation; or, as it is stored, the one that somebody else holds."""
    now = queue.now()
    try:
        until = now + length
    except OverflowError:
        raise InvalidJob(f"ttl is {length!r}: it would end beyond the year 9999") from None
    expression = Expression()
    taken: Item = {
        "by": {"S": by},
        "token": {"S": token},
        "status": {"S": "active"},
        "since": {"S": keys.timestamp(now)},
        "until": {"S": keys.timestamp(until)},
    }
    change = expression.difference({}, taken) + f" REMOVE {expression.name('released_at')}"
    free = (
        f"attribute_not_exists(PK) OR {expression.name('status')} <> {expression.value({'S': 'active'})} "
        f"OR {expression.name('until')} <= {expression.value({'S': keys.timestamp(now)})}"
    )
    try:
        queue.store.table.update(RESERVATION, change, free, expression)
    except Conflict as conflict:
        if conflict.item is None:
            raise Unavailable("somebody holds the reservation, but the table did not say who") from conflict
        if conflict.item.get("token") != {"S": token}:
            return conflict.item
    return Reservation(by=by, status="active", since=now, until=until)


def _in_flight(queue: JobQueue) -> int:
    """How many jobs run under a lease now."""
    now, shards = queue.now(), queue.store.control.read().shards
    walk = Walk(queue.store, now, range(shards), Telemetry(queue.settings), consistent=True)
    return sum(
        not lifecycle.claimable(seen.job, now)
        for priority in keys.PRIORITIES
        for seen in islice(walk.priority(priority), SEARCHED)
    )
