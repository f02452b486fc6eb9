"""The one job type of the tests: what its handler does is what the payload says."""

import sys
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from dynajobs import Discard, JobContext, JobResult, Registry, Snooze


class Work(BaseModel):
    do: str = "ok"
    value: Any = None
    n: int = 0


def handle(payload: Work, ctx: JobContext) -> Any:
    """Behave as the payload says."""
    match payload.do:
        case "ok":
            return None
        case "return":
            return payload.value
        case "result":
            return JobResult(**payload.value)
        case "fail":
            raise RuntimeError(payload.value or "it failed")
        case "fail_once":
            if ctx.attempt == 1:
                raise RuntimeError("it failed once")
            return "second try"
        case "snooze":
            raise Snooze(payload.value)
        case "return_snooze":
            return Snooze(payload.value)
        case "discard":
            raise Discard(payload.value)
        case "return_discard":
            return Discard(payload.value)
        case "exit":
            sys.exit(3)
        case "interrupt":
            raise KeyboardInterrupt
        case "not_json":
            return {1, 2, 3}
        case other:
            raise AssertionError(f"the tests know no work called {other!r}")


def working(during: Callable[[JobContext], Any] | None = None, **options: Any) -> Registry:
    """A registry with the type `work`; `{"do": "call"}` calls `during` with the context."""
    registry = Registry()

    @registry.handler("work", **options)
    def work(payload: Work, ctx: JobContext) -> Any:
        if payload.do == "call":
            assert during is not None
            return during(ctx)
        return handle(payload, ctx)

    return registry
