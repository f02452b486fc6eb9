"""The index and the expiry of somebody's existing table may have any name that DynamoDB allows."""

from typing import Any

from dynajobs import JobQueue, Registry, Settings, Status
from dynajobs.dynamo import Expression
from dynajobs.testing import Clock, drain
from tests.support.table import finished_items

INDEX, TTL = "by-id.v2", "expires-at #"


def test_no_two_attributes_share_a_placeholder() -> None:
    expression = Expression()
    placeholders = [expression.name(name) for name in ("created_at", "created-at", "created.at", "é", "_e9")]
    assert len(set(placeholders)) == 5
    assert all(each[1:].replace("_", "a").isalnum() and each.isascii() for each in placeholders)


def test_jobs_live_in_a_table_whose_names_no_expression_could_spell(
    engine_client: Any, table_name: str, clock: Clock, jobs: Registry
) -> None:
    names = ("PK", "SK", f"{INDEX}PK", f"{INDEX}SK")
    engine_client.create_table(
        TableName=table_name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": INDEX,
                "KeySchema": [
                    {"AttributeName": f"{INDEX}PK", "KeyType": "HASH"},
                    {"AttributeName": f"{INDEX}SK", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    )
    settings = Settings(index=INDEX, ttl_attribute=TTL)
    queue = JobQueue(table_name, client=engine_client, clock=clock, settings=settings)
    job = queue.enqueue("work", {"do": "fail_once"}, dedup_key="k", dedup_window="monday")

    assert queue.get(job.id) == job
    (done,) = drain(queue, jobs, advance=True)
    assert (done.id, done.status, done.attempts) == (job.id, Status.COMPLETED, 1)
    assert queue.get(job.id).status is Status.COMPLETED
    assert [each.id for each in queue.list(status="completed", job_type="work")] == [job.id]
    (item,) = finished_items(queue)
    assert TTL in item
