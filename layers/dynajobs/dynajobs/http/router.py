"""The closed paths: a request goes to its route, what is wrong with it becomes a refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, cast

from aws_lambda_powertools.event_handler.openapi.exceptions import (
    RequestValidationError,
    ResponseValidationError,
)

from dynajobs.errors import DynajobsError
from dynajobs.http.problems import Refusal, invalid, not_allowed, refusal
from dynajobs.http.request import Reply, Request
from dynajobs.http.routes import jobs, queue, schedules, templates
from dynajobs.http.routing import App
from dynajobs.telemetry import logger

if TYPE_CHECKING:
    from dynajobs.http.access import Caller
    from dynajobs.operating.operator import Operator

_WITH_BODY = frozenset({"POST", "PUT"})


class Router:
    """All routes in one place."""

    def __init__(self, tick: Callable[[], dict[str, Any]]) -> None:
        self.app = App()
        queue.add(self.app, tick)
        for part in (jobs, schedules, templates):
            part.add(self.app)
        resolver = self.app.resolver
        resolver.use([_only_known_parameters])
        resolver.exception_handler(RequestValidationError)(_refuse_request)
        resolver.exception_handler(ResponseValidationError)(_refuse_answer)
        resolver.exception_handler(DynajobsError)(_refuse_error)
        resolver.exception_handler(Refusal)(_refuse)

    def answer(self, request: Request, operator: Operator, caller: Caller) -> Reply:
        """What the route says, as text; a `Refusal` if it does not do it."""
        # What follows a line's end would be overlooked.
        roles = self.app.roles(request.path) if request.path.isprintable() else {}
        if not roles:
            raise Refusal(404, "NotFound", "there is no such path; GET /openapi.json lists them")
        if request.method not in roles:
            raise not_allowed(request.method, self.app.own_roles(request.path) or roles)
        if not caller.may(roles[request.method]):
            operator.refused(request.method, request.path, "Forbidden")
            raise Refusal(403, "Forbidden", "this token may read, but not change anything")
        self.app.bind(operator, caller)
        found = self.app.resolver.resolve(_plain_event(request), cast(Any, None))
        return Reply(found["statusCode"], found["body"] or "")


def _plain_event(request: Request) -> dict[str, Any]:
    """What the resolver is to see: a path that is decoded, a body that is JSON text."""
    event = dict(request.event)
    about = dict(event.get("requestContext") or {})
    about["http"] = {**(about.get("http") or {}), "method": request.method, "path": request.path}
    about.setdefault("stage", "$default")
    event |= {"requestContext": about, "rawPath": request.path, "isBase64Encoded": False}
    event["headers"] = {"content-type": "application/json"}
    event["queryStringParameters"] = event.get("queryStringParameters") or {}
    event.pop("cookies", None)
    if request.method in _WITH_BODY:
        event["body"] = request.body or None
        if request.body and not isinstance(request.json, dict):
            raise Refusal(422, "Invalid", "body must be a JSON object", [{"field": "body"}])
    else:
        event.pop("body", None)
    return event


def _only_known_parameters(resolver: Any, next_middleware: Any) -> Any:
    """A misspelt filter would list what nobody asked for."""
    route = resolver.context["_route"]
    known = {each.alias for each in route.dependant.query_params}
    for name in resolver.current_event.query_string_parameters or {}:
        if name not in known:
            what = f"there are {', '.join(sorted(known))}" if known else "there are none"
            raise Refusal(
                422, "Invalid", f"{name[:80]!r} is no parameter here: {what}", [{"field": name[:80]}]
            )
    if not route.dependant.body_params:
        for name in resolver.current_event.json_body or {}:
            raise Refusal(422, "Invalid", f"{name[:80]} is not known here", [{"field": name[:80]}])
    return next_middleware(resolver)


def _refuse_request(error: RequestValidationError) -> NoReturn:
    raise invalid(error.errors())


def _refuse_answer(error: ResponseValidationError) -> NoReturn:
    places = [".".join(map(str, each["loc"])) for each in error.errors()]
    logger.error("an answer is not what it must be", extra={"places": places})
    raise Refusal(500, "InternalError", "the answer was not what it must be")


def _refuse_error(error: DynajobsError) -> NoReturn:
    raise refusal(error) from error


def _refuse(refused: Refusal) -> NoReturn:
    raise refused
