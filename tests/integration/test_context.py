"""What a running handler knows of its job, tells about it, and learns while it runs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynajobs import InvalidJob, JobContext, JobQueue, LeaseLost, Status
from dynajobs.testing import Clock, drain
from tests.integration.conftest import MakeQueue
from tests.support.invocation import Invocation, claimed
from tests.support.table import event_of
from tests.support.work import working

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_handler_knows_its_job_and_how_late_it_is(queue: JobQueue, clock: Clock) -> None:
    seen: list[tuple[Any, ...]] = []

    def during(ctx: JobContext) -> None:
        seen.append((ctx.job.id, ctx.attempt, ctx.scheduled_for, ctx.late_by, ctx.remaining, ctx.cancelled))
        if ctx.attempt == 1:
            raise RuntimeError

    job = queue.enqueue("work", {"do": "call"}, delay=10)
    clock.advance(15)
    drain(queue, working(during))
    due_again = queue.get(job).scheduled_for
    clock.set(due_again + timedelta(seconds=2))
    drain(queue, working(during))

    assert seen == [
        (job.id, 1, START + timedelta(seconds=10), timedelta(seconds=5), None, False),
        (job.id, 2, due_again, timedelta(seconds=2), None, False),
    ]


def test_the_time_that_remains_shrinks(queue: JobQueue, clock: Clock) -> None:
    left: list[timedelta | None] = []

    def during(ctx: JobContext) -> None:
        left.append(ctx.remaining)
        clock.advance(20)
        left.append(ctx.remaining)

    working(during).lambda_handler(queue)(event_of(claimed(queue, {"do": "call"})), Invocation(30))

    assert left == [timedelta(seconds=30), timedelta(seconds=10)]


def test_a_heartbeat_brings_the_wish_to_cancel(queue: JobQueue) -> None:
    seen: list[bool] = []

    def during(ctx: JobContext) -> None:
        queue.cancel(ctx.job)
        seen.append(ctx.cancelled)
        ctx.heartbeat()
        seen.append(ctx.cancelled)

    queue.enqueue("work", {"do": "call"})
    drain(queue, working(during))

    assert seen == [False, True]


def test_a_heartbeat_extends_the_lease_and_leaves_the_version(queue: JobQueue, clock: Clock) -> None:
    seen: list[Any] = []

    def during(ctx: JobContext) -> None:
        seen.append(queue.get(ctx.job))
        clock.advance(50)
        ctx.heartbeat()
        seen.append(queue.get(ctx.job))

    queue.enqueue("work", {"do": "call"})
    drain(queue, working(during))

    before, after = seen
    assert after.lock_expires_at == START + timedelta(seconds=110)
    assert after.version == before.version


def test_progress_is_visible_after_the_next_renewal(queue: JobQueue) -> None:
    seen: list[Any] = []

    def during(ctx: JobContext) -> None:
        ctx.progress(3, 10, "three of ten")
        seen.append(queue.get(ctx.job).progress)
        ctx.heartbeat()
        seen.append(queue.get(ctx.job).progress)
        ctx.progress(0.5)
        ctx.heartbeat()
        seen.append(queue.get(ctx.job).progress)

    queue.enqueue("work", {"do": "call"})
    [done] = drain(queue, working(during))

    assert seen == [None, {"done": 3, "total": 10, "message": "three of ten"}, {"done": 0.5}]
    assert done.progress == {"done": 0.5}


@pytest.mark.parametrize("progress", [(float("nan"),), (object(),), (1, {2})])
def test_progress_that_json_cannot_hold_is_refused(moto_queue: JobQueue, progress: Any) -> None:
    errors: list[str] = []

    def during(ctx: JobContext) -> None:
        with pytest.raises(InvalidJob) as refused:
            ctx.progress(*progress)
        errors.append(str(refused.value))

    moto_queue.enqueue("work", {"do": "call"})
    [done] = drain(moto_queue, working(during))

    assert done.status == Status.COMPLETED
    assert "progress" in errors[0]


def test_a_heartbeat_after_the_job_was_taken_away_raises(make_queue: MakeQueue, clock: Clock) -> None:
    queue, other = make_queue(), make_queue()
    lost: list[type[Exception]] = []

    def during(ctx: JobContext) -> None:
        clock.advance(63)
        assert [job.id for job in drain(other, working(lambda _: "other"))] == [ctx.job.id]
        with pytest.raises(LeaseLost) as error:
            ctx.heartbeat()
        lost.append(error.type)
        raise error.value

    job = queue.enqueue("work", {"do": "call"})

    assert drain(queue, working(during)) == []
    assert lost == [LeaseLost]
    assert queue.get(job).result == "other"
    assert [run.status for run in queue.get(job).runs] == ["expired", "completed"]
