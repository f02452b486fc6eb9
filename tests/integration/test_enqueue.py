"""Producing jobs: what comes back, what is stored, on every engine."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel, SecretStr

from dynajobs import EnqueueFailed, InvalidJob, JobQueue, Registry, Status, Unavailable
from dynajobs.testing import Clock, drain
from tests.support.table import all_items, dedup_items, live_items

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_job_comes_back_as_it_is_stored(queue: JobQueue) -> None:
    payload = {"text": "Zoë ☃", "list": [1, 2.5, True, None], "deep": {"large": 2**60, "small": 1e-9}}
    job = queue.enqueue(
        "work",
        payload,
        run_at=START + timedelta(hours=1),
        priority=2,
        max_attempts=7,
        org_id="o",
        group_id="g",
    )

    assert job.created
    assert not queue.get(job.id).created
    assert queue.get(job.id) == job
    assert (job.job_type, job.payload, job.status, job.attempts) == ("work", payload, Status.PENDING, 0)
    assert (job.priority, job.max_attempts, job.org_id, job.group_id) == (2, 7, "o", "g")
    assert (job.scheduled_for, job.created_at) == (START + timedelta(hours=1), START)
    assert (job.runs, job.locked_by, job.version, job.finished_at) == ((), None, 0, None)


def test_the_stored_item_has_the_published_shape(queue: JobQueue) -> None:
    job = queue.enqueue("work", {"n": 1})

    [item] = live_items(queue)

    assert item == {
        "PK": {"S": "job"},
        "SK": {"S": f"scheduled#2026-01-01T00:00:00.000000Z#{job.id}"},
        "GSI1PK": {"S": f"job-id#{job.id}"},
        "GSI1SK": {"S": "job"},
        "job_type": {"S": "work"},
        "payload": {"S": '{"n":1}'},
        "scheduled_for": {"S": "2026-01-01T00:00:00.000000Z"},
        "status": {"S": "pending"},
        "attempts": {"N": "0"},
        "created_at": {"S": "2026-01-01T00:00:00.000000Z"},
    }


def test_a_job_is_due_now_or_after_its_delay_or_at_its_time(queue: JobQueue) -> None:
    berlin = timezone(timedelta(hours=1))

    assert queue.enqueue("work").scheduled_for == START
    assert queue.enqueue("work", delay=90).scheduled_for == START + timedelta(seconds=90)
    assert queue.enqueue("work", delay=0.5).scheduled_for == START + timedelta(milliseconds=500)
    assert queue.enqueue("work", delay=timedelta(days=2)).scheduled_for == START + timedelta(days=2)
    local = queue.enqueue("work", run_at=datetime(2026, 6, 1, 8, tzinfo=berlin))
    assert local.scheduled_for == datetime(2026, 6, 1, 7, tzinfo=UTC)
    assert local.scheduled_for.tzinfo is UTC


def test_a_past_time_is_kept_and_due_at_once(queue: JobQueue, jobs: Registry) -> None:
    job = queue.enqueue("work", run_at=datetime(1999, 1, 1, tzinfo=UTC))

    assert queue.get(job).scheduled_for == datetime(1999, 1, 1, tzinfo=UTC)
    assert [done.id for done in drain(queue, jobs)] == [job.id]


def test_a_job_due_this_very_microsecond_is_due(queue: JobQueue, jobs: Registry, clock: Clock) -> None:
    job = queue.enqueue("work", delay=timedelta(microseconds=1))

    assert drain(queue, jobs) == []
    clock.advance(timedelta(microseconds=1))
    assert [done.id for done in drain(queue, jobs)] == [job.id]


def test_ids_are_in_order_of_creation_and_may_be_chosen(queue: JobQueue) -> None:
    made = [queue.enqueue("work").id for _ in range(20)]
    chosen = uuid4()

    assert made == sorted(made)
    assert queue.enqueue("work", job_id=chosen).id == str(chosen)
    assert queue.enqueue("work", job_id=str(uuid4()).upper()).id.islower()
    assert all(UUID(job_id).version == 7 for job_id in made)


def test_an_id_that_exists_is_refused_live_or_finished(queue: JobQueue, jobs: Registry) -> None:
    job = queue.enqueue("work")

    with pytest.raises(InvalidJob, match=f"job_id is {job.id}.*exists"):
        queue.enqueue("work", job_id=job.id)
    drain(queue, jobs)
    with pytest.raises(InvalidJob, match=f"job_id is {job.id}.*exists"):
        queue.enqueue("work", job_id=job.id)


def test_a_model_is_stored_as_its_json_with_secrets_in_clear(queue: JobQueue) -> None:
    class Login(BaseModel):
        at: datetime
        token: SecretStr

    job = queue.enqueue("work", Login(at=START, token=SecretStr("s3cret")))

    assert queue.get(job).payload == {"at": "2026-01-01T00:00:00Z", "token": "s3cret"}


def test_many_jobs_keep_their_order(queue: JobQueue) -> None:
    made = queue.enqueue_many("work", ({"n": n} for n in range(40)), delay=5, priority=1, org_id="o")

    assert [job.payload["n"] for job in made] == list(range(40))
    assert all(job.created and job.org_id == "o" and job.priority == 1 for job in made)
    assert [job.id for job in queue.list(limit=200)] == [job.id for job in made]
    assert queue.enqueue_many("work", []) == []


def test_a_batch_that_breaks_off_tells_which_jobs_were_written(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = queue.store.put, iter(range(5))

    def put(job: Any) -> None:
        if next(left, None) is None:
            raise Unavailable("the table went away")
        real(job)

    monkeypatch.setattr(queue.store, "put", put)

    with pytest.raises(EnqueueFailed, match=r"5 of 30 jobs were written.*went away") as failed:
        queue.enqueue_many("work", [{"n": n} for n in range(30)])

    assert isinstance(failed.value.__cause__, Unavailable)
    assert {job.id for job in failed.value.jobs} == {job.id for job in queue.list(limit=200)}
    assert [job.payload["n"] for job in failed.value.jobs] == sorted(
        job.payload["n"] for job in failed.value.jobs
    )


def test_an_item_put_by_hand_with_the_helper_is_the_job(queue: JobQueue, jobs: Registry) -> None:
    item = queue.job_item("work", {"do": "return", "value": 5}, priority=1, max_attempts=2)
    client, table = queue.store.table.client, queue.store.table.name

    client.put_item(TableName=table, Item=item, ConditionExpression="attribute_not_exists(PK)")

    [waiting] = queue.list()
    assert (waiting.priority, waiting.max_attempts) == (1, 2)
    [done] = drain(queue, jobs)
    assert (done.id, done.result) == (waiting.id, 5)


def test_a_job_joins_the_callers_own_transaction(queue: JobQueue) -> None:
    table = queue.store.table.name
    order = {"Put": {"TableName": table, "Item": {"PK": {"S": "order#1"}, "SK": {"S": "order"}}}}
    actions = queue.enqueue_actions("work", {"n": 1})

    queue.store.table.client.transact_write_items(TransactItems=[order, *actions])

    assert len(actions) == 1
    assert [job.payload for job in queue.list()] == [{"n": 1}]


def test_a_duplicate_cancels_the_callers_own_transaction(queue: JobQueue) -> None:
    client, table = queue.store.table.client, queue.store.table.name
    queue.enqueue("work", dedup_key="order#1")
    before = all_items(queue)
    order = {"Put": {"TableName": table, "Item": {"PK": {"S": "order#1"}, "SK": {"S": "order"}}}}
    actions = queue.enqueue_actions("work", dedup_key="order#1")

    assert len(actions) == 2
    with pytest.raises(client.exceptions.TransactionCanceledException):
        client.transact_write_items(TransactItems=[order, *actions])
    assert all_items(queue) == before


def test_actions_with_a_dedup_key_write_job_and_record(queue: JobQueue) -> None:
    actions = queue.enqueue_actions("work", dedup_key="order#2", dedup_window="2026-01")

    queue.store.table.client.transact_write_items(TransactItems=actions)

    [job] = queue.list()
    [record] = dedup_items(queue)
    assert (record["PK"], record["SK"]) == ({"S": "scheduled-job#order#2"}, {"S": "2026-01"})
    assert record["job_id"] == {"S": job.id}
    assert not queue.enqueue("work", dedup_key="order#2", dedup_window="2026-01").created
