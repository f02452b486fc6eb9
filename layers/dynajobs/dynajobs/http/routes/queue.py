"""The queue as a whole: where it is, who changed what, the reservation, a poll by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from dynajobs.http.models import About, AuditPage, Label, ReservationOut, Reserve, ReservedOut, Ticked
from dynajobs.http.routing import App, Cursor, Limit, answer

RESERVATION = "/api/admin/reservation"


def add(app: App, tick: Callable[[], dict[str, Any]]) -> None:
    """Bind them; `tick` has the poller look."""

    @app.route("GET", "/api/admin/about", answers={200: About}, tag="queue")
    def get_about() -> Response[About]:
        """Say where this is, what the token may do, and what is set."""
        caller = app.caller
        return answer(app.operator.about() | {"role": caller.role, "actor": caller.name})

    @app.route("GET", "/api/admin/audit", answers={200: AuditPage}, refuses=(400,), tag="queue")
    def list_audit(limit: Limit = 50, cursor: Cursor = None) -> Response[AuditPage]:
        """List who changed what, newest first."""
        return answer(app.operator.audit(limit, cursor))

    @app.route("GET", RESERVATION, answers={200: ReservationOut}, tag="queue")
    def get_reservation() -> Response[ReservationOut]:
        """Say who has, or last had, the queue to themselves."""
        return answer(app.operator.reservation())

    @app.route("POST", RESERVATION, answers={201: ReservedOut}, refuses=(409,), tag="queue")
    def reserve_queue(reserve: Reserve) -> Response[ReservedOut]:
        """Let nothing new start until the reservation is released or its time is over."""
        return answer(app.operator.reserve(reserve.by, reserve.ttl), 201)

    @app.route("DELETE", RESERVATION, answers={200: ReservationOut}, tag="queue")
    def release_queue(token: Annotated[Label | None, Query()] = None) -> Response[ReservationOut]:
        """Release the reservation of this token, or whoever's it is."""
        return answer(app.operator.release(token))

    @app.route("POST", "/api/jobs/tick", answers={200: Ticked}, tag="queue")
    def tick_now() -> Response[Ticked]:
        """Have the poller look now, and wait for it."""
        return answer(app.operator.tick(tick))
