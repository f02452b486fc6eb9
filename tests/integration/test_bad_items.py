"""Items nobody can understand, written by other programs: each ends as a dead letter that says why."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from dynajobs import Job, JobQueue, Status, keys
from dynajobs.item import Item
from dynajobs.poller import Poller
from tests.support.delivery import Delivery
from tests.support.table import by_hand, event_of, live_items, number, put
from tests.support.work import working

KB = 1024
DEEP = "[" * 5000 + "]" * 5000


def a_run(**attributes: Any) -> dict[str, Any]:
    return {"M": {"run_id": {"S": "r"}, "attempt": {"N": "1"}, **attributes}}


BAD: dict[str, tuple[Item, str]] = {
    "no type": (by_hand(job_type=None), "job_type is missing"),
    "type is a number": (by_hand(job_type=number(7)), "job_type is 7"),
    "type is empty": (by_hand(job_type=""), "job_type is ''"),
    "type has a space": (by_hand(job_type="a b"), "job_type is 'a b'"),
    "type has a line break": (by_hand(job_type="work\n"), "job_type is 'work\\n'"),
    "type is huge": (by_hand(job_type="x" * 100 * KB), "job_type is 'xxx"),
    "type is a map": (by_hand(job_type={"M": {"a": {"B": b"\x00"}}}), "job_type"),
    "payload is no JSON": (by_hand(payload="{'a': 1}"), "payload is not JSON"),
    "payload is empty": (by_hand(payload=""), "payload is not JSON"),
    "payload is a JSON list": (by_hand(payload="[1]"), "payload is a JSON list"),
    "payload is a JSON number": (by_hand(payload="7"), "payload is a JSON int"),
    "payload is JSON null": (by_hand(payload="null"), "payload is a JSON"),
    "payload has NaN": (by_hand(payload='{"a": NaN}'), "payload is not JSON"),
    "payload has a huge number": (by_hand(payload='{"a": %s}' % ("9" * 5000)), "payload is not JSON"),
    "payload is a number": (by_hand(payload=number(7)), "payload is 7"),
    "payload is a list": (by_hand(payload={"L": [{"S": "a"}]}), "payload is ['a']"),
    "payload is binary": (by_hand(payload={"B": b"\x00\xff"}), "payload is"),
    "payload is a set": (by_hand(payload={"SS": ["a"]}), "payload is"),
    "payload has binary in it": (by_hand(payload={"M": {"a": {"L": [{"B": b"x"}]}}}), "binary"),
    "payload is huge": (by_hand(payload='{"a": "%s"}' % ("x" * 100 * KB)), "at most 65536"),
    "payload is hugely quoted": (by_hand(payload='{"a": "%s"}' % ('\\"' * 100 * KB)), "at most 65536"),
    "payload nearly fills the item": (by_hand(payload='{"a": "%s"}' % ("x" * 380 * KB)), "at most 262144"),
    "payload is a huge map": (by_hand(payload={"M": {"a": {"S": "x" * 100 * KB}}}), "at most 65536"),
    "payload is nested deeply": (by_hand(payload='{"a": ' + DEEP + "}"), "nested too deeply"),
    "status is unknown": (by_hand(status="done"), "status is 'done'"),
    "status is in capitals": (by_hand(status="PENDING"), "status is 'PENDING'"),
    "status is a number": (by_hand(status=number(1)), "status is 1"),
    "time is no time": (by_hand(scheduled_for="tomorrow"), "scheduled_for is 'tomorrow'"),
    "time has no zone": (by_hand(scheduled_for="2026-01-01T00:00:00"), "scheduled_for is"),
    "time is before the first": (by_hand(scheduled_for="0001-01-01T00:00:00+05:00"), "scheduled_for"),
    "time is in epoch seconds": (by_hand(scheduled_for=number(1767225600)), "scheduled_for is 1767225600"),
    "creation is no time": (by_hand(created_at="x"), "created_at is 'x'"),
    "lease end is no time": (by_hand(status="in_progress", lock_expires_at="x"), "lock_expires_at"),
    "lease holder is a list": (by_hand(locked_by={"L": []}), "locked_by"),
    "attempts are negative": (by_hand(attempts=number(-1)), "attempts is -1"),
    "attempts are broken": (by_hand(attempts=number(1.5)), "attempts is 1.5"),
    "attempts are text": (by_hand(attempts="3"), "attempts is '3'"),
    "attempts are astronomical": (by_hand(attempts={"N": "9" * 38}), "attempts is 9"),
    "priority is too high": (by_hand(priority=number(9)), "priority is 9"),
    "limit is zero": (by_hand(max_attempts=number(0)), "max_attempts is 0"),
    "limit is too high": (by_hand(max_attempts=number(101)), "max_attempts is 101"),
    "version is negative": (by_hand(version=number(-1)), "version is -1"),
    "runs are no list": (by_hand(runs="x"), "runs is no list"),
    "runs hold no runs": (by_hand(runs={"L": [{"S": "x"}]}), "run_id"),
    "a closed run is still open": (by_hand(runs={"L": [a_run()]}), "never ended"),
    "a run has an odd log": (by_hand(runs={"L": [a_run(log={"M": {"a": {"N": "1"}}})]}), "a is 1"),
    "the open run is odd": (
        by_hand(status="in_progress", run={"M": {"started_at": {"S": "x"}}}),
        "run_id",
    ),
    "the open run began at no time": (
        by_hand(status="in_progress", run=a_run(started_at={"N": "1"})),
        "started_at",
    ),
    "result is no JSON": (by_hand(result="{"), "result is not JSON"),
    "progress is a number": (by_hand(progress=number(1)), "progress"),
    "organisation is a number": (by_hand(org_id=number(1)), "org_id"),
    "the item is nearly too large to touch": (by_hand(notes="x" * 380 * KB), "at most 262144"),
    "error is nearly too large to keep": (by_hand(last_error="x" * 380 * KB), "at most 262144"),
}
NEVER_DUE: dict[str, tuple[Item, str]] = {
    "key without a time": (by_hand("scheduled#not-a-time#x", scheduled_for=None), "'not-a-time'"),
    "key with a German date": (
        by_hand(f"scheduled#31/12/2026#{uuid4()}", scheduled_for=None),
        "'31/12/2026'",
    ),
    "key of a curly brace": (by_hand("scheduled#{}", scheduled_for=None), "'{}'"),
    "key of an emoji": (by_hand("scheduled#🎉#🎉", scheduled_for=None), "'🎉'"),
    "key far away and no day": (by_hand("scheduled#9999-99-99#x", scheduled_for=None), "'9999-99-99'"),
    "key without anything": (by_hand("scheduled#", scheduled_for=None), "''"),
    "key of marks": (by_hand("scheduled####", scheduled_for=None), "instant"),
    "key just beyond all others": (by_hand("scheduled$", scheduled_for=None), "instant"),
    "key with a time of no day": (
        by_hand("scheduled#2025-02-30T00:00:00Z#x", scheduled_for=None),
        "2025-02-30",
    ),
    "key never due and no type": (by_hand("scheduled#zzz#x", job_type=None), "job_type is missing"),
}
ALL = BAD | NEVER_DUE


def id_of(item: Item) -> str:
    sk = item["SK"]["S"]
    return keys.canonical_id(sk.rpartition("#")[2]) or keys.derived_id(item["PK"]["S"], sk)


def poll_and_run(queue: JobQueue, delivery: Delivery) -> list[Job]:
    """One pass of a new poller, and the functions it invoked."""
    Poller(queue, delivery).poll()
    function = working().lambda_handler(queue)
    taken = delivery.take()
    for job in taken:
        function(event_of(job), None)
    return taken


def test_bad_items_end_as_dead_letters_and_good_ones_among_them_run(
    concurrent_queue: JobQueue, delivery: Delivery
) -> None:
    queue = concurrent_queue
    good = [
        queue.enqueue("work", run_at=datetime(2025, 1, 1, tzinfo=UTC)),
        queue.enqueue("work", run_at=datetime(2025, 12, 31, 23, tzinfo=UTC)),
        queue.enqueue("work", priority=2),
    ]
    future = queue.enqueue("work", delay=3600)
    for item, _ in ALL.values():
        put(queue, item)
    good.append(queue.enqueue("work"))

    taken = poll_and_run(queue, delivery)

    assert {job.id for job in taken} == {job.id for job in good}
    assert {queue.get(job).status for job in good} == {Status.COMPLETED}
    assert [item["SK"]["S"] for item in live_items(queue)] == [
        f"scheduled#2026-01-01T01:00:00.000000Z#{future.id}"
    ]
    wrong = {}
    for kind, (item, reason) in ALL.items():
        dead = queue.get(id_of(item))
        told = (dead.status, dead.job_type, dead.attempts)
        if told != ("dead_letter", "invalid", 0) or reason not in (dead.last_error or ""):
            wrong[kind] = (*told, dead.last_error)
    assert wrong == {}
    assert queue.stats().by_type == {"invalid": len(ALL), "work": len(good) + 1}


def test_a_dead_letter_keeps_the_evidence_that_fits(queue: JobQueue, delivery: Delivery) -> None:
    small = put(queue, by_hand(status="done", note="from the billing service", n=number(12)))
    large = put(queue, BAD["payload is hugely quoted"][0])

    poll_and_run(queue, delivery)

    evidence = queue.get(id_of(small)).payload["item"]
    assert (evidence["note"], evidence["n"], evidence["SK"]) == (
        "from the billing service",
        12,
        small["SK"]["S"],
    )
    kept = queue.get(id_of(large)).payload
    assert kept["truncated"] is True
    assert kept["item"].startswith("{")
    assert {job.id for job in queue.list(status="dead_letter", job_type="invalid")} == {
        id_of(small),
        id_of(large),
    }


def test_the_same_bad_item_put_again_is_buried_again(queue: JobQueue, delivery: Delivery) -> None:
    for _ in range(3):
        put(queue, BAD["status is unknown"][0])
        put(queue, NEVER_DUE["key without a time"][0])
        poll_and_run(queue, delivery)

    assert live_items(queue) == []
    assert queue.stats().by_status["dead_letter"] == 6


def test_a_bad_item_that_is_not_due_yet_is_left_until_it_is(queue: JobQueue, delivery: Delivery) -> None:
    item = put(queue, by_hand("scheduled#2030-01-01T00:00:00.000000Z#x", job_type=None))

    poll_and_run(queue, delivery)

    assert live_items(queue) == [item]
