"""What a command answered."""

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from click.testing import Result

from dynajobs import Job, JobQueue
from dynajobs.execution import Executor
from dynajobs.http.function import lambda_handler
from dynajobs.lease import Renewer
from dynajobs.telemetry import Telemetry, configure
from dynajobs.testing import Clock, drain
from dynajobs.worker import begin_here
from tests.support.serving import Handler
from tests.support.work import working

Run = Callable[..., Result]
NOBODY = "http://127.0.0.1:9"
NOW = datetime.now(UTC)
UNKNOWN = "0198f3e0-0000-7000-8000-000000000000"
TOKEN, READ_TOKEN = "operate-0123456789", "read-0123456789"
BOTH_WAYS = pytest.mark.parametrize("run", ["direct", "remote"], indirect=True)
"""What a command says must not depend on whether it goes to the table or through the API."""


def api(queue: JobQueue, **options: Any) -> Handler:
    """The API of a queue, with one token of each role; it logs where nobody listens."""
    with redirect_stdout(io.StringIO()):
        configure(queue.settings)
    tokens = {"operate": (TOKEN,), "read": (READ_TOKEN,)}
    return lambda_handler(queue, tokens=lambda: tokens, sleep=lambda _: None, **options)


def answer(result: Result) -> Any:
    """The one document on stdout of a command that succeeded in silence."""
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def told(result: Result, code: int) -> str:
    """The sentence of a command that failed with a code."""
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith("dynajobs: ")
    assert "Traceback" not in result.stderr
    return result.stderr.removeprefix("dynajobs: ").strip()


def dead_letter(queue: JobQueue, **payload: Any) -> Job:
    old = JobQueue(
        queue.settings.table,
        client=queue.store.table.client,
        clock=Clock(NOW - timedelta(hours=5)),
    )
    old.enqueue("work", {"do": "discard", "value": "no such file", **payload})
    (job,) = drain(old, working())
    return job


def running(queue: JobQueue) -> Job:
    job = queue.enqueue("work", {"do": "ok"})
    executor = Executor(queue, working(), Telemetry(queue.settings), Renewer(queue.settings.lease))
    begun = begin_here(executor, queue.store.find(job.id), "host:1")
    assert begun
    return begun.job
