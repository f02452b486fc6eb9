"""What docs/schedules.md shows works when it is pasted."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dynajobs import JobContext, JobQueue, JobResult, Registry, Settings, Status
from dynajobs.testing import Clock, create_table, drain

DOCS = Path(__file__).parents[2] / "docs"


def test_the_schedules_that_are_shown_run(moto_client: Any, capsys: pytest.CaptureFixture[str]) -> None:
    create_table(moto_client)
    clock = Clock(datetime(2026, 11, 18, 12, tzinfo=UTC))
    queue, jobs = JobQueue("dynajobs", client=moto_client, clock=clock, settings=Settings()), Registry()
    scope: dict[str, Any] = {
        "queue": queue,
        "jobs": jobs,
        "timedelta": timedelta,
        "JobContext": JobContext,
        "JobResult": JobResult,
    }
    page = DOCS / "schedules.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)

    for block in blocks:
        exec(compile(block, str(page), "exec"), scope)
    clock.set(datetime(2026, 11, 19, 7, 31, tzinfo=UTC))
    ran = drain(queue, jobs)

    assert len(blocks) == 5
    assert [job.payload["kind"] for job in ran] == ["weekly", "daily"]
    assert {job.status for job in ran} == {Status.COMPLETED}
    (run,) = queue.schedules.runs("nightly-report")
    assert run.message == "daily report since 2026-11-18 07:30"
    assert "0 jobs are still running" in capsys.readouterr().out
