"""The example handlers do what they say, and running one twice changes nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dynajobs import JobQueue, Status
from dynajobs.testing import create_table, drain
from functions.example import app

SEVEN = datetime(2026, 11, 18, 7, tzinfo=UTC)


@pytest.fixture
def queue(moto_client: Any, table_name: str, monkeypatch: pytest.MonkeyPatch) -> JobQueue:
    create_table(moto_client, table_name)
    monkeypatch.setattr(app, "table_name", lambda: table_name)
    monkeypatch.setattr(app, "dynamodb", lambda: moto_client)
    return JobQueue(table_name, client=moto_client, clock=lambda: SEVEN, registry=app.jobs)


def items_of(queue: JobQueue, client: Any, user_id: str) -> list[dict[str, Any]]:
    found = client.query(
        TableName=queue.settings.table,
        KeyConditionExpression="PK = :user",
        ExpressionAttributeValues={":user": {"S": f"user#{user_id}"}},
    )
    items: list[dict[str, Any]] = found["Items"]
    return items


def test_a_daily_summary_is_written_for_the_day_it_was_scheduled_for(
    queue: JobQueue, moto_client: Any
) -> None:
    job = queue.enqueue("daily_summary", app.DailySummary(user_id="u1"))

    drain(queue, app.jobs)

    done = queue.get(job)
    assert (done.status, done.result) == (Status.COMPLETED, {"wrote": "user#u1/summary#2026-11-18"})
    (summary,) = items_of(queue, moto_client, "u1")
    assert summary["SK"] == {"S": "summary#2026-11-18"}
    assert summary["job_id"] == {"S": job.id}


def test_a_second_summary_of_a_day_replaces_the_first(queue: JobQueue, moto_client: Any) -> None:
    for _ in range(2):
        queue.enqueue("daily_summary", app.DailySummary(user_id="u1"))

    assert [job.status for job in drain(queue, app.jobs)] == [Status.COMPLETED] * 2
    assert len(items_of(queue, moto_client, "u1")) == 1


def test_a_sync_that_an_earlier_attempt_wrote_is_not_written_again(queue: JobQueue, moto_client: Any) -> None:
    job = queue.enqueue("user_sync", {"user_id": "u1"})
    key = {"PK": {"S": "user#u1"}, "SK": {"S": f"sync#{job.id}"}}
    moto_client.put_item(TableName=queue.settings.table, Item=key | {"source": {"S": "earlier"}})

    drain(queue, app.jobs)

    assert queue.get(job).status is Status.COMPLETED
    assert queue.get(job).runs[-1].message == f"an earlier attempt wrote user#u1/sync#{job.id}"
    assert [item["source"] for item in items_of(queue, moto_client, "u1")] == [{"S": "earlier"}]


def test_a_sync_says_where_the_user_came_from(queue: JobQueue, moto_client: Any) -> None:
    queue.enqueue("user_sync", app.UserSync(user_id="u1", source="billing"))

    (job,) = drain(queue, app.jobs)

    assert job.status is Status.COMPLETED
    assert [item["source"] for item in items_of(queue, moto_client, "u1")] == [{"S": "billing"}]
