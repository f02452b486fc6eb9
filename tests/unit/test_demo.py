"""The job types for trying things out behave as the documentation says, on a clock that is moved by hand."""

import time
from datetime import timedelta
from typing import Any

import pytest

from dynajobs import JobQueue, Status
from dynajobs.testing import Clock, create_table, drain
from functions.demo import app


@pytest.fixture
def queue(moto_client: Any, table_name: str, monkeypatch: pytest.MonkeyPatch) -> JobQueue:
    create_table(moto_client, table_name)
    monkeypatch.setattr(app, "STEP_SECONDS", 0.01)
    return JobQueue(table_name, client=moto_client, clock=Clock(), registry=app.jobs)


def test_a_slow_job_tells_how_far_it_is(queue: JobQueue) -> None:
    job = queue.enqueue("demo.slow", {"seconds": 0.05})

    drain(queue, app.jobs)

    done = queue.get(job)
    assert done.status is Status.COMPLETED
    assert done.runs[-1].message == "worked for 0.05 s"
    assert done.progress and done.progress["total"] == 0.05


def test_a_slow_job_stops_when_asked_to(queue: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    job = queue.enqueue("demo.slow", {"seconds": 60})
    monkeypatch.setattr(time, "sleep", lambda _: queue.cancel(job))

    drain(queue, app.jobs)

    assert queue.get(job).status is Status.CANCELLED


def test_a_slow_job_may_not_outlast_its_function(queue: JobQueue) -> None:
    queue.registry = None
    job = queue.enqueue("demo.slow", {"seconds": 1000})

    drain(queue, app.jobs)

    assert queue.get(job).status is Status.DEAD_LETTER


def test_a_failing_job_is_a_dead_letter_after_two_attempts_five_seconds_apart(queue: JobQueue) -> None:
    job = queue.enqueue("demo.fail")

    assert drain(queue, app.jobs) == []
    waiting = queue.get(job)
    assert waiting.status is Status.FAILED
    assert waiting.scheduled_for - queue.now() == timedelta(seconds=5)

    drain(queue, app.jobs, advance=True)
    assert queue.get(job).status is Status.DEAD_LETTER
    assert queue.get(job).attempts == 2


def test_a_job_that_fails_once_succeeds_at_the_second_attempt(queue: JobQueue) -> None:
    job = queue.enqueue("demo.fail", {"times": 1})

    drain(queue, app.jobs, advance=True)

    done = queue.get(job)
    assert (done.status, done.attempts) == (Status.COMPLETED, 1)
    assert done.runs[-1].message == "attempt 2 succeeded"
