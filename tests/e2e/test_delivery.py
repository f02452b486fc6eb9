"""Events that arrive twice, pollers that run at once, a backlog that is worked off: each job runs once."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from dynajobs import Job, Status
from dynajobs.keys import timestamp
from dynajobs.poller_function import TICK
from tests.support.deployment import Deployment

BACKLOG = 300


def assert_each_ran_once(stack: Deployment, batch: str, done: list[Job]) -> None:
    assert Counter(job.status for job in done) == {Status.COMPLETED: len(done)}
    for job in done:
        assert (job.attempts, job.undelivered, len(job.runs)) == (0, 0, 1), job
    assert stack.traces(batch) == sorted(job.id for job in done)


def test_an_event_delivered_twice_runs_once(stack: Deployment, batch: str) -> None:
    jobs = stack.queue.enqueue_many("e2e.work", [{"batch": batch}] * 3)

    stack.call("RepeatingPoller", {"source": TICK})
    done = stack.settle(jobs)

    assert_each_ran_once(stack, batch, done)


def test_an_event_delivered_again_after_the_job_has_ended_is_stale(stack: Deployment, batch: str) -> None:
    job = stack.queue.enqueue("e2e.work", {"batch": batch})
    [done] = stack.settle([job])
    event = {
        "pk": "job",
        "sk": f"scheduled#{timestamp(job.scheduled_for)}#{job.id}",
        "job_id": job.id,
        "token": done.runs[-1].run_id,
    }

    assert stack.call("WorkFunction", event) == {"job_id": job.id, "status": "stale"}

    assert stack.traces(batch) == [job.id]
    assert stack.queue.get(job) == done


def test_pollers_that_run_at_once_start_each_job_once(stack: Deployment, batch: str) -> None:
    jobs = stack.queue.enqueue_many("e2e.work", [{"batch": batch}] * 40)

    with ThreadPoolExecutor(2) as pool:
        answers = [future.result() for future in [pool.submit(stack.poll) for _ in range(2)]]
    done = stack.settle(jobs)

    assert_each_ran_once(stack, batch, done)
    assert sum(answer["claimed"] for answer in answers) <= len(jobs)


def test_a_backlog_is_drained_and_every_job_completed_once(stack: Deployment, batch: str) -> None:
    jobs = stack.queue.enqueue_many("e2e.work", [{"batch": batch}] * BACKLOG)

    done = stack.settle(jobs, within=240)

    assert_each_ran_once(stack, batch, done)
    assert len(set(stack.traces(batch))) == BACKLOG
