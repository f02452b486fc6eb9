"""Our own scheduled jobs: each deletes or mends exactly what it should, and says how much that was."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from dynajobs import JobQueue, JobResult, Registry, Status, housekeeping
from dynajobs.installing import HOUSEKEEPING, install
from dynajobs.keys import timestamp
from dynajobs.testing import Clock, drain
from tests.integration.conftest import MakeQueue
from tests.support.table import all_items, by_hand, live_items, put

DAY = timedelta(days=1)
LATER = 34 * DAY
"""Past the thirty days that jobs are kept, and the three that DynamoDB's own expiry may take."""


def counts(result: JobResult) -> Any:
    assert result.success
    return result.details


def test_finished_jobs_that_outlived_their_time_go_with_all_that_is_theirs(
    queue: JobQueue, jobs: Registry, clock: Clock
) -> None:
    queue.enqueue("work", {"do": "ok"}, dedup_key="once", dedup_window="2026")
    many_runs = queue.enqueue("work", {"do": "fail"}, max_attempts=12)
    cancelled = queue.cancel(queue.enqueue("work"))
    drain(queue, jobs, advance=True)
    assert queue.get(many_runs).status is Status.DEAD_LETTER
    clock.advance(LATER)

    assert counts(housekeeping.delete_expired(queue)) == {"jobs": 2, "slots": 0}

    assert cancelled.id not in {item["PK"]["S"] for item in all_items(queue)}
    left = {item["PK"]["S"] for item in all_items(queue)} - {"control"}
    assert left == {f"job-id#{many_runs.id}"}, "dead letters stay"
    assert counts(housekeeping.delete_expired(queue)) == {"jobs": 0, "slots": 0}


def test_older_runs_go_with_their_job(queue: JobQueue, clock: Clock) -> None:
    jobs = Registry()
    attempts = []

    @jobs.handler("stubborn")
    def stubborn(_: dict[str, Any]) -> None:
        attempts.append(1)
        if len(attempts) < 13:
            raise RuntimeError("not yet")

    queue.enqueue("stubborn", max_attempts=20)
    drain(queue, jobs, advance=True)
    assert any(item["SK"]["S"].startswith("run#") for item in all_items(queue, "job-id#"))
    clock.advance(LATER)

    housekeeping.delete_expired(queue)

    assert all_items(queue, "job-id#") == []


def test_nothing_goes_before_its_time(make_queue: MakeQueue, jobs: Registry, clock: Clock) -> None:
    queue = make_queue(retention_days=7)
    queue.enqueue("work", {"do": "ok"})
    queue.enqueue("work", {"do": "ok"}, dedup_key="once", dedup_window="2026")
    drain(queue, jobs)
    before = len(all_items(queue))
    clock.advance(9 * DAY)

    assert counts(housekeeping.delete_expired(queue)) == {"jobs": 0, "slots": 0}
    assert len(all_items(queue)) == before
    clock.advance(2 * DAY)
    # The record lives on for thirty days, and only its job tells where it is.
    assert counts(housekeeping.delete_expired(queue)) == {"jobs": 1, "slots": 0}
    clock.advance(25 * DAY)
    assert counts(housekeeping.delete_expired(queue)) == {"jobs": 1, "slots": 0}


def test_slots_that_nobody_ran_go_too(queue: JobQueue, clock: Clock) -> None:
    queue.schedules.create("hourly", "work", cron="@hourly", catchup="none")
    clock.advance(timedelta(hours=5, minutes=30))
    drain(queue, Registry())
    assert [run.outcome for run in queue.schedules.runs("hourly")] == ["missed"]
    queue.schedules.disable("hourly")
    clock.advance(LATER)

    assert counts(housekeeping.delete_expired(queue)) == {"jobs": 0, "slots": 1}


def test_dead_letters_stay_unless_a_number_of_days_is_given(
    queue: JobQueue, jobs: Registry, clock: Clock
) -> None:
    queue.enqueue("work", {"do": "discard"})
    drain(queue, jobs)
    clock.advance(400 * DAY)
    queue.enqueue("work", {"do": "discard"})
    (young,) = drain(queue, jobs)

    assert counts(housekeeping.delete_dead_letters(queue, None)) == {"jobs": 0}
    assert counts(housekeeping.delete_dead_letters(queue, 90)) == {"jobs": 1}
    assert [job.id for job in queue.list(status="dead_letter")] == [young.id]


def test_the_days_are_the_schedules_payload(queue: JobQueue, jobs: Registry, clock: Clock) -> None:
    install(queue)
    queue.enqueue("work", {"do": "discard"})
    drain(queue, jobs)
    name = "dynajobs.delete_dead_letters"
    queue.schedules.update(name, payload={"days": 10})
    queue.schedules.trigger(name)
    clock.advance(11 * DAY)

    drain(queue, housekeeping.registry(queue))

    run = next(run for run in queue.schedules.runs(name) if run.triggered_by == "manual")
    assert (run.outcome, run.details) == ("completed", {"jobs": 1})


@pytest.mark.parametrize("lane", ["job#s7", "job#p2#s63"])
def test_a_job_in_a_lane_nobody_reads_is_brought_back(
    queue: JobQueue, jobs: Registry, clock: Clock, lane: str
) -> None:
    tomorrow = timestamp(clock() + DAY)
    put(queue, by_hand(pk=lane, payload='{"do": "ok"}'))
    put(queue, by_hand(f"scheduled#{tomorrow}#{uuid4()}", pk=lane, scheduled_for=tomorrow))
    assert drain(queue, jobs) == []

    assert counts(housekeeping.recover_lanes(queue)) == {"jobs": 2, "buried": 0}

    assert [job.status for job in drain(queue, jobs)] == [Status.COMPLETED]
    assert {item["PK"]["S"] for item in live_items(queue)} == {lane.partition("#s")[0]}


def test_what_is_no_job_there_is_buried_with_the_reason(queue: JobQueue) -> None:
    put(queue, by_hand(pk="job#s9", payload="[1]"))

    assert counts(housekeeping.recover_lanes(queue)) == {"jobs": 0, "buried": 1}

    (dead,) = queue.list(status="dead_letter")
    assert "it must be an object" in (dead.last_error or "")


def test_a_job_that_runs_in_such_a_lane_is_left_alone(queue: JobQueue, clock: Clock) -> None:
    until = timestamp(clock() + timedelta(seconds=30))
    put(queue, by_hand(pk="job#s9", status="in_progress", locked_by="t", lock_expires_at=until))

    assert counts(housekeeping.recover_lanes(queue)) == {"jobs": 0, "buried": 0}
    clock.advance(60)
    assert counts(housekeeping.recover_lanes(queue)) == {"jobs": 1, "buried": 0}


def test_lanes_that_are_known_are_not_touched(make_queue: MakeQueue) -> None:
    queue = make_queue(shards=16)
    queue.enqueue_many("work", [{"n": number} for number in range(20)])

    assert counts(housekeeping.recover_lanes(queue)) == {"jobs": 0, "buried": 0}


def test_a_reservation_whose_holder_crashed_is_marked(queue: JobQueue, clock: Clock) -> None:
    assert counts(housekeeping.expire_reservation(queue)) == {"reservations": 0}
    held = queue.reserve(by="crashed", ttl=60)
    held.__enter__()
    assert counts(housekeeping.expire_reservation(queue)) == {"reservations": 0}
    clock.advance(61)

    assert counts(housekeeping.expire_reservation(queue)) == {"reservations": 1}

    reservation = queue.reservation()
    assert reservation is not None
    assert (reservation.by, reservation.status) == ("crashed", "expired")


def test_they_are_installed_once_and_stay_as_operators_left_them(queue: JobQueue) -> None:
    install(queue)
    first, second, *_ = HOUSEKEEPING
    queue.schedules.disable(first)
    queue.schedules.delete(second)

    install(queue)

    assert {each.name for each in queue.schedules.list()} == set(HOUSEKEEPING) - {second}
    assert not queue.schedules.get(first).enabled


def test_each_has_a_handler_that_takes_its_payload(queue: JobQueue) -> None:
    install(queue)
    for name in HOUSEKEEPING:
        queue.schedules.trigger(name)

    done = drain(queue, housekeeping.registry(queue))

    assert [job.status for job in done] == [Status.COMPLETED] * len(HOUSEKEEPING)


def test_the_history_of_dead_letters_that_go_stays_its_time(
    queue: JobQueue, jobs: Registry, clock: Clock
) -> None:
    queue.schedules.create("s", "work", cron="@hourly", payload={"do": "discard"})
    clock.advance(timedelta(hours=1))
    once: dict[str, Any] = {"dedup_key": "once", "dedup_window": "w"}
    first = queue.enqueue("work", {"do": "discard"}, **once)
    assert len(drain(queue, jobs)) == 2
    queue.schedules.disable("s")
    clock.advance(2 * DAY)

    assert counts(housekeeping.delete_dead_letters(queue, 1)) == {"jobs": 2}

    assert [run.outcome for run in queue.schedules.runs("s")] == ["dead_letter"]
    again = queue.enqueue("work", **once)
    assert (again.id, again.created) == (first.id, False)
    clock.advance(LATER)
    assert counts(housekeeping.delete_expired(queue)) == {"jobs": 0, "slots": 1}


@pytest.mark.parametrize("days", [0, 36_501, "many"])
def test_a_number_of_days_that_makes_no_sense(days: Any) -> None:
    with pytest.raises(ValueError, match="days"):
        housekeeping.DeadLetters.model_validate({"days": days})
