"""Job types for trying things out, deployed only with the parameter `Demo=true`, as `make run` does."""

import time

from pydantic import BaseModel, Field

from dynajobs import Backoff, JobContext, JobResult, Registry

jobs = Registry()

# Short waits, so that a retry can be watched; other job types keep the deployment's own.
SOON = Backoff(base=5, cap=5, jitter=0)
STEP_SECONDS = 2.0


class Slow(BaseModel):
    """How long to work; less than the function's time-out."""

    seconds: float = Field(default=5, ge=0, le=280)


@jobs.handler("demo.slow", max_attempts=2, backoff=SOON)
def slow(payload: Slow, ctx: JobContext) -> JobResult:
    """Work for a while, tell how far it is, and stop when asked to."""
    ends_at = time.monotonic() + payload.seconds
    while (left := ends_at - time.monotonic()) > 0:
        ctx.progress(round(payload.seconds - left, 1), payload.seconds, "seconds")
        ctx.heartbeat()  # more often than the lease asks for: progress and cancelling are to be watched
        if ctx.cancelled:
            return JobResult(success=False, message="stopped, as somebody asked")
        time.sleep(min(STEP_SECONDS, left))
    return JobResult(message=f"worked for {payload.seconds:g} s")


class Fail(BaseModel):
    """How many attempts fail before one succeeds; every one if left out."""

    times: int | None = Field(default=None, ge=0)


@jobs.handler("demo.fail", max_attempts=2, backoff=SOON)
def fail(payload: Fail, ctx: JobContext) -> JobResult:
    """Fail as often as the payload says."""
    if payload.times is None or ctx.attempt <= payload.times:
        raise RuntimeError(f"attempt {ctx.attempt} fails, as it was told to")
    return JobResult(message=f"attempt {ctx.attempt} succeeded")


handler = jobs.lambda_handler()
