"""Callers that meet at one job: one wins, the others learn it, nothing is lost or done twice."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from dynajobs import InvalidTransition, Job, JobContext, JobQueue, LeaseLost, Status, keys, lifecycle
from dynajobs.execution import Executor
from dynajobs.item import Stored
from dynajobs.telemetry import Telemetry
from dynajobs.testing import Clock, drain
from dynajobs.worker import begin_here
from tests.integration.conftest import MakeQueue, queues_on
from tests.support.invocation import claimed
from tests.support.races import race
from tests.support.table import dedup_items, event_of, finished_items, live_items
from tests.support.work import working

ROUNDS = 6


@pytest.fixture
def make_queue(concurrent_client: Any, table_name: str, clock: Clock) -> MakeQueue:
    return queues_on(concurrent_client, table_name, clock)


def executor(queue: JobQueue, during: Callable[[JobContext], Any] | None = None) -> Executor:
    return Executor(queue, working(during), Telemetry(queue.settings))


def begun(queue: JobQueue, job: Job) -> Stored:
    found = begin_here(executor(queue), queue.store.find(job), "first")
    assert found is not None
    return found


def test_one_of_sixteen_claimers_wins(queue: JobQueue) -> None:
    for _ in range(ROUNDS):
        seen = queue.store.find(queue.enqueue("work"))

        def claim(seen: Stored = seen) -> Job | None:
            new = lifecycle.claim(
                seen.job, queue.now(), token=keys.new_id(), lease=timedelta(seconds=60), max_attempts=5
            )
            return queue.store.claim(seen, new)

        winners = [job for job in race([claim] * 16) if job is not None]

        assert [job.locked_by for job in winners] == [queue.get(seen.job.id).locked_by]


def test_one_of_sixteen_identical_events_runs_the_job(queue: JobQueue) -> None:
    runs: list[str] = []
    function = working(lambda ctx: runs.append(ctx.job.id)).lambda_handler(queue)
    for _ in range(ROUNDS // 2):
        job = claimed(queue, {"do": "call"})
        runs.clear()

        answers = race([partial(function, event_of(job), None)] * 16)

        assert sorted(answer["status"] for answer in answers) == ["completed"] + ["stale"] * 15
        assert runs == [job.id]


def test_a_finish_and_a_reclaim_of_a_lapsed_lease_never_both_happen(
    make_queue: MakeQueue, clock: Clock
) -> None:
    queue, other = make_queue(), make_queue()

    def complete(job: Job) -> Job:
        return lifecycle.complete(job, queue.now())

    for _ in range(ROUNDS * 2):
        held = begun(queue, queue.enqueue("work"))
        clock.advance(63)
        seen = queue.store.find(held.job)

        def finish(held: Stored = held) -> Any:
            return queue.store.settle(held, complete)

        def reclaim(seen: Stored = seen) -> Any:
            return begin_here(executor(other), seen, "second")

        finished, taken = race([finish, reclaim])

        job = queue.get(held.job.id)
        if isinstance(finished, LeaseLost):
            assert (job.status, job.attempts) == (Status.IN_PROGRESS, 1)
            assert [run.status for run in job.runs] == ["expired", "running"]
            assert taken is not None
            queue.store.settle(taken, complete)
        else:
            assert (job.status, taken) == (Status.COMPLETED, None)
            assert finished == job
    assert len(finished_items(queue)) == ROUNDS * 2


def test_a_renewal_and_a_reclaim_never_both_happen(make_queue: MakeQueue, clock: Clock) -> None:
    queue, other = make_queue(), make_queue()
    for _ in range(ROUNDS):
        held = begun(queue, queue.enqueue("work"))
        clock.advance(63)
        seen = queue.store.find(held.job)
        until = queue.now() + timedelta(seconds=60)

        def renew(held: Stored = held, until: Any = until) -> Any:
            return queue.store.renew(held, lifecycle.extend(held.job, queue.now(), until=until))

        def reclaim(seen: Stored = seen) -> Any:
            return begin_here(executor(other), seen, "second")

        renewed, taken = race([renew, reclaim])

        assert isinstance(renewed, LeaseLost) is (taken is not None)
        holder = queue.get(held.job.id).locked_by
        assert holder == (taken.job.locked_by if taken else held.job.locked_by)


def test_of_a_cancel_and_a_claim_exactly_one_wins(queue: JobQueue) -> None:
    for _ in range(ROUNDS * 2):
        job = queue.enqueue("work")
        seen = queue.store.find(job)

        cancelled, taken = race([partial(queue.cancel, job), partial(begin_here, executor(queue), seen, "w")])

        after = queue.get(job.id)
        assert cancelled == after
        if taken is None:
            assert after.status == Status.CANCELLED
        else:
            assert (after.status, after.cancel_requested) == (Status.IN_PROGRESS, True)


def test_a_cancel_that_meets_the_end_of_a_run_is_never_lost(queue: JobQueue) -> None:
    for number in range(ROUNDS * 2):
        fails = number % 2 == 1
        held = begun(queue, queue.enqueue("work", {"do": "fail" if fails else "ok"}))

        cancelled, finished = race([partial(queue.cancel, held.job.id), partial(executor(queue).run, held)])

        after = queue.get(held.job.id)
        assert isinstance(finished, Job)
        if isinstance(cancelled, InvalidTransition):  # too late: it had completed
            assert (after.status, after.cancel_requested) == (Status.COMPLETED, False)
        elif fails:
            assert after.status == Status.CANCELLED
        else:
            assert (after.status, after.cancel_requested) == (Status.COMPLETED, True)


@pytest.mark.parametrize("window", ["active", "day"])
def test_two_hundred_enqueues_of_one_key_create_one_job(queue: JobQueue, window: str) -> None:
    def enqueue() -> Job:
        return queue.enqueue("work", dedup_key="k", dedup_window=window)

    jobs = race([lambda: [enqueue() for _ in range(10)]] * 20)

    made = [job for batch in jobs for job in batch]
    assert len({job.id for job in made}) == 1
    assert [job.created for job in made].count(True) == 1
    assert len(live_items(queue)) == 1
    assert [record["job_id"]["S"] for record in dedup_items(queue)] == [made[0].id]


def test_enqueues_of_a_key_whose_jobs_come_and_go_never_leave_two(queue: JobQueue) -> None:
    """Producers and a worker at once: there is never more than one live job of the key."""

    def produce() -> list[Job]:
        return [queue.enqueue("work", dedup_key="k") for _ in range(8)]

    def work() -> list[Job]:
        return [job for _ in range(8) for job in drain(queue, working())]

    *produced, done = race([produce, produce, produce, work])
    done += drain(queue, working())

    created = [job.id for batch in produced for job in batch if job.created]
    assert sorted(created) == sorted(job.id for job in done)
    assert live_items(queue) == []
    assert dedup_items(queue) == []


def test_a_gone_target_is_replaced_by_one_of_many(queue: JobQueue) -> None:
    for _ in range(ROUNDS // 2):
        job = queue.enqueue("work", dedup_key="k")
        queue.store.table.client.delete_item(TableName=queue.store.table.name, Key=queue.store.find(job).key)

        made = race([partial(queue.enqueue, "work", dedup_key="k")] * 8)

        assert [each.created for each in made].count(True) == 1
        assert len({each.id for each in made}) == 1
        queue.cancel(made[0])


@pytest.mark.parametrize("callers", [2, 8])
def test_retries_at_once_make_one_successor(queue: JobQueue, callers: int) -> None:
    for _ in range(ROUNDS // 2):
        job = queue.cancel(queue.enqueue("work"))

        made = race([partial(queue.retry, job)] * callers)

        assert len({each.id for each in made}) == 1
        assert [each.created for each in made].count(True) == 1
        assert queue.get(job).retried_by == made[0].id
        queue.cancel(made[0])


def test_changes_at_once_leave_one_job_where_the_last_put_it(queue: JobQueue) -> None:
    for _ in range(ROUNDS // 2):
        job = queue.enqueue("work", dedup_key="k")

        answers = race([partial(queue.reschedule, job.id, delay=n, priority=n % 4) for n in range(6)])

        [item] = live_items(queue)
        assert queue.get(job.id) in answers
        assert dedup_items(queue)[0]["job_sk"] == item["SK"]
        queue.cancel(job.id)
