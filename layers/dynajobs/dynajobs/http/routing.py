"""How a path is bound to what an operator does: parameters, answers, who may."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

from aws_lambda_powertools.event_handler import LambdaFunctionUrlResolver, Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import BaseModel

from dynajobs.http.models import JobType, Label, Problem, States
from dynajobs.jsons import dump_json

if TYPE_CHECKING:
    from dynajobs.http.access import Caller
    from dynajobs.operating.operator import Operator

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

MEANINGS = {
    400: "The body is not JSON, or the cursor is not one of ours.",
    401: "No valid token.",
    403: "The token may only read.",
    404: "There is no such thing.",
    409: "Its state, or another's, forbids it.",
    413: "The body has more than 256 KB.",
    422: "Something sent is not what it must be; `details` names it.",
    429: "Too many requests; `Retry-After` says when to come back.",
    500: "A fault of ours; the log has it under the request id.",
    503: "DynamoDB or Lambda did not answer; try again.",
}
ALWAYS = (401, 422, 429, 500, 503)
CHANGES = (400, 403, 413)

StateFilter = Annotated[States | None, Query()]
TypeFilter = Annotated[JobType | None, Query()]
Limit = Annotated[int, Query(ge=1, le=200)]
Cursor = Annotated[str | None, Query()]
Filter = Annotated[Label | None, Query()]
Id = Annotated[str, Path(description="A job's id.", json_schema_extra={"format": "uuid"})]
NamePath = Annotated[str, Path(description="Its name.")]


def answer(body: Any, status: int = 200) -> Response[Any]:
    """An answer whose body its model will check."""
    empty = status == 204
    return Response(
        status_code=status,
        content_type=None if empty else "application/json",
        body="" if empty else body,
    )


class App:
    """The routes, and what a request brings to them."""

    def __init__(self) -> None:
        self.resolver = LambdaFunctionUrlResolver(
            enable_validation=True, serializer=dump_json, response_validation_error_http_code=500
        )
        self._roles: dict[str, str] = {}

    def bind(self, operator: Operator, caller: Caller) -> None:
        """For the next request."""
        self.resolver.append_context(operator=operator, caller=caller)  # type: ignore[no-untyped-call]

    def roles(self, path: str) -> dict[str, str]:
        """By method, what it takes to use a path."""
        own = self.own_roles(path)
        # A schedule may be called like a path that is written out; no job's id is a word.
        named = [each for each in self.resolver._dynamic_routes if not own or "<job_id>" not in each.path]
        return self._of(named, path) | own

    def own_roles(self, path: str) -> dict[str, str]:
        """The same for a path that is written out; a name could stand there, too."""
        return self._of(self.resolver._static_routes, path)

    def _of(self, routes: Iterable[Any], path: str) -> dict[str, str]:
        return {each.method: self._roles[each.operation_id] for each in routes if each.rule.match(path)}

    @property
    def operator(self) -> Operator:
        """Who acts in this request."""
        return cast("Operator", self.resolver.context["operator"])

    @property
    def caller(self) -> Caller:
        """Who sent it."""
        return cast("Caller", self.resolver.context["caller"])

    def route(
        self,
        method: str,
        path: str,
        *,
        answers: dict[int, type[BaseModel] | None],
        refuses: tuple[int, ...] = (),
        role: str = "",
        tag: str,
    ) -> Callable[[Endpoint], Endpoint]:
        """Bind a function whose name becomes the operation's, and whose docstring its summary."""
        role = role or ("read" if method == "GET" else "operate")
        refused = {*ALWAYS, *refuses, *(CHANGES if method in ("POST", "PUT") else ())}
        if role == "operate":
            refused.add(403)

        def bind(endpoint: Endpoint) -> Endpoint:
            title, _, more = (endpoint.__doc__ or "").partition("\n\n")
            responses: dict[int, Any] = {
                status: _documented(model, "Done." if status < 300 else "")
                for status, model in answers.items()
            }
            responses |= {status: _documented(Problem, MEANINGS[status]) for status in sorted(refused)}
            self.resolver.route(
                path,
                method,
                summary=title.strip().rstrip("."),
                description=" ".join(more.split()) or None,
                responses=responses,
                tags=[tag],
                operation_id=endpoint.__name__,
            )(endpoint)
            self._roles[endpoint.__name__] = role
            return endpoint

        return bind


def _documented(model: type[BaseModel] | None, description: str) -> dict[str, Any]:
    if model is None:
        return {"description": description}
    return {"description": description, "content": {"application/json": {"model": model}}}
