"""Outcomes of a worker's threads are written together when they come together, each under its own guard."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from dynajobs import Job, JobQueue, LeaseLost, Registry, Status, Unavailable, lifecycle
from dynajobs.execution import Executor
from dynajobs.finishing import GROUP, Finisher
from dynajobs.item import Stored
from dynajobs.telemetry import Telemetry
from dynajobs.testing import Clock
from dynajobs.worker import Worker, begin_here
from tests.integration.conftest import MakeQueue, queues_on
from tests.support.table import dedup_items, finished_items, live_items
from tests.support.work import working


@pytest.fixture
def make_queue(concurrent_client: Any, table_name: str, clock: Clock) -> MakeQueue:
    return queues_on(concurrent_client, table_name, clock)


class Gate:
    """Holds the first write of a group back until everybody has come."""

    def __init__(self, queue: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store = queue.store
        self.entered, self.opened = threading.Event(), threading.Event()
        self.groups: list[int] = []
        self.requests: list[str] = []
        settle, together = self.store.settle, self.store.settle_together

        def held(*arguments: Any) -> Job:
            self.entered.set()
            assert self.opened.wait(30)
            return settle(*arguments)

        def noted(changes: list[tuple[Stored, Job]]) -> list[Job | None]:
            self.groups.append(len(changes))
            return together(changes)

        monkeypatch.setattr(self.store, "settle", held)
        monkeypatch.setattr(self.store, "settle_together", noted)


def begun(queue: JobQueue, count: int, **options: Any) -> list[Stored]:
    executor = Executor(queue, working(), Telemetry(queue.settings))
    found = []
    for number in range(count):
        job = queue.enqueue("work", {"n": number}, **options)
        seen = begin_here(executor, queue.store.find(job), "worker")
        assert seen is not None
        found.append(seen)
    return found


def completing(queue: JobQueue) -> Callable[[Job], Job]:
    return lambda job: lifecycle.complete(job, queue.now(), result=job.payload, message=None, details=None)


def finish(queue: JobQueue, jobs: list[Stored], gate: Gate) -> list[Any]:
    """All from threads of their own; all but the first come while its write is held back."""
    finisher = Finisher(queue.store)
    results: list[Any] = [None] * len(jobs)

    def settle(place: int) -> None:
        try:
            results[place] = finisher.settle(jobs[place], completing(queue))
        except Exception as error:  # noqa: BLE001 - it is what the test asks for
            results[place] = error

    threads = [threading.Thread(target=settle, args=(place,)) for place in range(len(jobs))]
    threads[0].start()
    assert gate.entered.wait(30)
    for thread in threads[1:]:
        thread.start()
    while len(finisher._waiting) < len(jobs) - 1:
        pass
    gate.opened.set()
    for thread in threads:
        thread.join(30)
    return results


def test_those_who_come_meanwhile_share_a_write(
    make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = make_queue()
    jobs = begun(queue, 10)
    gate = Gate(queue, monkeypatch)

    done = finish(queue, jobs, gate)

    assert gate.groups == [9]
    assert [job.status for job in done] == [Status.COMPLETED] * 10
    assert {queue.get(each.job).result["n"] for each in jobs} == set(range(10))
    assert live_items(queue) == []


def test_a_group_has_its_limit(make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = make_queue()
    jobs = begun(queue, GROUP + 6)
    gate = Gate(queue, monkeypatch)

    done = finish(queue, jobs, gate)

    assert gate.groups == [GROUP, 5]
    assert {job.status for job in done} == {Status.COMPLETED}


def test_dedup_records_follow_in_a_group(make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = make_queue()
    jobs = [each for n in range(4) for each in begun(queue, 1, dedup_key=f"key-{n}", dedup_window="today")]
    gate = Gate(queue, monkeypatch)

    finish(queue, jobs, gate)

    assert [item["outcome"] for item in dedup_items(queue)] == [{"S": "completed"}] * 4


def test_one_that_lost_its_lease_does_not_hurt_the_others(
    make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    queue = make_queue()
    jobs = begun(queue, 6)
    clock.advance(queue.settings.lease + timedelta(seconds=3))
    executor = Executor(queue, working(), Telemetry(queue.settings))
    taken = begin_here(executor, queue.store.find(jobs[3].job), "another")
    assert taken is not None
    gate = Gate(queue, monkeypatch)

    done = finish(queue, jobs, gate)

    assert isinstance(done[3], LeaseLost)
    assert [job.status for job in done if isinstance(job, Job)] == [Status.COMPLETED] * 5
    assert queue.get(jobs[3].job).locked_by == taken.job.locked_by


def test_a_cancel_request_that_arrives_is_seen_in_a_group(
    make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = make_queue()
    jobs = begun(queue, 5)
    queue.cancel(jobs[2].job)
    gate = Gate(queue, monkeypatch)

    done = finish(queue, jobs, gate)

    assert [job.status for job in done] == [Status.COMPLETED] * 5  # it returned normally all the same
    assert done[2].cancel_requested


def test_an_answer_that_is_lost_leaves_each_finished_once(
    make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = make_queue()
    jobs = begun(queue, 5)
    gate = Gate(queue, monkeypatch)
    transact, lost = queue.store.table.transact, []

    def losing(actions: list[dict[str, Any]], **options: Any) -> None:
        transact(actions, **options)
        if len(actions) > 2:
            lost.append(len(actions))
            raise Unavailable("the answer got lost")

    monkeypatch.setattr(queue.store.table, "transact", losing)

    done = finish(queue, jobs, gate)

    assert lost == [8]
    assert [job.status for job in done] == [Status.COMPLETED] * 5
    assert len(finished_items(queue)) == 5
    assert [len(job.runs) for job in done] == [1] * 5


def test_what_costs_less_alone_is_written_alone(
    make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With RETENTION_DAYS=0 a completed job is one delete, which a transaction would make dearer."""
    queue = make_queue(retention_days=0)
    jobs = begun(queue, 4)
    gate = Gate(queue, monkeypatch)
    transactions: list[Any] = []
    monkeypatch.setattr(queue.store.table, "transact", lambda *given, **_: transactions.append(given))

    finish(queue, jobs, gate)

    assert (transactions, live_items(queue)) == ([], [])


def test_a_worker_finishes_in_fewer_requests_than_jobs(make_queue: MakeQueue) -> None:
    queue = make_queue()
    queue.enqueue_many("work", [{"n": n} for n in range(200)])
    made: list[str] = []
    queue.store.table.client.meta.events.register(
        "before-call.dynamodb.TransactWriteItems", lambda **_: made.append("transaction")
    )
    worker = Worker(queue, working(), concurrency=16)

    assert worker.run(once=True)

    assert worker.finished == 200
    assert queue.stats().by_status["completed"] == 200
    assert len(made) < 150


def test_actions_of_a_handler_s_own_are_not_shared(make_queue: MakeQueue) -> None:
    queue = make_queue()
    registry, table = Registry(), queue.store.table.name

    @registry.handler("own")
    def own(payload: dict[str, Any], ctx: Any) -> None:
        item = {"PK": {"S": "user#1"}, "SK": {"S": str(payload["n"])}}
        ctx.complete_with([{"Put": {"TableName": table, "Item": item}}])

    queue.enqueue_many("own", [{"n": n} for n in range(20)])

    assert Worker(queue, registry, concurrency=8).run(once=True)

    assert queue.stats().by_status["completed"] == 20
