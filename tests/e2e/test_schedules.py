"""Schedules on the deployed stack: slots fire in the poller's Lambda, with the permissions it has."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from dynajobs import JobQueue, ScheduleRun, Settings, Status
from dynajobs.installing import EXPIRE_RESERVATION, HOUSEKEEPING
from tests.support.deployment import PATIENCE_SECONDS, Deployment

MINUTE = timedelta(minutes=1)


@pytest.fixture
def schedule(stack: Deployment, batch: str) -> Iterator[str]:
    """A name that is free again afterwards."""
    name = f"e2e-{batch}"
    yield name
    if any(entry.schedule.name == name for entry in stack.queue.schedules.entries()):
        stack.queue.schedules.delete(name)


def at(stack: Deployment, moment: datetime) -> JobQueue:
    """The same queue, some time ago."""
    return JobQueue(stack.table, client=stack.dynamodb, clock=lambda: moment, settings=Settings())


def ended(stack: Deployment, name: str) -> list[ScheduleRun]:
    """The runs of a schedule once none of them is under way."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        runs = list(stack.queue.schedules.runs(name))
        if runs and not any(run.outcome in ("queued", "running", "failed") for run in runs):
            return runs
        assert time.monotonic() < give_up_at, runs
        time.sleep(0.2)


@pytest.mark.parametrize("overlap", ["allow", "skip", "queue_one"])
def test_a_due_slot_becomes_a_job_that_runs(
    stack: Deployment, schedule: str, batch: str, overlap: str
) -> None:
    ago = datetime.now(UTC) - 2 * MINUTE
    at(stack, ago).schedules.create(
        schedule, "e2e.work", cron="* * * * *", payload={"batch": batch}, overlap=overlap
    )

    fired = stack.poll()["fired"]

    *_, run = [run for run in ended(stack, schedule) if run.job_id]
    assert fired >= 1
    assert (run.outcome, run.triggered_by, run.success) == ("completed", "scheduler", True)
    assert run.job_id in stack.traces(batch)


def test_a_template_is_resolved_by_the_poller(stack: Deployment, schedule: str, batch: str) -> None:
    stack.queue.templates.create(schedule, "e2e.work", payload={"batch": "other"})
    at(stack, datetime.now(UTC) - 2 * MINUTE).schedules.create(
        schedule, template=schedule, param_overrides={"batch": batch}, cron="* * * * *"
    )

    stack.poll()

    assert ended(stack, schedule)[0].outcome == "completed"
    assert len(stack.traces(batch)) == 1


def test_a_run_by_hand_tells_when_the_last_one_succeeded(
    stack: Deployment, schedule: str, batch: str
) -> None:
    stack.queue.schedules.create(schedule, "e2e.work", cron="@yearly", payload={"batch": batch, "asks": True})
    for _ in range(2):
        stack.queue.schedules.trigger(schedule)
        stack.poll()
        ended(stack, schedule)

    later, earlier = (stack.queue.get(run.job_id) for run in ended(stack, schedule) if run.job_id)
    assert earlier.result == {"previous_success": None}
    assert datetime.fromisoformat(later.result["previous_success"]) == earlier.finished_at


def test_housekeeping_is_installed_and_may_do_its_work(stack: Deployment) -> None:
    stack.poll()
    with at(stack, datetime.now(UTC) - timedelta(hours=1)).reserve(by="crashed", ttl=60):
        for name in HOUSEKEEPING:
            stack.queue.schedules.trigger(name)
        stack.poll()
        runs = {name: ended(stack, name)[0] for name in HOUSEKEEPING}

    assert {run.outcome for run in runs.values()} == {"completed"}, runs
    assert runs[EXPIRE_RESERVATION].details == {"reservations": 1}


def test_nothing_is_started_while_the_queue_is_reserved(stack: Deployment, batch: str) -> None:
    with stack.queue.reserve(by="e2e"):
        job = stack.queue.enqueue("e2e.work", {"batch": batch})
        assert stack.poll()["claimed"] == 0
        assert stack.queue.get(job).status is Status.PENDING
    assert stack.settle([job])[0].status is Status.COMPLETED
