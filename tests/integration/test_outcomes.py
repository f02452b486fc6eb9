"""What a handler answers decides what becomes of its job, run by drain and by a Lambda function alike."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynajobs import Backoff, Job, JobContext, JobQueue, Registry, Status
from dynajobs.poller import Poller
from dynajobs.testing import Clock, drain
from tests.support.delivery import Delivery
from tests.support.table import all_items, event_of, finished_items, live_items
from tests.support.work import Work, handle, working

START = datetime(2026, 1, 1, tzinfo=UTC)
Run = Callable[[JobQueue, Registry], Any]


def by_drain(queue: JobQueue, jobs: Registry) -> None:
    drain(queue, jobs)


def by_lambda(queue: JobQueue, jobs: Registry) -> list[dict[str, str]]:
    delivery = Delivery()
    Poller(queue, delivery).poll()
    function = jobs.lambda_handler(queue)
    return [function(event_of(job), None) for job in delivery.jobs]


@pytest.fixture(params=[by_drain, by_lambda])
def run(request: pytest.FixtureRequest) -> Run:
    chosen: Run = request.param
    return chosen


OUTCOMES: list[tuple[dict[str, Any], str, int, str, str | None]] = [
    # payload, status, failed attempts, the run's status, part of last_error
    ({"do": "ok"}, "completed", 0, "completed", None),
    ({"do": "return", "value": {"a": [1, 2.5, None]}}, "completed", 0, "completed", None),
    ({"do": "return", "value": False}, "completed", 0, "completed", None),
    ({"do": "result", "value": {"message": "done", "details": {"n": 1}}}, "completed", 0, "completed", None),
    ({"do": "fail", "value": "boom"}, "failed", 1, "failed", "RuntimeError: boom"),
    ({"do": "result", "value": {"success": False, "message": "bad"}}, "failed", 1, "failed", "bad"),
    ({"do": "result", "value": {"success": False}}, "failed", 1, "failed", "success=False"),
    ({"do": "not_json"}, "failed", 1, "failed", "set"),
    ({"do": "exit"}, "failed", 1, "failed", "SystemExit: 3"),
    ({"do": "interrupt"}, "failed", 1, "failed", "KeyboardInterrupt"),
    ({"do": "snooze", "value": -1}, "failed", 1, "failed", "delay"),
    ({"do": "snooze", "value": 90}, "pending", 0, "snoozed", None),
    ({"do": "return_snooze", "value": 90}, "pending", 0, "snoozed", None),
    ({"do": "discard", "value": "pointless"}, "dead_letter", 0, "discarded", "pointless"),
    ({"do": "return_discard", "value": "pointless"}, "dead_letter", 0, "discarded", "pointless"),
    ({"n": "no number"}, "dead_letter", 0, "failed", "n: "),
]


@pytest.mark.parametrize(("payload", "status", "attempts", "run_status", "error"), OUTCOMES)
def test_an_answer_has_its_outcome(
    queue: JobQueue,
    run: Run,
    payload: dict[str, Any],
    status: str,
    attempts: int,
    run_status: str,
    error: str | None,
) -> None:
    job = queue.enqueue("work", payload)

    answers = run(queue, working())

    seen = queue.get(job)
    assert (seen.status, seen.attempts) == (status, attempts)
    assert [(each.status, each.attempt) for each in seen.runs] == [(run_status, 1)]
    assert (seen.locked_by, seen.lock_expires_at) == (None, None)
    assert seen.max_attempts == 5
    if error is None:
        assert (seen.last_error, seen.fingerprint) == (None, None)
    else:
        assert error in (seen.last_error or "")
        assert seen.fingerprint is not None
        assert seen.runs[0].error is not None
    assert (seen.finished_at == START) is seen.status.finished
    assert (seen.completed_at == START) is (status == "completed")
    assert answers in (None, [{"job_id": job.id, "status": status}])


def test_results_are_stored_as_returned(queue: JobQueue, jobs: Registry) -> None:
    for value in ({"a": [1, 2.5, None, "é"]}, [1], "text", 7, 0.1, False, {}):
        queue.enqueue("work", {"do": "return", "value": value})

    results = [job.result for job in drain(queue, jobs)]

    assert results == [{"a": [1, 2.5, None, "é"]}, [1], "text", 7, 0.1, False, {}]


def test_a_structured_result_is_told_in_the_run(queue: JobQueue, jobs: Registry) -> None:
    queue.enqueue("work", {"do": "result", "value": {"message": "sent", "details": {"to": ["a"]}}})

    [done] = drain(queue, jobs)

    assert done.result is None
    assert (done.runs[0].message, done.runs[0].details) == ("sent", {"to": ["a"]})


def test_a_failed_job_waits_longer_each_time_and_then_is_a_dead_letter(
    queue: JobQueue, jobs: Registry, clock: Clock
) -> None:
    job = queue.enqueue("work", {"do": "fail"}, max_attempts=4)
    waits = []
    for _ in range(3):
        drain(queue, jobs)
        waiting = queue.get(job)
        waits.append((waiting.scheduled_for - clock()).total_seconds())
        clock.set(waiting.scheduled_for)

    [dead] = drain(queue, jobs)

    assert all(base <= wait <= base * 1.1 for base, wait in zip((60, 120, 240), waits, strict=True))
    assert (dead.id, dead.status, dead.attempts) == (job.id, Status.DEAD_LETTER, 4)
    assert [each.attempt for each in dead.runs] == [1, 2, 3, 4]
    assert [each.status for each in dead.runs] == ["failed"] * 4
    assert live_items(queue) == []


@pytest.mark.parametrize(
    ("enqueued", "handler", "runs"), [(2, 3, 2), (None, 3, 3), (None, None, 5), (1, None, 1)]
)
def test_the_limit_is_the_jobs_own_then_the_handlers_then_the_setting(
    queue: JobQueue, enqueued: int | None, handler: int | None, runs: int
) -> None:
    queue.enqueue("work", {"do": "fail"}, max_attempts=enqueued)

    [dead] = drain(queue, working(max_attempts=handler), advance=True)

    assert (dead.attempts, len(dead.runs), dead.max_attempts) == (runs, runs, runs)


@pytest.mark.parametrize(
    ("backoff", "seconds"),
    [
        (Backoff(7, 100, 0), 7),
        (Backoff(500, 100, 0), 100),
        (lambda attempts: timedelta(seconds=11 * attempts), 11),
    ],
)
def test_a_handlers_own_backoff_is_used(queue: JobQueue, backoff: Any, seconds: int) -> None:
    job = queue.enqueue("work", {"do": "fail"})

    drain(queue, working(backoff=backoff))

    assert queue.get(job).scheduled_for == START + timedelta(seconds=seconds)


@pytest.mark.parametrize("backoff", [lambda _: 1 / 0, lambda _: "soon", lambda _: timedelta(-1)])
def test_a_broken_backoff_gives_way_to_the_default(moto_queue: JobQueue, backoff: Any) -> None:
    job = moto_queue.enqueue("work", {"do": "fail"})

    drain(moto_queue, working(backoff=backoff))

    assert moto_queue.get(job).status == Status.FAILED
    assert moto_queue.get(job).scheduled_for >= START + timedelta(seconds=60)


def test_an_unknown_type_is_an_ordinary_failure(queue: JobQueue, run: Run) -> None:
    job = queue.enqueue("of_the_next_release")

    run(queue, working())

    seen = queue.get(job)
    assert (seen.status, seen.attempts) == (Status.FAILED, 1)
    assert "of_the_next_release" in (seen.last_error or "")
    assert seen.scheduled_for >= START + timedelta(seconds=60)


def test_a_stored_error_quotes_no_value_that_was_put_in(queue: JobQueue, run: Run) -> None:
    job = queue.enqueue("work", {"n": "hunter2"})

    run(queue, working())

    seen = queue.get(job)
    assert "hunter2" not in (seen.last_error or "") + (seen.runs[0].error or "")


CANCELLED: list[tuple[dict[str, Any], str]] = [
    ({"do": "ok"}, "completed"),
    ({"do": "return", "value": 1}, "completed"),
    ({"do": "discard", "value": "x"}, "dead_letter"),
    ({"do": "fail"}, "cancelled"),
    ({"do": "result", "value": {"success": False}}, "cancelled"),
    ({"do": "snooze", "value": 5}, "cancelled"),
    ({"do": "not_json"}, "cancelled"),
]


@pytest.mark.parametrize(("then", "status"), CANCELLED)
def test_a_running_job_that_was_asked_to_stop_ends_by_its_answer(
    queue: JobQueue, then: dict[str, Any], status: str
) -> None:
    def during(ctx: JobContext) -> Any:
        queue.cancel(ctx.job)
        return handle(Work(**then), ctx)

    job = queue.enqueue("work", {"do": "call"}, dedup_key="k")
    [done] = drain(queue, working(during))

    assert (done.id, done.status, done.attempts) == (job.id, status, 0)
    assert done.cancel_requested
    assert queue.get(job) == done
    assert queue.enqueue("work", dedup_key="k").created


def test_every_run_is_kept_ten_in_the_job_and_older_ones_beside_it(
    queue: JobQueue, jobs: Registry, clock: Clock
) -> None:
    job = queue.enqueue("work", {"do": "snooze", "value": 1})
    for _ in range(12):
        drain(queue, jobs)
        clock.advance(1)
    snoozed = queue.get(job)
    assert len(snoozed.runs) == 10
    cancelled = queue.cancel(job)

    assert (cancelled.runs, snoozed.attempts) == (snoozed.runs, 0)
    older = [item for item in all_items(queue, f"job-id#{job.id}") if item["SK"]["S"] != "job"]
    assert sorted(item["SK"]["S"] for item in older) == ["run#000001", "run#000002"]
    assert {item["status"]["S"] for item in older} == {"snoozed"}
    expiry = {str(int((cancelled.finished_at or START).timestamp()) + 30 * 86400)}
    assert {item["expires_at"]["N"] for item in older} == expiry


def test_finished_jobs_expire_after_the_retention_but_dead_letters_never(
    queue: JobQueue, jobs: Registry
) -> None:
    kinds: list[Job] = [queue.enqueue("work", {"do": do, "value": "x"}) for do in ("ok", "discard")]
    drain(queue, jobs)
    kinds.append(queue.cancel(queue.enqueue("work", delay=1)))

    expiries = {item["status"]["S"]: item.get("expires_at") for item in finished_items(queue)}

    after = {"N": str(int((START + timedelta(days=30)).timestamp()))}
    assert expiries == {"completed": after, "cancelled": after, "dead_letter": None}
