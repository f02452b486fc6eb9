"""A handler's own writes join the transaction that completes its job, or nothing of either happens."""

from typing import Any

import pytest
from botocore.config import Config

from dynajobs import InvalidJob, JobContext, JobQueue, JobResult, Snooze, Status
from dynajobs.testing import Clock, drain
from tests.integration.conftest import MakeQueue, queues_on
from tests.support import engines
from tests.support.engines import RunningEngine
from tests.support.table import all_items
from tests.support.work import working


def count(queue: JobQueue, name: str, **condition: Any) -> dict[str, Any]:
    """An action that counts one up."""
    key = {"PK": {"S": f"counter#{name}"}, "SK": {"S": "counter"}}
    return {
        "Update": {
            "TableName": queue.store.table.name,
            "Key": key,
            "UpdateExpression": "ADD times :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
            **condition,
        }
    }


def counters(queue: JobQueue) -> dict[str, str]:
    return {
        item["PK"]["S"].removeprefix("counter#"): item["times"]["N"] for item in all_items(queue, "counter#")
    }


@pytest.mark.parametrize("days", [30, 0])
def test_the_writes_happen_with_the_completion(make_queue: MakeQueue, days: int) -> None:
    queue = make_queue(retention_days=days)
    during_run: list[Any] = []

    def during(ctx: JobContext) -> None:
        ctx.complete_with([count(queue, "a"), count(queue, "b")])
        ctx.complete_with([count(queue, "c")], result={"paid": True})
        during_run.append(counters(queue))

    queue.enqueue("work", {"do": "call"})
    [done] = drain(queue, working(during))

    assert during_run == [{}]
    assert counters(queue) == {"a": "1", "b": "1", "c": "1"}
    assert (done.status, done.result) == (Status.COMPLETED, {"paid": True})


def test_what_the_handler_returns_wins_over_the_recorded_result(queue: JobQueue) -> None:
    def during(ctx: JobContext) -> str:
        ctx.complete_with([], result="recorded")
        return "returned"

    queue.enqueue("work", {"do": "call"})

    assert [job.result for job in drain(queue, working(during))] == ["returned"]


@pytest.mark.parametrize("answer", [RuntimeError(), JobResult(success=False), Snooze(5), {1, 2}])
def test_nothing_is_written_unless_the_handler_returns_normally(queue: JobQueue, answer: Any) -> None:
    def during(ctx: JobContext) -> Any:
        ctx.complete_with([count(queue, "a")])
        if isinstance(answer, Exception):
            raise answer
        return answer

    queue.enqueue("work", {"do": "call"}, max_attempts=1)
    drain(queue, working(during))

    assert counters(queue) == {}


def test_a_condition_of_its_own_that_fails_is_a_failure_that_names_the_action(queue: JobQueue) -> None:
    def during(ctx: JobContext) -> str:
        refused = {} if ctx.attempt == 2 else {"ConditionExpression": "attribute_exists(PK)"}
        ctx.complete_with([count(queue, "a"), count(queue, "b", **refused), count(queue, "c")])
        return "never stored at the first try"

    job = queue.enqueue("work", {"do": "call"})
    drain(queue, working(during))

    failed = queue.get(job)
    assert (failed.status, failed.attempts, failed.result) == (Status.FAILED, 1, None)
    assert "action 1" in (failed.last_error or "")
    assert counters(queue) == {}

    [done] = drain(queue, working(during), advance=True)
    assert (done.status, done.attempts) == (Status.COMPLETED, 1)
    assert counters(queue) == {"a": "1", "b": "1", "c": "1"}


def nonsense(queue: JobQueue) -> list[list[Any]]:
    table = queue.store.table.name
    return [
        [{"Put": {"TableName": table, "Item": {"PK": {"S": "x"}}}}],  # no sort key
        [count(queue, "a"), count(queue, "a")],  # two actions on one item
        [{"Put": {"TableName": "no-such-table", "Item": {"PK": {"S": "x"}, "SK": {"S": "y"}}}}],
        [{"Put": {"TableName": table, "Item": {"PK": "plain", "SK": "plain"}}}],
        [count(queue, "a") | {"Put": {}}],
        ["no action"],
    ]


@pytest.mark.parametrize("number", range(6))
def test_actions_that_dynamodb_rejects_are_a_failure(queue: JobQueue, number: int) -> None:
    actions = nonsense(queue)[number]

    def during(ctx: JobContext) -> None:
        ctx.complete_with(actions)

    job = queue.enqueue("work", {"do": "call"})
    drain(queue, working(during))

    failed = queue.get(job)
    assert (failed.status, failed.attempts) == (Status.FAILED, 1)
    assert "complete_with" in (failed.last_error or "")
    assert counters(queue) == {}


@pytest.mark.parametrize("number", range(6))
def test_a_client_that_checks_nothing_makes_no_difference(
    dynoxide: RunningEngine, table_name: str, clock: Clock, number: int
) -> None:
    client = engines.plain_session().client(
        "dynamodb", endpoint_url=dynoxide.endpoint_url, config=Config(parameter_validation=False)
    )

    test_actions_that_dynamodb_rejects_are_a_failure(queues_on(client, table_name, clock)(), number)


def test_ninety_actions_fit_and_one_more_is_refused(queue: JobQueue) -> None:
    errors: list[str] = []

    def during(ctx: JobContext) -> None:
        ctx.complete_with([count(queue, f"{n}") for n in range(90)])
        with pytest.raises(InvalidJob) as refused:
            ctx.complete_with([count(queue, "one more")])
        errors.append(str(refused.value))

    queue.enqueue("work", {"do": "call"}, dedup_key="k")
    [done] = drain(queue, working(during))

    assert done.status == Status.COMPLETED
    assert len(counters(queue)) == 90
    assert "91 actions: at most 90" in errors[0]


def test_writes_are_not_lost_when_a_cancel_comes_in_between(queue: JobQueue) -> None:
    def during(ctx: JobContext) -> None:
        ctx.complete_with([count(queue, "a")])
        queue.cancel(ctx.job)

    queue.enqueue("work", {"do": "call"})
    [done] = drain(queue, working(during))

    assert (done.status, done.cancel_requested) == (Status.COMPLETED, True)
    assert counters(queue) == {"a": "1"}
