"""What reading costs: bounded, and the same however much history there is."""

from collections.abc import Callable
from typing import Any

import pytest

from dynajobs import JobQueue, Settings
from dynajobs.http.function import lambda_handler
from dynajobs.item import encode
from dynajobs.job import Job, Status
from dynajobs.keys import new_id
from dynajobs.testing import Clock, create_table
from tests.api.conftest import OPERATE, READ
from tests.support import engines
from tests.support.calling import Caller, in_process
from tests.support.engines import RunningEngine

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("dynoxide")]

TYPES = ("mail", "report")
ENDED = (Status.COMPLETED, Status.DEAD_LETTER)
"""Four kinds, so that even the shorter history has more of each than is counted."""

BUDGETS = {
    "/health": 3,
    "/api/admin/about": 1,
    "/api/admin/audit": 16,
    "/api/admin/jobs/stats": 100,
    "/api/admin/jobs?limit=50": 60,
    "/api/admin/jobs?state=completed&limit=50": 50,
    "/api/admin/jobs?state=dead_letter&type=mail&limit=50": 40,
    "/api/admin/jobs?state=completed&org_id=nobody": 600,
    "/api/admin/jobs?state=pending": 8,
    "/api/admin/errors": 800,
    "/api/admin/schedules?recent=30": 20,
    "/api/admin/schedules/nightly": 10,
    "/api/admin/schedules/nightly/runs?limit=50": 10,
    "/api/admin/templates": 1,
    "/api/admin/reservation": 1,
    "JOB": 4,
    "JOB/why": 12,
}
"""Read units that each may use at most; a finished job here has half a kilobyte."""


def finish(queue: JobQueue, many: int) -> None:
    """So many finished jobs more, written at once."""
    client, now = queue.store.table.client, queue.now()
    items = []
    for n in range(many):
        job = Job(
            id=new_id(),
            job_type=TYPES[n % 2],
            payload={"user_id": f"u{n}", "text": "x" * 150},
            status=ENDED[n // 2 % 2],
            scheduled_for=now,
            created_at=now,
            finished_at=now,
            fingerprint=f"{n % 20:012x}",
        )
        items.append({"PutRequest": {"Item": encode(job, queue.settings)}})
    for start in range(0, many, 25):
        client.batch_write_item(RequestItems={queue.settings.table: items[start : start + 25]})


@pytest.fixture
def queue(dynoxide: RunningEngine, table_name: str) -> JobQueue:
    client = engines.client(dynoxide)
    create_table(client, table_name)
    queue = JobQueue(table_name, client=client, clock=Clock(), settings=Settings())
    for job_type in TYPES:
        queue.store.control.learn_type(job_type)
    queue.enqueue_many("mail", [{"n": n} for n in range(40)], delay=60)
    queue.schedules.create("nightly", "report", cron="0 2 * * *")
    queue.templates.create("weekly", "report")
    return queue


@pytest.fixture
def cost(queue: JobQueue) -> Callable[[str], float]:
    send = in_process(lambda_handler(queue, tokens=lambda: {"operate": (OPERATE,)}))
    caller = Caller(send, OPERATE, READ)
    job = queue.enqueue("mail", delay=3600)

    def cost(path: str) -> float:
        answer = caller("GET", path.replace("JOB", f"/api/admin/jobs/{job.id}"))
        assert answer.status in (200, 503), answer
        return float(answer.headers["X-Dynajobs-Read-Units"])

    return cost


def test_every_reading_stays_within_its_budget_and_costs_the_same_with_ten_times_the_history(
    queue: JobQueue, cost: Callable[[str], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynajobs.http.function.HEALTH_LASTS", -1)
    finish(queue, 5_000)
    few = {path: cost(path) for path in BUDGETS}

    finish(queue, 45_000)
    many = {path: cost(path) for path in BUDGETS}

    assert many == few
    assert not {path: (units, BUDGETS[path]) for path, units in many.items() if units > BUDGETS[path]}


def test_a_filter_that_finds_nothing_ends_after_its_share_and_goes_on_with_the_cursor(
    queue: JobQueue,
) -> None:
    finish(queue, 3_000)
    caller = Caller(in_process(lambda_handler(queue, tokens=lambda: {"operate": (OPERATE,)})), OPERATE, READ)
    pages, cursor = 0, None
    while True:
        more: dict[str, Any] = {"cursor": cursor} if cursor else {}
        page = caller.ok("GET", "/api/admin/jobs", state="completed", org_id="nobody", **more)
        assert page["jobs"] == []
        pages, cursor = pages + 1, page["cursor"]
        if cursor is None:
            break

    assert 1 < pages < 5
