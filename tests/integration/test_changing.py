"""Cancel, retry, reschedule: what each does in each state, and what each forbids."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynajobs import InvalidJob, InvalidTransition, Job, JobQueue, Status
from dynajobs.poller import Poller
from dynajobs.testing import Clock, drain
from tests.support.delivery import Delivery
from tests.support.table import live_items
from tests.support.work import working

START = datetime(2026, 1, 1, tzinfo=UTC)


def pending(queue: JobQueue) -> Job:
    return queue.enqueue("work", {"n": 1}, delay=60, org_id="o", max_attempts=3)


def failed(queue: JobQueue) -> Job:
    return after(queue, "fail")


def claimed(queue: JobQueue) -> Job:
    delivery = Delivery()
    job = queue.enqueue("work", {"n": 1})
    Poller(queue, delivery).poll()
    assert delivery.ids == [job.id]
    return queue.get(job)


def completed(queue: JobQueue) -> Job:
    return after(queue, "ok")


def dead_letter(queue: JobQueue) -> Job:
    return after(queue, "discard")


def cancelled(queue: JobQueue) -> Job:
    return queue.cancel(pending(queue))


def after(queue: JobQueue, do: str) -> Job:
    job = queue.enqueue("work", {"do": do, "value": "x", "n": 1}, org_id="o", max_attempts=3)
    drain(queue, working())
    return queue.get(job)


State = Callable[[JobQueue], Job]


@pytest.mark.parametrize("state", [pending, failed, claimed])
def test_a_job_that_is_not_running_is_cancelled_at_once(queue: JobQueue, clock: Clock, state: State) -> None:
    job = state(queue)
    clock.advance(1)

    gone = queue.cancel(job)

    assert (gone.id, gone.status, gone.finished_at) == (job.id, Status.CANCELLED, clock())
    assert (gone.locked_by, gone.lock_expires_at, gone.completed_at) == (None, None, None)
    assert queue.get(job.id) == gone
    assert live_items(queue) == []
    clock.advance(timedelta(days=1))
    assert drain(queue, working()) == []


def test_a_cancelled_job_stays_as_it_is(queue: JobQueue) -> None:
    job = cancelled(queue)

    assert queue.cancel(job.id) == job


@pytest.mark.parametrize("state", [completed, dead_letter])
def test_a_finished_job_cannot_be_cancelled(queue: JobQueue, state: State) -> None:
    job = state(queue)

    with pytest.raises(InvalidTransition, match=f"{job.status}: it cannot be cancelled") as refused:
        queue.cancel(job)
    assert refused.value.job == job


def test_a_running_job_is_asked_to_stop(queue: JobQueue) -> None:
    answers: list[Job] = []

    def during(ctx: Any) -> None:
        answers.append(queue.cancel(ctx.job))
        answers.append(queue.cancel(ctx.job.id))

    job = queue.enqueue("work", {"do": "call"})
    drain(queue, working(during))

    assert [(each.status, each.cancel_requested) for each in answers] == [(Status.IN_PROGRESS, True)] * 2
    assert answers[0] == answers[1]
    assert queue.get(job).status == Status.COMPLETED


@pytest.mark.parametrize("state", [completed, dead_letter, cancelled])
def test_a_finished_job_is_retried_as_a_new_one(queue: JobQueue, clock: Clock, state: State) -> None:
    old = state(queue)
    clock.advance(10)

    new = queue.retry(old)

    assert new.created
    assert new.id != old.id
    assert (new.retry_of, new.status, new.attempts, new.scheduled_for) == (old.id, "pending", 0, clock())
    assert (new.payload, new.org_id, new.max_attempts) == (old.payload, "o", 3)
    assert queue.get(new.id) == new
    assert queue.get(old).retried_by == new.id
    assert queue.get(old).status == old.status


@pytest.mark.parametrize("state", [completed, dead_letter, cancelled])
def test_a_second_retry_returns_the_same_successor(queue: JobQueue, state: State) -> None:
    old = state(queue)
    new = queue.retry(old)

    again = queue.retry(old.id)

    assert (again.id, again.created) == (new.id, False)
    assert len(live_items(queue)) == 1


def test_a_failed_job_is_retried_now_as_itself(queue: JobQueue, clock: Clock) -> None:
    job = failed(queue)
    clock.advance(1)

    again = queue.retry(job)

    assert (again.id, again.status, again.attempts) == (job.id, Status.FAILED, 1)
    assert again.scheduled_for == clock()
    assert not again.created
    drain(queue, working())
    assert queue.get(job).attempts == 2


@pytest.mark.parametrize("state", [pending, claimed])
def test_a_job_on_its_way_cannot_be_retried(queue: JobQueue, state: State) -> None:
    job = state(queue)

    with pytest.raises(InvalidTransition, match=str(job.status)) as refused:
        queue.retry(job)
    assert refused.value.job == job
    assert queue.get(job) == job


@pytest.mark.parametrize("state", [pending, failed])
def test_a_waiting_job_is_moved_in_time_and_priority(queue: JobQueue, clock: Clock, state: State) -> None:
    job = state(queue)

    moved = queue.reschedule(job, run_at=START + timedelta(days=1), priority=2)

    assert (moved.id, moved.status, moved.attempts) == (job.id, job.status, job.attempts)
    assert (moved.scheduled_for, moved.priority) == (START + timedelta(days=1), 2)
    assert queue.get(job.id) == moved
    assert len(live_items(queue)) == 1
    assert queue.reschedule(job, delay=5).scheduled_for == clock() + timedelta(seconds=5)
    assert queue.reschedule(job, priority=0).scheduled_for == clock() + timedelta(seconds=5)
    assert len(live_items(queue)) == 1


def test_moving_a_job_to_where_it_is_changes_nothing_but_its_version(queue: JobQueue) -> None:
    job = pending(queue)

    same = queue.reschedule(job, run_at=job.scheduled_for, priority=job.priority)

    assert queue.get(job) == same
    assert (same.scheduled_for, same.priority) == (job.scheduled_for, job.priority)


@pytest.mark.parametrize("state", [claimed, completed, dead_letter, cancelled])
def test_a_job_that_does_not_wait_cannot_be_moved(queue: JobQueue, state: State) -> None:
    job = state(queue)

    with pytest.raises(InvalidTransition, match="cannot be rescheduled") as refused:
        queue.reschedule(job, delay=5)
    assert refused.value.job == job
    assert queue.get(job) == job


@pytest.mark.parametrize("state", [pending, failed])
def test_before_puts_a_job_ahead_of_all_that_share_the_others_instant(queue: JobQueue, state: State) -> None:
    other = state(queue)
    queue.reschedule(other, run_at=START + timedelta(hours=1), priority=2)
    early = queue.enqueue("work", run_at=START + timedelta(hours=1), priority=2)
    job = queue.enqueue("work", delay=7200)

    moved = queue.reschedule(job, before=other)

    assert (moved.priority, moved.scheduled_for) == (2, START + timedelta(hours=1, microseconds=-1))
    assert [each.id for each in queue.list()] == [job.id, other.id, early.id]


@pytest.mark.parametrize("state", [claimed, completed, dead_letter, cancelled])
def test_nothing_goes_before_a_job_that_does_not_wait(queue: JobQueue, state: State) -> None:
    other = state(queue)
    job = queue.enqueue("work", delay=60)

    with pytest.raises(InvalidTransition, match=str(other.status)) as refused:
        queue.reschedule(job, before=other.id)
    assert refused.value.job == other
    assert queue.get(job) == job


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({}, "nothing to change"),
        ({"delay": 1, "run_at": START}, "run_at and delay"),
        ({"delay": -1}, "delay"),
        ({"priority": 4}, "priority"),
        ({"priority": True}, "priority"),
        ({"run_at": "soon"}, "run_at"),
    ],
)
def test_a_wrong_argument_is_named(moto_queue: JobQueue, arguments: dict[str, Any], name: str) -> None:
    job = moto_queue.enqueue("work", delay=60)

    with pytest.raises(InvalidJob, match=name):
        moto_queue.reschedule(job, **arguments)
    assert moto_queue.get(job) == job


def test_before_is_given_alone(queue: JobQueue) -> None:
    job, other = queue.enqueue("work", delay=60), queue.enqueue("work", delay=90)

    for arguments in ({"delay": 1}, {"priority": 1}, {"run_at": START}):
        with pytest.raises(InvalidJob, match="before"):
            queue.reschedule(job, before=other, **arguments)
