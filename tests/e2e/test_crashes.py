"""Whatever is killed at whatever point: the job still ends, and attempts are counted as they were used."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from dynajobs import Job, Status
from dynajobs.item import job_key
from dynajobs.keys import timestamp
from tests.support.deployment import Deployment


@dataclass
class Victim:
    """A job with the name its executions are traced under."""

    batch: str
    job: Job


@pytest.fixture(scope="module")
def victims(stack: Deployment) -> dict[str, Victim]:
    """Their leases lapse in real time, all at once: a lease ends with its function's ten seconds."""
    what_happens = {
        "outlasts its function once": ({"hangs": 1}, 3),
        "kills its process once": ({"dies": 1}, 3),
        "outlasts its function each time": ({"hangs": 99}, 2),
        "kills its process each time": ({"dies": 99}, 2),
    }
    made = {}
    for name, (payload, max_attempts) in what_happens.items():
        batch = uuid4().hex
        job = stack.queue.enqueue("e2e.fragile", {"batch": batch, **payload}, max_attempts=max_attempts)
        made[name] = Victim(batch, job)
    # A start that is too slow is an undelivered claim, which takes ninety seconds more.
    ended = stack.settle([victim.job for victim in made.values()], within=300)
    return {name: Victim(made[name].batch, job) for name, job in zip(made, ended, strict=True)}


@pytest.mark.parametrize("name", ["outlasts its function once", "kills its process once"])
def test_a_lapsed_lease_counts_as_an_attempt_and_another_run_finishes_the_job(
    stack: Deployment, victims: dict[str, Victim], name: str
) -> None:
    job = victims[name].job

    assert (job.status, job.attempts) == (Status.COMPLETED, 1)
    assert [run.status for run in job.runs] == ["expired", "completed"]
    assert job.result == {"attempt": 2}
    assert stack.traces(victims[name].batch) == [job.id] * 2


@pytest.mark.parametrize("name", ["outlasts its function each time", "kills its process each time"])
def test_a_job_that_ends_its_worker_each_time_becomes_a_dead_letter(
    stack: Deployment, victims: dict[str, Victim], name: str
) -> None:
    job = victims[name].job

    assert (job.status, job.attempts) == (Status.DEAD_LETTER, 2)
    assert [run.status for run in job.runs] == ["expired", "expired"]
    assert "lease expired" in (job.last_error or "")
    assert stack.traces(victims[name].batch) == [job.id] * 2


def test_a_poller_killed_between_claim_and_invocation_costs_no_attempt(stack: Deployment, batch: str) -> None:
    job = stack.queue.enqueue("e2e.work", {"batch": batch})
    stack.kill("DyingPoller")
    claimed = stack.queue.get(job)
    assert (claimed.status, claimed.runs) == (Status.IN_PROGRESS, ())
    stack.poll()
    assert stack.queue.get(job).locked_by == claimed.locked_by, "the claim still holds"

    let_the_claim_lapse(stack, claimed)
    [done] = stack.settle([job])

    assert (done.status, done.attempts, done.undelivered) == (Status.COMPLETED, 0, 1)
    assert [run.status for run in done.runs] == ["completed"]
    assert stack.traces(batch) == [job.id]


def let_the_claim_lapse(stack: Deployment, job: Job) -> None:
    """Ninety seconds in one write, on the table itself."""
    stack.dynamodb.update_item(
        TableName=stack.table,
        Key=job_key(job),
        UpdateExpression="SET lock_expires_at = :past",
        ConditionExpression="locked_by = :token",
        ExpressionAttributeValues={
            ":past": {"S": timestamp(datetime.now(UTC) - timedelta(seconds=10))},
            ":token": {"S": job.locked_by},
        },
    )
