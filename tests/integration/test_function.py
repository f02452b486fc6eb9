"""The handler Lambda: one event is one job, run once, however the event arrives."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynajobs import BaseJobHandler, InvalidJob, Job, JobContext, JobQueue, Registry, Status
from dynajobs.poller import Poller
from dynajobs.testing import Clock
from tests.support.delivery import Delivery
from tests.support.invocation import Invocation, claimed
from tests.support.table import all_items, event_of
from tests.support.work import Work, working

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_claimed_job_shows_no_run_and_a_begun_one_shows_where_it_runs(queue: JobQueue) -> None:
    seen: list[Job] = []
    job = claimed(queue, {"do": "call"})
    waiting = queue.get(job)
    assert (waiting.status, waiting.runs, waiting.locked_by) == (Status.IN_PROGRESS, (), job.locked_by)
    assert waiting.lock_expires_at == START + timedelta(seconds=90)

    answer = working(lambda ctx: seen.append(queue.get(ctx.job))).lambda_handler(queue)(
        event_of(job), Invocation(900)
    )

    assert answer == {"job_id": job.id, "status": "completed"}
    [running] = seen
    [run] = running.runs
    assert (run.run_id, run.attempt, run.status, run.started_at) == (job.locked_by, 1, "running", START)
    assert run.worker == Invocation.log_stream_name
    assert run.log == {
        "group": Invocation.log_group_name,
        "stream": Invocation.log_stream_name,
        "request_id": "request-1",
    }
    assert running.lock_expires_at == START + timedelta(seconds=60)
    assert running.max_attempts == 5
    assert queue.get(job).runs[0].log == run.log


def test_a_lease_never_outlives_the_function_by_more_than_clocks_differ(queue: JobQueue) -> None:
    ends: list[Any] = []

    def during(ctx: JobContext) -> None:
        ends.append(queue.get(ctx.job).lock_expires_at)
        ctx.heartbeat()
        ends.append(queue.get(ctx.job).lock_expires_at)

    working(during).lambda_handler(queue)(event_of(claimed(queue, {"do": "call"})), Invocation(10))

    assert ends == [START + timedelta(seconds=12)] * 2


def test_an_event_that_comes_twice_runs_its_job_once(queue: JobQueue) -> None:
    runs: list[str] = []
    job = claimed(queue, {"do": "call"})
    function = working(lambda ctx: runs.append(ctx.job.id)).lambda_handler(queue)

    answers = [function(event_of(job), None) for _ in range(3)]

    assert [answer["status"] for answer in answers] == ["completed", "stale", "stale"]
    assert runs == [job.id]


def test_an_event_that_comes_again_while_its_job_runs_is_stale(queue: JobQueue) -> None:
    answers: list[Any] = []
    job = claimed(queue, {"do": "call"})

    def again(_: JobContext) -> None:
        answers.append(working().lambda_handler(queue)(event_of(job), None))

    working(again).lambda_handler(queue)(event_of(job), None)

    assert answers == [{"job_id": job.id, "status": "stale"}]
    assert len(queue.get(job).runs) == 1


@pytest.mark.parametrize("change", ["token", "pk", "sk"])
def test_an_event_of_another_claim_is_stale_and_changes_nothing(
    queue: JobQueue, jobs: Registry, change: str
) -> None:
    job = claimed(queue)
    before = all_items(queue)

    answer = jobs.lambda_handler(queue)({**event_of(job), change: "another"}, None)

    assert answer == {"job_id": job.id, "status": "stale"}
    assert all_items(queue) == before


def test_the_event_of_a_cancelled_claim_is_stale(queue: JobQueue, jobs: Registry) -> None:
    job = claimed(queue)
    queue.cancel(job)

    assert jobs.lambda_handler(queue)(event_of(job), None)["status"] == "stale"
    assert queue.get(job).status == Status.CANCELLED


def test_a_late_event_still_runs_if_nobody_claimed_the_job_again(
    queue: JobQueue, jobs: Registry, clock: Clock
) -> None:
    job = claimed(queue)
    clock.advance(timedelta(hours=1))

    assert jobs.lambda_handler(queue)(event_of(job), None)["status"] == "completed"


def test_a_late_event_is_stale_once_the_job_was_claimed_again(
    queue: JobQueue, jobs: Registry, clock: Clock, delivery: Delivery
) -> None:
    job = claimed(queue)
    clock.advance(93)
    Poller(queue, delivery).poll()
    [again] = delivery.jobs
    assert (again.id, again.undelivered, again.attempts, again.runs) == (job.id, 1, 0, ())

    assert jobs.lambda_handler(queue)(event_of(job), None)["status"] == "stale"
    assert jobs.lambda_handler(queue)(event_of(again), None)["status"] == "completed"
    assert queue.get(job).undelivered == 1


def test_a_worker_that_comes_too_late_records_nothing(
    queue: JobQueue, clock: Clock, delivery: Delivery
) -> None:
    def slow(_: JobContext) -> str:
        clock.advance(63)
        Poller(queue, delivery).poll()
        return "too late"

    job = claimed(queue, {"do": "call"})
    answer = working(slow).lambda_handler(queue)(event_of(job), None)

    assert answer == {"job_id": job.id, "status": "stale"}
    [again] = delivery.jobs
    assert (again.attempts, [run.status for run in again.runs]) == (1, ["expired"])
    working(lambda _: "in time").lambda_handler(queue)(event_of(again), None)
    assert queue.get(job).result == "in time"
    assert [run.status for run in queue.get(job).runs] == ["expired", "completed"]


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        "x",
        {},
        {"pk": "job", "sk": "scheduled#x", "job_id": "x"},
        {"pk": "job", "sk": "scheduled#x", "job_id": "x", "token": 7},
        {"pk": "job", "sk": "scheduled#x", "job_id": "x", "token": ""},
        {"pk": "", "sk": "scheduled#x", "job_id": "x", "token": "x"},
    ],
)
def test_an_event_that_is_no_jobs_says_what_it_must_be(moto_queue: JobQueue, event: Any) -> None:
    with pytest.raises(InvalidJob, match="pk, sk, job_id, token"):
        working().lambda_handler(moto_queue)(event, None)


def test_each_type_has_the_limit_of_its_own_handler(queue: JobQueue) -> None:
    registry = working(max_attempts=2)

    @registry.handler("other", max_attempts=9)
    def other(payload: dict[str, Any]) -> None:
        pass

    registry.lambda_handler(queue)(event_of(claimed(queue, {"do": "fail"})), None)

    [failed] = queue.list(status="failed")
    assert failed.max_attempts == 2


def test_the_class_form_runs_with_its_context(queue: JobQueue) -> None:
    registry = Registry()

    @registry.register("work")
    class Worker(BaseJobHandler):
        @classmethod
        def payload_model(cls) -> type[Work]:
            return Work

        def handle(self, payload: Work) -> dict[str, Any]:
            return {"n": payload.n, "attempt": self.context.attempt}

    job = claimed(queue, {"n": 7})
    registry.lambda_handler(queue)(event_of(job), None)

    assert queue.get(job).result == {"n": 7, "attempt": 1}
