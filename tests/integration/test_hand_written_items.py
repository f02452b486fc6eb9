"""A plain PutItem from any SDK is a job: what is missing has its default, what is misplaced is put right."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from dynajobs import Job, JobNotFound, JobQueue, Registry, Status, keys
from dynajobs.item import Item
from dynajobs.poller import Poller
from dynajobs.testing import Clock, drain
from tests.support.delivery import Delivery
from tests.support.table import DUE, all_items, by_hand, finished_items, live_items, number, put
from tests.support.work import working

DUE_AT = datetime(2025, 12, 31, 23, tzinfo=UTC)
SOON = "2026-01-01T00:10:00.000000Z"


def a_run(**attributes: Any) -> dict[str, Any]:
    return {"M": {"run_id": {"S": "r"}, "attempt": {"N": "1"}, **attributes}}


UNDERSTOOD: dict[str, Item] = {
    "the least": by_hand(),
    "no status": by_hand(status=None),
    "no payload": by_hand(payload=None),
    "no scheduled_for": by_hand(scheduled_for=None),
    "payload is a map": by_hand(payload={"M": {"do": {"S": "ok"}, "n": {"N": "7"}, "value": {"NULL": True}}}),
    "NULL where nothing is meant": by_hand(
        payload={"NULL": True}, attempts={"NULL": True}, org_id={"NULL": True}, runs={"NULL": True}
    ),
    "time without fractions": by_hand(scheduled_for="2025-12-31T23:00:00Z"),
    "time in another zone": by_hand(scheduled_for="2026-01-01T00:00:00+01:00"),
    "time in the basic form": by_hand(scheduled_for="20251231T230000Z"),
    "time with many digits": by_hand(scheduled_for="2025-12-31T23:00:00.000000000Z"),
    "key without fractions": by_hand(f"scheduled#2025-12-31T23:00:00Z#{uuid4()}"),
    "key with an offset": by_hand(f"scheduled#2026-01-01T00:00:00+01:00#{uuid4()}"),
    "key with a capital id": by_hand(f"scheduled#{DUE}#{str(uuid4()).upper()}"),
    "key without an id": by_hand(f"scheduled#{DUE}"),
    "key with a number for an id": by_hand(f"scheduled#{DUE}#42"),
    "key that is never due": by_hand("scheduled#tomorrow#42"),
    "key with a German date": by_hand(f"scheduled#31/12/2026#{uuid4()}"),
    "key of the last century": by_hand(f"scheduled#1999-01-01T00:00:00.000000Z#{uuid4()}"),
    "key of the next century": by_hand(f"scheduled#2199-01-01T00:00:00.000000Z#{uuid4()}"),
    "priority by lane": by_hand(pk="job#p2"),
    "priority by attribute": by_hand(priority=number(3)),
    "lane and attribute differ": by_hand(pk="job#p1", priority=number(2)),
    "an expiry": by_hand(expires_at=number(1767225000)),
    "an expiry that is no number": by_hand(expires_at="soon"),
    "attributes of its own": by_hand(colour="red", tags={"SS": ["a", "b"]}, blob={"B": b"\x00"}),
    "in progress without a lease": by_hand(status="in_progress"),
    "in progress under a lapsed lease": by_hand(
        status="in_progress", locked_by="gone", lock_expires_at="2025-12-31T23:59:00Z"
    ),
    "pending with a lease": by_hand(locked_by="nobody", lock_expires_at="2030-01-01T00:00:00Z"),
    "pending with a run left behind": by_hand(run=a_run(started_at={"S": DUE})),
    "pending with an odd run": by_hand(run="x"),
    "cancel flag of another type": by_hand(cancel_requested="yes"),
    "a dedup record that is not there": by_hand(dedup_pk="scheduled-job#k", dedup_sk="active"),
    "half a dedup key": by_hand(dedup_pk="scheduled-job#k"),
    "an empty dedup key": by_hand(dedup_pk="", dedup_sk=""),
    "a dedup key of another kind": by_hand(dedup_pk="job", dedup_sk="x"),
    "a dedup key too long for a key": by_hand(dedup_pk="scheduled-job#" + "x" * 3000, dedup_sk="y" * 2000),
    "runs counted that nobody stored": by_hand(runs_closed=number(500_000_000)),
    "a lone surrogate in the payload": by_hand(payload='{"value": "\\ud800"}'),
    "a lone surrogate in the result": by_hand(result='"\\ud800"'),
}


def id_of(item: Item) -> str:
    sk = item["SK"]["S"]
    return keys.canonical_id(sk.rpartition("#")[2]) or keys.derived_id(item["PK"]["S"], sk)


def test_every_item_that_can_be_understood_runs(concurrent_queue: JobQueue, jobs: Registry) -> None:
    queue = concurrent_queue
    for item in UNDERSTOOD.values():
        put(queue, item)

    drained = {job.id: job for job in drain(queue, jobs)}

    wrong = {
        kind: (job.status, job.last_error) if (job := drained.get(id_of(item))) else None
        for kind, item in UNDERSTOOD.items()
        if id_of(item) not in drained or drained[id_of(item)].status != Status.COMPLETED
    }
    # A payload that a handler's model cannot read is an invalid payload.
    assert list(wrong) == ["a lone surrogate in the payload"]
    assert live_items(queue) == []
    assert len(finished_items(queue)) == len(UNDERSTOOD)
    assert not any("expires_at" in item and "S" in item["expires_at"] for item in finished_items(queue))


@pytest.mark.parametrize("kind", ["the least", "an expiry", "key without an id", "lane and attribute differ"])
def test_a_claim_gives_the_item_its_index_key_and_takes_its_expiry(
    queue: JobQueue, delivery: Delivery, kind: str
) -> None:
    item = put(queue, UNDERSTOOD[kind])
    with pytest.raises(JobNotFound):
        queue.get(id_of(item))

    Poller(queue, delivery).poll()

    [job] = delivery.jobs
    assert job.id == id_of(item)
    assert queue.get(job.id).status == Status.IN_PROGRESS
    [stored] = live_items(queue)
    assert "expires_at" not in stored
    assert stored["SK"] == {"S": f"scheduled#{DUE}#{job.id}"}


def test_what_an_application_added_stays_with_a_job_that_is_claimed(
    queue: JobQueue, delivery: Delivery
) -> None:
    put(queue, UNDERSTOOD["attributes of its own"])

    Poller(queue, delivery).poll()

    [stored] = live_items(queue)
    assert (stored["colour"], stored["blob"]) == ({"S": "red"}, {"B": b"\x00"})


@pytest.mark.parametrize("time", [DUE, "tomorrow"])
def test_if_key_and_time_differ_the_time_wins(
    queue: JobQueue, jobs: Registry, clock: Clock, time: str
) -> None:
    item = put(queue, by_hand(f"scheduled#{time}#{uuid4()}", scheduled_for=SOON))

    assert drain(queue, jobs) == []

    [stored] = live_items(queue)
    assert stored["SK"] == {"S": f"scheduled#{SOON}#{id_of(item)}"}
    assert queue.get(id_of(item)).scheduled_for == datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
    clock.advance(timedelta(minutes=10))
    assert [job.id for job in drain(queue, jobs)] == [id_of(item)]


def test_a_job_far_in_the_future_is_left_in_peace(queue: JobQueue, jobs: Registry) -> None:
    far = queue.enqueue("work", run_at=datetime(2700, 1, 1, tzinfo=UTC))
    before = live_items(queue)

    assert drain(queue, jobs) == []
    assert live_items(queue) == before
    assert queue.get(far) == far


@pytest.mark.parametrize("status", ["completed", "cancelled", "dead_letter"])
@pytest.mark.parametrize("finished_at", [None, "2025-06-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
def test_a_finished_job_in_the_live_range_is_moved_out_and_not_run(
    queue: JobQueue, jobs: Registry, status: str, finished_at: str | None
) -> None:
    item = put(
        queue,
        by_hand(status=status, finished_at=finished_at, dedup_pk="scheduled-job#k", dedup_sk="day", run="x"),
    )

    drain(queue, jobs)

    moved = queue.get(id_of(item))
    assert (moved.status, moved.runs, moved.attempts) == (status, (), 0)
    assert moved.finished_at is not None
    assert live_items(queue) == []


def used_twice(queue: JobQueue, job: Job, later: str = DUE) -> list[Item]:
    put(queue, by_hand(f"scheduled#{later}#{job.id}", scheduled_for=later))
    drain(queue, working())
    assert live_items(queue) == []
    return sorted(finished_items(queue), key=lambda item: item["status"]["S"])


def test_an_id_that_finished_before_is_buried_under_another(queue: JobQueue, jobs: Registry) -> None:
    first = queue.enqueue("work", {"do": "return", "value": "first"})
    drain(queue, jobs)

    done, dead = used_twice(queue, first)

    assert queue.get(first).result == "first"
    assert done["PK"] == {"S": f"job-id#{first.id}"}
    assert dead["PK"] == {"S": f"job-id#{keys.derived_id('job', f'scheduled#{DUE}#{first.id}')}"}
    assert f"job id already used by another job: {first.id}" in dead["last_error"]["S"]


def test_an_id_that_is_live_twice_finishes_once_and_is_buried_once(queue: JobQueue) -> None:
    first = queue.enqueue("work")

    done, dead = used_twice(queue, first)

    assert (done["status"]["S"], dead["status"]["S"]) == ("completed", "dead_letter")
    assert done["PK"] == {"S": f"job-id#{first.id}"}


def test_an_id_used_again_and_again_never_loops(queue: JobQueue) -> None:
    first = queue.enqueue("work")
    for _ in range(4):
        used_twice(queue, first)

    assert queue.stats().by_status == dict.fromkeys(Status, 0) | {Status.COMPLETED: 1, Status.DEAD_LETTER: 4}


def test_two_spellings_of_one_key_are_one_job_and_one_dead_letter(queue: JobQueue, jobs: Registry) -> None:
    job_id = str(uuid4())
    put(queue, by_hand(f"scheduled#2025-12-31T23:00:00Z#{job_id}"))
    put(queue, by_hand(f"scheduled#{DUE}#{job_id}"))

    drain(queue, jobs)

    assert queue.stats().by_status["completed"] == 1
    assert queue.stats().by_status["dead_letter"] == 1
    assert live_items(queue) == []


def test_the_effects_of_a_job_that_is_buried_as_a_double_are_not_written(queue: JobQueue) -> None:
    def during(ctx: Any) -> None:
        key = {"PK": {"S": "effect"}, "SK": {"S": ctx.job.runs[-1].run_id}}
        ctx.complete_with([{"Put": {"TableName": queue.store.table.name, "Item": key}}])

    job = queue.enqueue("work", {"do": "call"})
    put(queue, by_hand(f"scheduled#{DUE}#{job.id}", payload='{"do": "call"}'))
    drain(queue, working(during))

    assert queue.stats().by_status["completed"] == 1
    assert len(all_items(queue, "effect")) == 1
