"""The API in this process and on the deployed stack: what it promises holds for both."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from dynajobs import Job, JobQueue, Registry, Settings
from dynajobs.execution import Executor
from dynajobs.http.function import lambda_handler
from dynajobs.telemetry import Telemetry
from dynajobs.testing import create_table
from dynajobs.worker import begin_here
from tests.support.calling import Caller, in_process, over_http
from tests.support.deployment import Deployment
from tests.support.work import handle

OPERATE, READ = "token-that-may-operate", "token-that-may-read"
DEPLOYED = pytest.param("deployed", marks=[pytest.mark.e2e, pytest.mark.xdist_group("e2e")])


@pytest.fixture
def moto_queue(moto_client: Any, table_name: str) -> JobQueue:
    create_table(moto_client, table_name)
    return JobQueue(table_name, client=moto_client, settings=Settings())


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def local(moto_queue: JobQueue, slept: list[float]) -> Caller:
    """The function in this process."""
    handler = lambda_handler(
        moto_queue,
        tokens=lambda: {"operate": (OPERATE,), "read": (READ,)},
        tick=lambda: {"ok": True, "claimed": 0, "fired": 0},
        sleep=slept.append,
    )
    return Caller(in_process(handler), OPERATE, READ)


@pytest.fixture(params=["in process", DEPLOYED])
def place(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def api(place: str, request: pytest.FixtureRequest) -> Caller:
    if place == "deployed":
        stack: Deployment = request.getfixturevalue("stack")
        entrance = stack.entrance
        return Caller(over_http(entrance["url"]), entrance["token"], entrance["read_token"])
    local: Caller = request.getfixturevalue("local")
    return local


@pytest.fixture
def queue(place: str, request: pytest.FixtureRequest) -> JobQueue:
    """The same queue, seen by a producer."""
    if place == "deployed":
        stack: Deployment = request.getfixturevalue("stack")
        return stack.queue
    local: JobQueue = request.getfixturevalue("moto_queue")
    return local


@pytest.fixture
def kind() -> str:
    """A job type that nobody else uses, and nobody handles."""
    return f"api.{uuid4().hex}"


@pytest.fixture
def name() -> str:
    """A name for a schedule or a template."""
    return f"api-{uuid4().hex[:12]}"


@pytest.fixture
def run(queue: JobQueue, kind: str) -> Callable[..., Job]:
    """Enqueue a job and run it here, to whatever its payload says; `{"do": "ok"}` completes it."""
    registry = Registry()
    registry.handler(kind, max_attempts=1)(handle)
    executor = Executor(queue, registry, Telemetry(queue.settings))

    def run(do: str = "ok", **options: Any) -> Job:
        job = queue.enqueue(kind, {"do": do}, priority=3, **options)
        begun = begin_here(executor, queue.store.find(job.id), "here")
        assert begun, "somebody else took it"
        ended = executor.run(begun)
        assert ended
        return ended

    return run
