"""The API Lambda's whole app.py: from a function URL's event to its answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynajobs.errors import DynajobsError, Unavailable
from dynajobs.http.access import Gate, Tokens, from_secrets
from dynajobs.http.openapi import document
from dynajobs.http.page import Page
from dynajobs.http.problems import Refusal, not_allowed, refusal
from dynajobs.http.rate import Rate
from dynajobs.http.request import Reply, Request
from dynajobs.http.router import Router
from dynajobs.invoke import call
from dynajobs.jsons import dump_json
from dynajobs.keys import timestamp
from dynajobs.operating.audit import Actor
from dynajobs.operating.operator import Operator
from dynajobs.poller_function import TICK
from dynajobs.queue import JobQueue
from dynajobs.telemetry import configure, logger

if TYPE_CHECKING:
    from dynajobs.http.access import Caller

HEALTH_LASTS = 5.0
"""Seconds for which an answer about health is given again: the path is open to everybody, and reads cost."""


def lambda_handler(
    queue: JobQueue | None = None,
    *,
    tokens: Callable[[], Tokens] | None = None,
    tick: Callable[[], dict[str, Any]] | None = None,
    page: Path | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Callable[[Any, Any], dict[str, Any]]:
    """Answers the requests of a function URL; `page` is the folder of the operators' page."""
    made: list[Api] = []

    def handle(event: Any, context: Any) -> dict[str, Any]:
        if not made:
            opened = queue or JobQueue.from_env()
            configure(opened.settings)
            made.append(Api(opened, tokens=tokens, tick=tick, page=page, sleep=sleep))
        return made[0].answer(event, context)

    return handle


class Api:
    """One process's API: gate, page, routes."""

    def __init__(
        self,
        queue: JobQueue,
        *,
        tokens: Callable[[], Tokens] | None,
        tick: Callable[[], dict[str, Any]] | None,
        page: Path | None,
        sleep: Callable[[float], None],
    ) -> None:
        settings = queue.settings
        by_token = settings.api_auth == "token"
        self.queue = queue
        self.gate = Gate((tokens or from_secrets(settings.api_secrets)) if by_token else None, sleep=sleep)
        self.rate = Rate()
        self.page = Page(page) if page and by_token and page.is_dir() else None
        self.router = Router(tick or self._tick)
        self._health: tuple[float, Reply] | None = None

    def answer(self, event: Any, context: Any) -> dict[str, Any]:
        """One request, whatever it is; it never raises."""
        started, consumed = time.monotonic(), self.queue.store.table.metered()
        request = Request(event if isinstance(event, dict) else {})
        request_id = str(getattr(context, "aws_request_id", "") or "")
        caller: Caller | None = None
        try:
            reply = self._open(request)
            if reply is None:
                caller = self.gate.admit(request)
                self.rate.take(caller.key)
                reply = self._closed(request, caller)
        except Refusal as refused:
            reply = _refused(refused)
        except DynajobsError as error:
            if isinstance(error, Unavailable):
                logger.warning("request failed", extra={"reason": str(error), "path": request.path[:200]})
            reply = _refused(refusal(error))
        except Exception:  # noqa: BLE001 - its sender gets an answer, and the log the rest
            logger.exception("request failed", extra={"method": request.method, "path": request.path[:200]})
            reply = _refused(
                Refusal(500, "InternalError", f"something went wrong here; request {request_id}")
            )
        headers = {
            "X-Dynajobs-Time": timestamp(self.queue.now()),
            "X-Dynajobs-Read-Units": f"{consumed.reads:g}",
            "X-Dynajobs-Write-Units": f"{consumed.writes:g}",
        }
        if request_id:
            headers["X-Request-Id"] = request_id
        self._log(request, reply, caller, time.monotonic() - started)
        return reply.told(headers, gzipped="gzip" in request.header("accept-encoding"))

    def _open(self, request: Request) -> Reply | None:
        """What needs no token: the page, its files, and whether the queue is alive."""
        if request.method != "GET":
            return None
        if request.path == "/health":
            return self._healthy()
        return self.page.file(request) if self.page else None

    def _closed(self, request: Request, caller: Caller) -> Reply:
        if request.path == "/openapi.json" and request.method == "GET":
            return Reply(200, document(self.router.app))
        if request.path in ("/", "/health", "/openapi.json"):
            raise not_allowed(request.method, ["GET"])
        operator = Operator(self.queue, Actor(caller.name, "api"))
        return self.router.answer(request, operator, caller)

    def _healthy(self) -> Reply:
        now = time.monotonic()
        if self._health is None or now - self._health[0] >= HEALTH_LASTS:
            found = Operator(self.queue, Actor("", "api")).health()
            self._health = (now, Reply(200 if found["ok"] else 503, dump_json(found)))
        return self._health[1]

    def _tick(self) -> dict[str, Any]:
        if not self.queue.settings.poller:
            raise Refusal(503, "Unavailable", "no poller is known here: DYNAJOBS_POLLER is not set")
        return call(self.queue.settings.poller, {"source": TICK})

    def _log(self, request: Request, reply: Reply, caller: Caller | None, took: float) -> None:
        logger.info(
            "request",
            extra={
                "method": request.method,
                "path": request.path[:200],
                "status": reply.status,
                "role": caller.role if caller else None,
                "milliseconds": round(took * 1000),
            },
        )


def _refused(refused: Refusal) -> Reply:
    return Reply(refused.status, dump_json(refused.body), headers=refused.headers)
