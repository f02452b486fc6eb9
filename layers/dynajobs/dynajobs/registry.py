"""Which function handles which job type, and how its payload is checked."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from dynajobs import fault
from dynajobs.backoff import Backoff, BackoffPolicy
from dynajobs.errors import InvalidJob, RegistrationError
from dynajobs.producing import checked_type, checked_whole

if TYPE_CHECKING:
    from pydantic import BaseModel

    from dynajobs.context import JobContext
    from dynajobs.queue import JobQueue

Function = TypeVar("Function", bound=Callable[..., Any])
HandlerClass = TypeVar("HandlerClass", bound=type[Any])


class BaseJobHandler:
    """The class form of a handler: one instance per job; `self.context` is its JobContext."""

    context: JobContext

    @classmethod
    def payload_model(cls) -> type[BaseModel]:
        """The model of this job type's payload."""
        raise RegistrationError(f"{cls.__name__} has no payload_model()")

    def handle(self, payload: Any) -> Any:  # noqa: ARG002 - the shape of every handler
        """Do the work; the answers are those of a handler function."""
        raise RegistrationError(f"{type(self).__name__} has no handle(payload)")


@dataclass(frozen=True, slots=True)
class Handler:
    """How one job type is handled."""

    job_type: str
    model: type[BaseModel] | None
    call: Callable[[Any, JobContext], Any]
    max_attempts: int | None
    backoff: BackoffPolicy | None
    cron: str | None = None
    timezone: str = "UTC"

    def parse(self, payload_json: str) -> Any:
        """The payload as the handler wants it; pydantic's ValidationError if it does not fit."""
        if self.model is None:
            import json

            return json.loads(payload_json)
        return self.model.model_validate_json(payload_json)


class Registry:
    """The handlers of a program, by job type."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What is registered, by job type."""
        return MappingProxyType(self._handlers)

    @property
    def schedules(self) -> Mapping[str, Mapping[str, Any]]:
        """The schedules declared with handlers, as `queue.schedules.sync` takes them; named by job type."""
        return {
            each.job_type: {"job_type": each.job_type, "cron": each.cron, "timezone": each.timezone}
            for each in self._handlers.values()
            if each.cron is not None
        }

    def including(self, other: Registry) -> Registry:
        """A registry with the handlers of both; where both handle a type, this one's."""
        both = Registry()
        both._handlers = {**other._handlers, **self._handlers}
        return both

    def handler(
        self,
        job_type: str,
        *,
        max_attempts: int | None = None,
        backoff: BackoffPolicy | None = None,
        cron: str | None = None,
        timezone: str = "UTC",
    ) -> Callable[[Function], Function]:
        """Register a function. Its first parameter's annotation is the payload's model, or `dict`.

        With `cron` it also declares a schedule of that name, which runs it with an empty payload.

        >>> jobs = Registry()
        >>> @jobs.handler("greet", max_attempts=3)
        ... def greet(payload: dict, ctx) -> str:
        ...     return f"hello {payload['name']}"
        """
        scope = sys._getframe(1).f_locals

        def register(function: Function) -> Function:
            model, takes_context = _inspected(job_type, function, scope)
            call = function if takes_context else lambda payload, _: function(payload)
            self._add(Handler(job_type, model, call, max_attempts, backoff, cron, timezone))
            return function

        return register

    def register(
        self, job_type: str, *, max_attempts: int | None = None, backoff: BackoffPolicy | None = None
    ) -> Callable[[HandlerClass], HandlerClass]:
        """Register a class with `payload_model()` and `handle(payload)`."""

        def add(handler_class: HandlerClass) -> HandlerClass:
            handle = getattr(handler_class, "handle", None)
            if not callable(handle) or not callable(getattr(handler_class, "payload_model", None)):
                raise RegistrationError(
                    f"the handler of {job_type!r} must be a class with payload_model() and handle(payload)"
                )
            _refuse_coroutine(job_type, handle)
            model = handler_class.payload_model()
            if not _is_model(model):
                raise RegistrationError(
                    f"payload_model() of {job_type!r} returns {model!r}: not a BaseModel class"
                )

            def call(payload: Any, context: JobContext) -> Any:
                instance = handler_class()
                instance.context = context
                return instance.handle(payload)

            self._add(Handler(job_type, model, call, max_attempts, backoff))
            return handler_class

        return add

    def _add(self, handler: Handler) -> None:
        try:
            checked_type(handler.job_type)
            if handler.max_attempts is not None:
                checked_whole("max_attempts", handler.max_attempts, 1, 100)
        except InvalidJob as error:
            raise RegistrationError(str(error)) from None
        if (
            handler.backoff is not None
            and not isinstance(handler.backoff, Backoff)
            and not callable(handler.backoff)
        ):
            raise RegistrationError(
                f"backoff of {handler.job_type!r} is {handler.backoff!r}: it must be a Backoff or a function "
                "of the number of failed attempts"
            )
        if handler.cron is not None:
            _check_schedule(handler)
        if handler.job_type in self._handlers:
            raise RegistrationError(f"{handler.job_type!r} has a handler already: a job type has one")
        self._handlers[handler.job_type] = handler

    def check(self, job_type: str, payload_json: str) -> None:
        """Refuse a payload that the type's model would refuse; a type handled elsewhere passes."""
        handler = self._handlers.get(job_type)
        if handler is None or handler.model is None:
            return
        from pydantic import ValidationError

        try:
            handler.parse(payload_json)
        except ValidationError as error:
            raise InvalidJob(f"payload of {job_type}: {fault.describe(error)}") from None

    def lambda_handler(self, queue: JobQueue | None = None) -> Callable[[Any, Any], dict[str, str]]:
        """The entry point of a handler Lambda: runs the one job an event names."""
        from dynajobs.function import job_function

        return job_function(self, queue)


def _inspected(
    job_type: str, function: Callable[..., Any], scope: Mapping[str, Any]
) -> tuple[type[BaseModel] | None, bool]:
    """The payload's model (None for `dict`) and whether the function takes a context."""
    _refuse_coroutine(job_type, function)
    parameters = [
        each
        for each in inspect.signature(function).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    required = [each for each in parameters if each.default is each.empty]
    if not parameters or len(required) > 2:
        raise RegistrationError(
            f"the handler of {job_type!r} must take a payload and, if it wants one, a context"
        )
    try:
        hints = typing.get_type_hints(function, localns=dict(scope))
    except NameError as error:
        raise RegistrationError(
            f"the handler of {job_type!r} has an annotation nobody knows: {error}"
        ) from None
    annotation = hints.get(parameters[0].name)
    if annotation is dict or typing.get_origin(annotation) is dict:
        return None, len(parameters) > 1
    if not _is_model(annotation):
        raise RegistrationError(
            f"the payload of {job_type!r} is annotated with {annotation!r}: use a BaseModel or dict"
        )
    return annotation, len(parameters) > 1


def _check_schedule(handler: Handler) -> None:
    """A bad expression is refused where it is written; its name is the type's, so that must fit as well."""
    from dynajobs.schedule_item import checked_schedule

    arguments = {"job_type": handler.job_type, "cron": handler.cron, "timezone": handler.timezone}
    checked_schedule(handler.job_type, arguments)


def _is_model(value: Any) -> bool:
    from pydantic import BaseModel

    return isinstance(value, type) and issubclass(value, BaseModel)


def _refuse_coroutine(job_type: str, function: Any) -> None:
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise RegistrationError(f"the handler of {job_type!r} is async: use def")
