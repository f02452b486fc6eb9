"""One handler whose payload chooses what happens to it; every execution leaves a trace of its own."""

import os
import signal
import time
from functools import cache
from typing import Any
from uuid import uuid4

import boto3
from pydantic import BaseModel

from dynajobs import JobContext, Registry, Settings

jobs = Registry()


class Work(BaseModel):
    """What the first so many attempts do; the next one succeeds."""

    batch: str
    fails: int = 0
    hangs: int = 0
    dies: int = 0
    asks: bool = False


@jobs.handler("e2e.work")
@jobs.handler("e2e.fragile")
def work(payload: Work, ctx: JobContext) -> dict[str, Any]:
    leave_trace(payload.batch, ctx)
    if ctx.attempt <= payload.dies:
        os.kill(os.getpid(), signal.SIGKILL)
    if ctx.attempt <= payload.hangs:
        time.sleep(3600)
    if ctx.attempt <= payload.fails:
        raise RuntimeError(f"attempt {ctx.attempt} fails")
    if payload.asks:
        return {"previous_success": ctx.previous_success and ctx.previous_success.isoformat()}
    return {"attempt": ctx.attempt}


def leave_trace(batch: str, ctx: JobContext) -> None:
    """An item that no other execution can overwrite: what ran twice is seen twice."""
    dynamodb().put_item(
        TableName=Settings.from_env().table,
        Item={"PK": {"S": f"trace#{batch}"}, "SK": {"S": f"{ctx.job.id}#{uuid4()}"}},
    )


@cache
def dynamodb() -> Any:
    return boto3.client("dynamodb")


handler = jobs.lambda_handler()
