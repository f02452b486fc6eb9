"""Every engine the other tests trust must keep the promises of DynamoDB that dynajobs is built on."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support import engines
from tests.support.engines import RunningEngine

THREADS = 16
KEYS = ("PK", "SK", "GSI1PK", "GSI1SK")
REFUSALS = {"ConditionalCheckFailedException", "TransactionCanceledException"}
ABSENT = "attribute_not_exists(PK)"


def create_table(client: Any, name: str, **options: Any) -> None:
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in KEYS],
        KeySchema=key_schema("PK", "SK"),
        GlobalSecondaryIndexes=[
            {
                "IndexName": "GSI1",
                "KeySchema": key_schema("GSI1PK", "GSI1SK"),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        **options,
    )


def key_schema(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]


def item(pk: str, **attributes: str) -> dict[str, dict[str, str]]:
    return {name: {"S": value} for name, value in {"PK": pk, "SK": "A", **attributes}.items()}


def wins_of(race: Callable[[int], Any]) -> int:
    """How many of the threads that start together are not refused."""
    start = Barrier(THREADS)

    def run(racer: int) -> bool:
        start.wait()
        try:
            race(racer)
        except ClientError as error:
            if error.response["Error"]["Code"] not in REFUSALS:
                raise
            return False
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(run, range(THREADS)))


def test_index_holds_keys_only(engine_client: Any, table_name: str) -> None:
    create_table(engine_client, table_name)
    stored = item("job-1", GSI1PK="due", GSI1SK="2030", payload="large")
    engine_client.put_item(TableName=table_name, Item=stored)
    engine_client.put_item(TableName=table_name, Item=item("job-2"))

    found = engine_client.query(
        TableName=table_name,
        IndexName="GSI1",
        KeyConditionExpression="GSI1PK = :due AND GSI1SK <= :now",
        ExpressionAttributeValues={":due": {"S": "due"}, ":now": {"S": "2031"}},
    )

    assert found["Items"] == [item("job-1", GSI1PK="due", GSI1SK="2030")]


def test_refused_transaction_changes_nothing_and_returns_the_item_in_its_way(
    engine_client: Any, table_name: str
) -> None:
    create_table(engine_client, table_name)
    engine_client.put_item(TableName=table_name, Item=item("taken", owner="first"))

    with pytest.raises(engine_client.exceptions.TransactionCanceledException) as refused:
        engine_client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": table_name, "Item": item("free")}},
                {
                    "Put": {
                        "TableName": table_name,
                        "Item": item("taken", owner="second"),
                        "ConditionExpression": ABSENT,
                        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                    }
                },
            ]
        )

    allowed, in_the_way = refused.value.response["CancellationReasons"]
    assert allowed["Code"] == "None"
    assert in_the_way["Code"] == "ConditionalCheckFailed"
    assert in_the_way["Item"] == item("taken", owner="first")
    assert "Item" not in engine_client.get_item(TableName=table_name, Key=item("free"))


def test_conditional_put_has_one_winner(concurrent_client: Any, table_name: str) -> None:
    create_table(concurrent_client, table_name)

    def put(racer: int) -> None:
        concurrent_client.put_item(
            TableName=table_name, Item=item("job", owner=str(racer)), ConditionExpression=ABSENT
        )

    assert wins_of(put) == 1


def test_transaction_has_one_winner(concurrent_client: Any, table_name: str) -> None:
    create_table(concurrent_client, table_name)

    def put_job_and_run(racer: int) -> None:
        concurrent_client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": table_name, "Item": item("job"), "ConditionExpression": ABSENT}},
                {"Put": {"TableName": table_name, "Item": item(f"run-{racer}")}},
            ]
        )

    assert wins_of(put_job_and_run) == 1
    assert concurrent_client.scan(TableName=table_name, Select="COUNT")["Count"] == 2


def test_transaction_sent_twice_with_one_token_happens_once(concurrent_client: Any, table_name: str) -> None:
    create_table(concurrent_client, table_name)
    request = {
        "ClientRequestToken": table_name[-36:],
        "TransactItems": [
            {
                "Update": {
                    "TableName": table_name,
                    "Key": item("counter"),
                    "UpdateExpression": "ADD times :one",
                    "ExpressionAttributeValues": {":one": {"N": "1"}},
                }
            }
        ],
    }

    concurrent_client.transact_write_items(**request)
    concurrent_client.transact_write_items(**request)

    counter = concurrent_client.get_item(TableName=table_name, Key=item("counter"))
    assert counter["Item"]["times"] == {"N": "1"}


def test_stream_shows_a_put(concurrent_engine: RunningEngine, table_name: str) -> None:
    client = engines.client(concurrent_engine)
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    create_table(client, table_name, StreamSpecification=stream)
    client.put_item(TableName=table_name, Item=item("job"))

    arn = client.describe_table(TableName=table_name)["Table"]["LatestStreamArn"]
    streams = engines.client(concurrent_engine, "dynamodbstreams")
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    [record] = streams.get_records(ShardIterator=iterator["ShardIterator"])["Records"]

    assert record["eventName"] == "INSERT"
    assert record["dynamodb"]["NewImage"] == item("job")
