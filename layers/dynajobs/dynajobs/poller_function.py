"""The poller Lambda's whole app.py: what each kind of event asks for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from dynajobs.control import poller_settings
from dynajobs.errors import DynajobsError, Unavailable
from dynajobs.installing import HOUSEKEEPING, install
from dynajobs.invoke import LambdaInvoke
from dynajobs.poller import Pass, Poller
from dynajobs.queue import JobQueue
from dynajobs.telemetry import configure, logger
from dynajobs.vigil import WATCH, Vigil
from dynajobs.wake import Waker

if TYPE_CHECKING:
    from dynajobs.poller import Invoke, Wake

TICK = "dynajobs.tick"
MARGIN = timedelta(seconds=10)
"""Left of the function's time when it ends."""


def lambda_handler(
    queue: JobQueue | None = None, invoke: Invoke | None = None
) -> Callable[[Any, Any], dict[str, Any]]:
    """Answers the table's stream, a tick by an operator, another poller's call for help, and the clock."""
    made: list[Waker] = []

    def handle(event: Any, context: Any) -> dict[str, Any]:
        if not made:
            opened = queue or JobQueue.from_env()
            configure(opened.settings)
            by_lambda = LambdaInvoke()
            itself = getattr(context, "function_name", None)
            wake = _waker(by_lambda, itself) if itself else None
            made.append(Waker(Poller(opened, invoke or by_lambda, wake=wake)))
            _introduce(opened)
        waker = made[0]
        try:
            done = _done(waker, event if isinstance(event, dict) else {}, context)
            return {"ok": True, "claimed": done.claimed, "fired": done.fired}
        finally:
            waker.poller.telemetry.flush()

    return handle


def _done(waker: Waker, event: dict[str, Any], context: Any) -> Pass:
    poller = waker.poller
    if "Records" in event:
        return waker.take(event["Records"])
    if "share" in event:
        return poller.share(**event["share"])
    if event.get("source") == TICK:
        return poller.poll()
    left = getattr(context, "get_remaining_time_in_millis", lambda: 0)()
    ends_at = poller.queue.now() + timedelta(milliseconds=left) - MARGIN
    return Vigil(poller, ends_at, woken=event.get("source") == WATCH).keep()


def _introduce(queue: JobQueue) -> None:
    """What a start tells the table: our settings, and our own schedules if there is a function for them.

    A later start tries again.
    """
    try:
        agreed = queue.store.control.read()
        if agreed.poller != poller_settings(queue.settings):
            queue.store.control.tell_poller()
        if HOUSEKEEPING.keys() <= queue.settings.handlers.keys():
            install(queue, agreed)
    except DynajobsError as error:
        logger.warning("the table was not told of this poller", extra={"reason": str(error)})


def _waker(invoke: LambdaInvoke, function: str) -> Wake:
    """Wakes a poller. That only makes things faster, so it does not fail."""

    def wake(event: dict[str, Any]) -> None:
        try:
            invoke.send(function, event)
        except Unavailable as error:
            logger.warning("no poller was woken: the next tick will do it", extra={"reason": str(error)})

    return wake
