"""With IAM enforced, each role may do what it needs (the other tests show that) and no more."""

from typing import Any

import pytest

from dynajobs import Status
from tests.support.deployment import Deployment

DENIED = {"AccessDenied", "AccessDeniedException"}
HOLDERS = ["Poller", "Example", "Demo", "Producer", "Api"]
KEY = {"PK": {"S": "job"}, "SK": {"S": "nothing"}}
BY_PK: dict[str, Any] = {
    "KeyConditionExpression": "PK = :pk",
    "ExpressionAttributeValues": {":pk": {"S": "job"}},
}
BY_ID: dict[str, Any] = {
    "IndexName": "GSI1",
    "KeyConditionExpression": "GSI1PK = :pk",
    "ExpressionAttributeValues": {":pk": {"S": "job-id#nothing"}},
}


def probe(stack: Deployment, holder: str, service: str, call: str, **arguments: Any) -> str:
    """What comes of a call made with the permissions of a holder."""
    named = {
        name: stack.names.get(value.removeprefix("@"), value)
        if isinstance(value, str) and value.startswith("@")
        else value
        for name, value in arguments.items()
    }
    event = {"service": service, "call": call, "arguments": named}
    answer: str = stack.call(f"{holder}Probe", event)
    return answer


FORBIDDEN_TO_ALL: list[tuple[str, str, dict[str, Any]]] = [
    ("dynamodb", "scan", {"TableName": "@JobTable"}),
    ("dynamodb", "scan", {"TableName": "@JobTable", "IndexName": "GSI1"}),
    ("dynamodb", "delete_table", {"TableName": "@JobTable"}),
    ("dynamodb", "describe_table", {"TableName": "@JobTable"}),
    ("dynamodb", "get_item", {"TableName": "@OtherTable", "Key": KEY}),
    ("dynamodb", "put_item", {"TableName": "@OtherTable", "Item": KEY}),
    ("dynamodb", "query", {"TableName": "@OtherTable", **BY_PK}),
    ("lambda", "invoke", {"FunctionName": "@PollerProbe"}),
    ("secretsmanager", "get_secret_value", {"SecretId": "@OtherSecret"}),
    ("lambda", "update_function_configuration", {"FunctionName": "@PollerFunction", "Timeout": 900}),
    ("lambda", "list_functions", {}),
    ("iam", "list_roles", {}),
    ("s3", "list_buckets", {}),
    ("cloudformation", "describe_stacks", {}),
    ("sts", "assume_role", {"RoleArn": "arn:aws:iam::000000000000:role/admin", "RoleSessionName": "probe"}),
]


@pytest.mark.parametrize("holder", HOLDERS)
def test_nobody_gets_at_other_tables_other_functions_or_whole_tables(stack: Deployment, holder: str) -> None:
    got = {
        f"{service}.{call} {arguments}": answer
        for service, call, arguments in FORBIDDEN_TO_ALL
        if (answer := probe(stack, holder, service, call, **arguments)) not in DENIED
    }

    assert got == {}


@pytest.mark.parametrize(
    ("holder", "call", "arguments", "allowed"),
    [
        ("Poller", "query", BY_PK, True),
        ("Poller", "get_item", {"Key": KEY}, True),
        ("Example", "query", BY_ID, True),
        ("Example", "delete_item", {"Key": KEY}, True),
        ("Demo", "query", BY_ID, True),
        ("Producer", "query", BY_ID, True),
        ("Producer", "delete_item", {"Key": KEY}, False),
    ],
)
def test_what_each_may_do_to_the_table(
    stack: Deployment, holder: str, call: str, arguments: dict[str, Any], allowed: bool
) -> None:
    answer = probe(stack, holder, "dynamodb", call, TableName="@JobTable", **arguments)

    assert answer == "allowed" if allowed else answer in DENIED


def test_the_api_polls_and_reads_its_tokens_and_nobody_else_does(stack: Deployment) -> None:
    read = {"SecretId": "@OperateToken"}
    hand_over = {"FunctionName": "@ExampleFunction", "InvocationType": "Event"}

    assert probe(stack, "Api", "secretsmanager", "get_secret_value", **read) == "allowed"
    assert probe(stack, "Api", "lambda", "invoke", **hand_over) in DENIED
    for holder in sorted(set(HOLDERS) - {"Api"}):
        assert probe(stack, holder, "secretsmanager", "get_secret_value", **read) in DENIED


@pytest.mark.parametrize("holder", ["Example", "Demo", "Producer"])
def test_only_the_poller_hands_over_jobs_and_wakes_pollers(stack: Deployment, holder: str) -> None:
    for function in ("@ExampleFunction", "@DemoFunction", "@PollerFunction"):
        arguments = {"FunctionName": function, "InvocationType": "Event"}
        assert probe(stack, holder, "lambda", "invoke", **arguments) in DENIED


def test_an_application_with_the_producers_policy_can_enqueue(stack: Deployment, batch: str) -> None:
    ids = stack.call("Producer", {"batch": batch})

    done = stack.settle([stack.queue.get(job_id) for job_id in ids])

    assert {job.status for job in done} == {Status.COMPLETED}
    assert stack.traces(batch) == sorted(ids)
