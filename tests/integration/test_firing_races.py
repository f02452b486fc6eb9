"""Schedulers and operators that meet at one schedule: each slot has one job, and none after a disable."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from dynajobs import (
    AlreadyExists,
    JobQueue,
    Registry,
    ScheduleNotFound,
    TemplateInUse,
    TemplateNotFound,
)
from dynajobs.poller import Poller
from dynajobs.testing import Clock, drain
from tests.integration.conftest import MakeQueue, queues_on
from tests.support.delivery import Delivery
from tests.support.firing import at, fire, history, slot_records
from tests.support.races import race
from tests.support.table import all_items, live_items

HOURLY, MINUTELY = "0 * * * *", "* * * * *"
ROUNDS = 6


@pytest.fixture
def make_queue(concurrent_client: Any, table_name: str, clock: Clock) -> MakeQueue:
    return queues_on(concurrent_client, table_name, clock)


def slots_of(queue: JobQueue) -> list[datetime]:
    """Whose job was made, once for each job."""
    found = [*live_items(queue), *all_items(queue, "job-id#")]
    return sorted(datetime.fromisoformat(item["scheduled_for"]["S"]) for item in found)


def assert_consistent(queue: JobQueue, name: str = "s") -> None:
    """The index says what the schedule says, and every job that was made is counted."""
    [item] = [each for each in all_items(queue, "schedule") if each["SK"] == {"S": name}]
    if item["enabled"]["BOOL"]:
        assert item["GSI1SK"] == {"S": f"{item['next_run_at']['S']}#{name}"}
    else:
        assert not {"next_run_at", "GSI1PK", "GSI1SK"} & item.keys()
    made = [record for record in slot_records(queue, name) if "job_id" in record]
    assert item["total_runs"] == {"N": str(len(made))}


def test_fifty_ticks_at_once_make_one_job(make_queue: MakeQueue, clock: Clock) -> None:
    queues = [make_queue() for _ in range(50)]
    queues[0].schedules.create("s", "work", cron=HOURLY)
    for hour in (1, 2):
        clock.set(at(hour))

        fired = race([partial(fire, queue) for queue in queues])

        assert sorted(fired) == [0] * 49 + [1]
        assert slots_of(queues[0]) == [at(each) for each in range(1, hour + 1)]
    assert_consistent(queues[0])


def test_polls_at_once_claim_what_they_fire_once(make_queue: MakeQueue, clock: Clock) -> None:
    queue, delivery = make_queue(), Delivery()
    for number in range(10):
        queue.schedules.create(f"s{number}", "work", cron=HOURLY)
    clock.set(at(1))

    passes = race([Poller(make_queue(), delivery).poll for _ in range(8)])

    assert sum(each.fired for each in passes) == 10
    Poller(queue, delivery).poll()
    assert Counter(job.schedule_name for job in delivery.jobs) == {f"s{number}": 1 for number in range(10)}


@pytest.mark.parametrize("catchup", ["all", "latest", "none"])
def test_ticks_at_once_catch_up_once(make_queue: MakeQueue, clock: Clock, catchup: str) -> None:
    queue = make_queue()
    queue.schedules.create("s", "work", cron=HOURLY, catchup=catchup)
    clock.set(at(12, 30))

    fired = race([partial(fire, make_queue()) for _ in range(8)])

    expected = {"all": list(range(1, 13)), "latest": [12], "none": []}[catchup]
    assert sum(fired) == len(expected)
    assert slots_of(queue) == [at(hour) for hour in expected]
    assert sum(count for *_, count in history(queue)) == 12
    assert_consistent(queue)


@pytest.mark.parametrize("overlap", ["skip", "queue_one"])
def test_ticks_at_once_skip_once(make_queue: MakeQueue, clock: Clock, overlap: str) -> None:
    queue = make_queue()
    queue.schedules.create("s", "work", cron=HOURLY, overlap=overlap)
    for hour in range(1, 6):
        clock.set(at(hour))
        race([partial(fire, make_queue()) for _ in range(8)])

    jobs = 1 if overlap == "skip" else 2
    assert slots_of(queue) == [at(hour) for hour in range(1, jobs + 1)]
    assert history(queue)[0] == (at(5), "skipped", "scheduler", 5 - jobs)
    assert len(history(queue)) == jobs + 1


def test_nothing_is_fired_after_a_disable_has_returned(make_queue: MakeQueue, clock: Clock) -> None:
    queue = make_queue()
    queue.schedules.create("s", "work", cron=MINUTELY, catchup="all")
    for hour in range(1, ROUNDS + 1):
        clock.set(at(hour, 0, 30))

        def disable() -> int:
            queue.schedules.disable("s")
            return len(slot_records(queue))

        *_, after = race([*[partial(fire, make_queue()) for _ in range(6)], disable])

        assert len(slot_records(queue)) == after
        assert fire(queue) == 0
        assert_consistent(queue)
        queue.schedules.enable("s")
    assert max(Counter(slots_of(queue)).values(), default=1) == 1


def test_an_edit_that_meets_a_tick_loses_neither(make_queue: MakeQueue, clock: Clock) -> None:
    queue = make_queue()
    queue.schedules.create("s", "work", cron=HOURLY)
    for hour in range(1, ROUNDS * 2):
        clock.set(at(hour))
        minute = hour + 1

        answers = race(
            [
                partial(fire, make_queue()),
                partial(queue.schedules.update, "s", cron=f"0,{minute} * * * *"),
                partial(fire, make_queue()),
            ]
        )

        assert not [answer for answer in answers if isinstance(answer, Exception)]
        seen = queue.schedules.get("s")
        assert (seen.cron, seen.next_run_at) == (f"0,{minute} * * * *", at(hour, minute))
        assert_consistent(queue)
    assert max(Counter(slots_of(queue)).values(), default=1) == 1


def meanwhile(queue: JobQueue, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen once between the reading of a schedule and the write that follows."""
    entry, happened = queue.schedules.entry, list[int]()

    def read(name: str) -> Any:
        found = entry(name)
        if not happened:
            happened.append(1)
            happens()
        return found

    monkeypatch.setattr(queue.schedules, "entry", read)


def test_a_new_cron_counts_although_the_old_one_fired_meanwhile(
    make_queue: MakeQueue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both crons have the slot at 01:00; what follows it must be the new one's."""
    queue, other = make_queue(), make_queue()
    queue.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(0, 59, 59))
    carry_out = queue.schedules._carry_out
    fired: list[int] = []

    def late(*actions: Any) -> None:
        if not fired:
            clock.set(at(1))
            fired.append(fire(other))
        carry_out(*actions)

    monkeypatch.setattr(queue.schedules, "_carry_out", late)

    changed = queue.schedules.update("s", cron="0,30 * * * *")

    assert fired == [1]
    assert changed.next_run_at == at(1, 30)
    assert_consistent(queue)


def test_an_edit_of_something_else_keeps_what_was_fired_meanwhile(
    make_queue: MakeQueue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, other = make_queue(), make_queue()
    queue.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(1))
    meanwhile(queue, monkeypatch, lambda: (fire(other), other.schedules.trigger("s")))

    changed = queue.schedules.update("s", description="new")

    assert (changed.description, changed.next_run_at, changed.total_runs) == ("new", at(2), 2)
    assert_consistent(queue)


def test_edits_at_once_are_all_applied(make_queue: MakeQueue) -> None:
    queue = make_queue()
    queue.schedules.create("s", "work", cron=HOURLY)
    changes: list[dict[str, Any]] = [
        {"description": "new"},
        {"priority": 2},
        {"catchup": "all"},
        {"overlap": "skip"},
        {"max_attempts": 3},
        {"payload": {"n": 1}},
    ]

    race([partial(make_queue().schedules.update, "s", **change) for change in changes])

    seen = queue.schedules.get("s")
    for change in changes:
        for name, value in change.items():
            assert getattr(seen, name) == value


def test_switching_at_once_leaves_one_or_the_other(make_queue: MakeQueue) -> None:
    queue = make_queue()
    queue.schedules.create("s", "work", cron=HOURLY)
    for _ in range(ROUNDS):
        race([partial(queue.schedules.enable, "s"), partial(queue.schedules.disable, "s")] * 3)

        seen = queue.schedules.get("s")
        assert seen.enabled is (seen.next_run_at is not None)
        assert_consistent(queue)


def test_a_delete_that_meets_a_tick_leaves_no_half(make_queue: MakeQueue, clock: Clock) -> None:
    queue = make_queue()
    for hour in range(1, ROUNDS):
        queue.schedules.create("s", "work", cron=MINUTELY)
        clock.set(at(hour))

        answers = race([partial(queue.schedules.delete, "s"), partial(fire, make_queue())])

        assert answers[0] is None
        assert queue.schedules.list() == ()
        assert len(live_items(queue)) == sum("job_id" in record for record in slot_records(queue))
        with pytest.raises(ScheduleNotFound):
            queue.schedules.get("s")


def test_triggers_and_ticks_at_once_are_all_counted(make_queue: MakeQueue, clock: Clock) -> None:
    queue = make_queue()
    queue.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(1))

    made = race([*[partial(queue.schedules.trigger, "s")] * 10, partial(fire, make_queue())])

    assert len({job.id for job in made[:10]}) == 10
    assert len(live_items(queue)) == 11
    assert queue.schedules.get("s").total_runs == 11


def test_backfills_and_ticks_at_once_give_each_slot_one_job(make_queue: MakeQueue, clock: Clock) -> None:
    queue = make_queue()
    queue.schedules.create("s", "work", cron=HOURLY, catchup="all")
    clock.set(at(8))

    def backfill() -> int:
        return len(make_queue().schedules.backfill("s", at(1), at(9)))

    made = race([backfill, backfill, partial(fire, make_queue()), partial(fire, make_queue())])

    assert sum(made) == 8
    assert slots_of(queue) == [at(hour) for hour in range(1, 9)]
    assert queue.schedules.get("s").next_run_at == at(9)
    assert_consistent(queue)


def test_one_of_many_creates_a_name(make_queue: MakeQueue) -> None:
    queue = make_queue()
    for number in range(ROUNDS):
        name = f"s{number}"
        create = partial(queue.schedules.create, name, "work", cron=HOURLY)

        answers = race([create] * 8)

        assert sum(isinstance(answer, AlreadyExists) for answer in answers) == 7


def test_a_template_is_never_deleted_under_a_schedule(make_queue: MakeQueue) -> None:
    queue = make_queue()
    for number in range(ROUNDS):
        name = f"t{number}"
        queue.templates.create(name, "work")

        made, deleted = race(
            [
                partial(queue.schedules.create, name, template=name, cron=HOURLY),
                partial(queue.templates.delete, name),
            ]
        )

        if isinstance(made, TemplateNotFound):
            assert deleted is None
        else:
            assert made.template == name
            assert isinstance(deleted, TemplateInUse)
            assert queue.templates.get(name).job_type == "work"


def test_a_slot_that_meets_the_end_of_the_run_before_is_run_or_skipped(
    make_queue: MakeQueue, clock: Clock, jobs: Registry
) -> None:
    queue, other = make_queue(), make_queue()
    queue.schedules.create("s", "work", cron=HOURLY, overlap="skip")
    for hour in range(1, ROUNDS * 2):
        clock.set(at(hour))
        race([partial(drain, queue, jobs), partial(fire, other)])
    drain(queue, jobs)

    assert live_items(queue) == []
    assert sum(count for *_, count in history(queue)) == ROUNDS * 2 - 1
    assert_consistent(queue)


def test_a_long_silence_is_caught_up_with_by_all_together(make_queue: MakeQueue, clock: Clock) -> None:
    queue = make_queue()
    queue.schedules.create("s", "work", cron=MINUTELY, catchup="all")
    clock.set(at(0) + timedelta(minutes=130))

    fired = race([partial(fire, make_queue()) for _ in range(4)])
    while made := fire(queue):
        fired.append(made)

    assert sum(fired) == 130
    assert slots_of(queue) == [at(0) + timedelta(minutes=each) for each in range(1, 131)]
    assert_consistent(queue)
