"""Jobs go through the deployed stack: claimed, handed over, run, retried, finished."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from dynajobs import Status
from tests.support.deployment import Deployment


def test_a_job_is_claimed_handed_over_and_completed(stack: Deployment) -> None:
    job = stack.queue.enqueue("daily_summary", {"user_id": "e2e"})

    [done] = stack.settle([job])

    assert (done.status, done.attempts, done.undelivered) == (Status.COMPLETED, 0, 0)
    [run] = done.runs
    assert run.log and run.log["group"].startswith("/aws/lambda/dynajobs-")
    day = done.scheduled_for.date().isoformat()
    key = {"PK": {"S": "user#e2e"}, "SK": {"S": f"summary#{day}"}}
    summary = stack.dynamodb.get_item(TableName=stack.table, Key=key)["Item"]
    assert summary["job_id"]["S"] == job.id


def test_every_type_of_the_shipped_functions_runs(stack: Deployment) -> None:
    jobs = [
        stack.queue.enqueue("daily_summary", {"user_id": "e2e"}),
        stack.queue.enqueue("user_sync", {"user_id": "e2e"}),
        stack.queue.enqueue("demo.slow", {"seconds": 0.1}),
        stack.queue.enqueue("demo.fail", {"times": 0}),
    ]

    done = stack.settle(jobs)

    assert {job.status for job in done} == {Status.COMPLETED}, [job.last_error for job in done]


def test_a_failing_job_waits_longer_each_time_and_then_succeeds(stack: Deployment, batch: str) -> None:
    job = stack.queue.enqueue("e2e.work", {"batch": batch, "fails": 2})

    [done] = stack.settle([job])

    assert (done.status, done.attempts) == (Status.COMPLETED, 2)
    assert [run.status for run in done.runs] == ["failed", "failed", "completed"]
    assert stack.traces(batch) == [job.id] * 3
    first, second, third = done.runs
    assert first.finished_at and second.finished_at and second.started_at and third.started_at
    assert second.started_at - first.finished_at >= timedelta(seconds=1)
    assert third.started_at - second.finished_at >= timedelta(seconds=2)


def test_a_hopeless_job_is_a_dead_letter_after_its_last_attempt(stack: Deployment, batch: str) -> None:
    job = stack.queue.enqueue("e2e.work", {"batch": batch, "fails": 99}, max_attempts=2)

    [dead] = stack.settle([job])

    assert (dead.status, dead.attempts) == (Status.DEAD_LETTER, 2)
    assert "attempt 2 fails" in (dead.last_error or "")
    assert stack.traces(batch) == [job.id] * 2


def test_a_type_without_a_function_and_a_payload_that_does_not_fit_end_with_a_reason(
    stack: Deployment, batch: str
) -> None:
    unknown = stack.queue.enqueue("nobody.handles.this", max_attempts=1)
    unfit = stack.queue.enqueue("e2e.work", {"batch": batch, "fails": "many"})

    unknown, unfit = stack.settle([unknown, unfit])

    assert (unknown.status, unfit.status) == (Status.DEAD_LETTER, Status.DEAD_LETTER)
    assert "DYNAJOBS_HANDLERS" in (unknown.last_error or "")
    assert unfit.attempts == 0
    assert stack.traces(batch) == []


def test_a_scheduled_job_does_not_start_before_its_time(stack: Deployment, batch: str) -> None:
    job = stack.queue.enqueue("e2e.work", {"batch": batch}, delay=3)

    [done] = stack.settle([job])

    [run] = done.runs
    assert run.started_at and run.started_at >= job.scheduled_for


def test_a_dedup_key_makes_one_job_of_many_and_none_once_the_window_is_done(
    stack: Deployment, batch: str
) -> None:
    def enqueue(_: int) -> tuple[str, bool]:
        job = stack.queue.enqueue("e2e.work", {"batch": batch}, dedup_key=batch, dedup_window="today")
        return job.id, job.created

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(enqueue, range(20)))
    [job_id] = {job_id for job_id, _ in answers}
    assert Counter(created for _, created in answers) == {True: 1, False: 19}

    stack.settle([stack.queue.get(job_id)])

    again = stack.queue.enqueue("e2e.work", {"batch": batch}, dedup_key=batch, dedup_window="today")
    assert (again.id, again.created, again.status) == (job_id, False, Status.COMPLETED)
    assert stack.traces(batch) == [job_id]


def test_the_active_window_ends_with_its_job(stack: Deployment, batch: str) -> None:
    first = stack.queue.enqueue("e2e.work", {"batch": batch}, dedup_key=batch)
    stack.settle([first])

    second = stack.queue.enqueue("e2e.work", {"batch": batch}, dedup_key=batch)

    assert second.created and second.id != first.id
    stack.settle([second])
    assert stack.traces(batch) == sorted([first.id, second.id])
