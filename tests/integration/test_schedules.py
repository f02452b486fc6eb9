"""Schedules as they are made, changed, switched, found and deleted."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from dynajobs import (
    AlreadyExists,
    InvalidSchedule,
    JobQueue,
    Registry,
    Schedule,
    ScheduleNotFound,
    TemplateInUse,
    TemplateNotFound,
)
from dynajobs.testing import Clock, drain
from tests.integration.conftest import MakeQueue
from tests.support.firing import at, fire, history
from tests.support.table import all_items, live_items

EVERYTHING: dict[str, Any] = {
    "cron": "30 2 * * 1-5",
    "timezone": "Europe/Berlin",
    "payload": {"n": 1, "deep": {"list": [1.5, None, "é"]}},
    "description": "the nightly one",
    "priority": 2,
    "max_attempts": 7,
    "catchup": "all",
    "catchup_window": timedelta(hours=6),
    "overlap": "skip",
}


def test_a_schedule_has_its_defaults(queue: JobQueue) -> None:
    made = queue.schedules.create("s", "work", cron="0 8 * * *")

    assert made == Schedule(name="s", job_type="work", cron="0 8 * * *", next_run_at=at(8))
    assert (made.timezone, made.enabled, made.catchup, made.overlap) == ("UTC", True, "latest", "allow")
    assert (made.catchup_window, made.payload, made.total_runs) == (timedelta(days=1), {}, 0)
    assert (made.last_run_at, made.last_success_at, made.success_rate, made.average_duration) == (None,) * 4
    assert queue.schedules.get("s") == made
    assert live_items(queue) == []


def test_every_argument_is_kept(queue: JobQueue) -> None:
    made = queue.schedules.create("s", "work", **EVERYTHING)

    assert {name: getattr(made, name) for name in EVERYTHING} == EVERYTHING
    assert made.next_run_at == at(1, 30)
    assert queue.schedules.get("s") == made
    assert queue.schedules.list() == (made,)


def test_a_name_is_given_once(queue: JobQueue) -> None:
    first = queue.schedules.create("s", "work", cron="0 8 * * *")

    with pytest.raises(AlreadyExists, match="'s'"):
        queue.schedules.create("s", "other", cron="0 9 * * *")

    assert queue.schedules.get("s") == first


def test_schedules_are_listed_by_name(queue: JobQueue) -> None:
    assert queue.schedules.list() == ()
    for name in ("b", "a", "C", "a.b", "a-b"):
        queue.schedules.create(name, "work", cron="@hourly", enabled=name != "b")

    assert [each.name for each in queue.schedules.list()] == ["C", "a", "a-b", "a.b", "b"]


def test_the_next_slot_is_strictly_after_now(moto_queue: JobQueue, clock: Clock) -> None:
    clock.set(at(8))

    made = moto_queue.schedules.create("s", "work", cron="0 8 * * *")

    assert made.next_run_at == at(8, day=2)
    assert moto_queue.schedules.next("s", 2) == [at(8, day=2), at(8, day=3)]
    clock.set(at(8, day=2) - timedelta(microseconds=1))
    assert moto_queue.schedules.next("s", n=1) == [at(8, day=2)]
    clock.set(at(8, day=2))
    assert len(moto_queue.schedules.next("s")) == 5
    assert moto_queue.schedules.next("s")[0] == at(8, day=3)


def test_slots_follow_the_clocks_of_their_zone(moto_queue: JobQueue, clock: Clock) -> None:
    clock.set(datetime(2026, 3, 7, 12, tzinfo=UTC))

    made = moto_queue.schedules.create("s", "work", cron="30 2 * * *", timezone="America/New_York")

    assert moto_queue.schedules.next("s", 2) == [
        datetime(2026, 3, 8, 7, tzinfo=UTC),
        datetime(2026, 3, 9, 6, 30, tzinfo=UTC),
    ]
    assert made.warnings
    assert all(isinstance(each, str) for each in made.warnings)
    assert moto_queue.schedules.get("s").warnings == made.warnings
    assert moto_queue.schedules.create("utc", "work", cron="30 2 * * *").warnings == ()


@pytest.mark.parametrize(
    "change", [{"cron": "15 * * * *"}, {"timezone": "Asia/Kathmandu"}, {"cron": "15 * * * *", "priority": 1}]
)
def test_another_cron_or_zone_counts_from_now(
    queue: JobQueue, clock: Clock, change: dict[str, object]
) -> None:
    queue.schedules.create("s", "work", cron="0 * * * *")
    clock.set(at(5, 20))  # five slots are due

    changed = queue.schedules.update("s", **change)

    expected = at(6, 15)
    assert changed.next_run_at == expected == queue.schedules.next("s")[0]
    assert fire(queue) == 0
    clock.set(expected)
    assert fire(queue) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"description": "new"},
        {"payload": {"n": 2}},
        {"priority": 3},
        {"max_attempts": 2},
        {"catchup": "all"},
        {"catchup_window": 60},
        {"overlap": "skip"},
        {"job_type": "other"},
        {"enabled": True},
        {"cron": "0 * * * *"},
        {},
    ],
)
def test_any_other_change_leaves_the_next_slot(
    moto_queue: JobQueue, clock: Clock, change: dict[str, Any]
) -> None:
    made = moto_queue.schedules.create("s", "work", cron="0 * * * *")
    clock.set(at(5, 20))

    changed = moto_queue.schedules.update("s", **change)

    wanted = {"catchup_window": timedelta(minutes=1)} if "catchup_window" in change else change
    assert changed == replace(made, **wanted)
    assert moto_queue.schedules.get("s") == changed


def test_an_update_can_take_back_what_is_optional(moto_queue: JobQueue) -> None:
    moto_queue.schedules.create("s", "work", **EVERYTHING)

    changed = moto_queue.schedules.update("s", max_attempts=None, payload=None, description="")

    assert (changed.max_attempts, changed.payload, changed.description) == (None, {}, "")
    assert moto_queue.schedules.get("s") == changed


def test_an_update_is_refused_as_a_whole(moto_queue: JobQueue) -> None:
    made = moto_queue.schedules.create("s", "work", cron="0 * * * *")

    with pytest.raises(InvalidSchedule) as caught:
        moto_queue.schedules.update("s", description="new", cron="0 25 * * *")

    assert caught.value.field == "cron"
    assert "hour" in str(caught.value)
    assert moto_queue.schedules.get("s") == made


def test_while_disabled_nothing_fires_and_the_history_stays(
    queue: JobQueue, clock: Clock, jobs: Registry
) -> None:
    queue.schedules.create("s", "work", cron="0 * * * *")
    clock.set(at(1))
    drain(queue, jobs)

    disabled = queue.schedules.disable("s")

    assert (disabled.enabled, disabled.next_run_at, disabled.total_runs) == (False, None, 1)
    assert queue.schedules.disable("s") == disabled
    clock.set(at(9, 30))
    assert fire(queue) == 0
    assert history(queue) == [(at(1), "completed", "scheduler", 1)]
    assert queue.schedules.next("s")[0] == at(10)


def test_enabling_counts_from_now(queue: JobQueue, clock: Clock) -> None:
    queue.schedules.create("s", "work", cron="0 * * * *", enabled=False)
    assert queue.schedules.get("s").next_run_at is None
    clock.set(at(9, 30))

    enabled = queue.schedules.enable("s")

    assert (enabled.enabled, enabled.next_run_at) == (True, at(10))
    clock.set(at(9, 59, 59))
    assert queue.schedules.enable("s") == enabled
    clock.set(at(10))
    assert fire(queue) == 1
    assert history(queue) == [(at(10), "queued", "scheduler", 1)]


def test_an_update_enables_and_disables_as_well(moto_queue: JobQueue, clock: Clock) -> None:
    moto_queue.schedules.create("s", "work", cron="0 * * * *")
    clock.set(at(3, 30))

    assert moto_queue.schedules.update("s", enabled=False).next_run_at is None
    assert moto_queue.schedules.update("s", cron="30 * * * *").next_run_at is None
    assert moto_queue.schedules.update("s", enabled=True).next_run_at == at(4, 30)


def test_a_deleted_schedule_leaves_its_history_and_its_jobs(
    queue: JobQueue, clock: Clock, jobs: Registry
) -> None:
    queue.schedules.create("s", "work", cron="0 * * * *")
    clock.set(at(1))
    fire(queue)

    queue.schedules.delete("s")

    clock.set(at(5))
    assert fire(queue) == 0
    [done] = drain(queue, jobs)
    assert (done.schedule_name, done.status) == ("s", "completed")
    assert history(queue) == [(at(1), "completed", "scheduler", 1)]
    assert queue.schedules.list() == ()


def test_a_name_can_be_used_again(moto_queue: JobQueue, clock: Clock) -> None:
    moto_queue.schedules.create("s", "work", cron="0 * * * *")
    clock.set(at(1))
    fire(moto_queue)
    moto_queue.schedules.delete("s")

    made = moto_queue.schedules.create("s", "work", cron="0 * * * *")

    assert (made.next_run_at, made.total_runs) == (at(2), 0)


@pytest.mark.parametrize("name", ["nobody", "", "no/name", "x" * 65])
def test_an_unknown_schedule_is_not_found(moto_queue: JobQueue, name: str) -> None:
    schedules = moto_queue.schedules
    calls: list[Callable[[], object]] = [
        lambda: schedules.get(name),
        lambda: schedules.update(name, priority=1),
        lambda: schedules.enable(name),
        lambda: schedules.disable(name),
        lambda: schedules.delete(name),
        lambda: schedules.trigger(name),
        lambda: schedules.next(name),
        lambda: schedules.runs(name),
        lambda: schedules.backfill(name, at(0), at(0)),
    ]
    for call in calls:
        with pytest.raises(ScheduleNotFound):
            call()
    assert all_items(moto_queue) == []


def test_a_schedule_takes_a_template_in_place_of_a_type(queue: JobQueue) -> None:
    with pytest.raises(TemplateNotFound):
        queue.schedules.create("s", template="t", cron="@daily")
    assert queue.schedules.list() == ()
    queue.templates.create("t", "work", payload={"a": 1, "b": 2})

    made = queue.schedules.create("s", template="t", param_overrides={"b": 3}, cron="@daily")

    assert (made.job_type, made.template, made.param_overrides) == (None, "t", {"b": 3})
    assert queue.schedules.get("s") == made
    with pytest.raises(TemplateInUse, match="s"):
        queue.templates.delete("t")
    changed = queue.schedules.update("s", job_type="work", payload={"c": 4})
    assert (changed.job_type, changed.template, changed.payload) == ("work", None, {"c": 4})
    queue.templates.delete("t")
    with pytest.raises(TemplateNotFound):
        queue.schedules.update("s", template="t")
    assert queue.schedules.get("s") == changed


def test_a_registry_checks_payloads_when_a_schedule_is_made(make_queue: MakeQueue) -> None:
    class Counted(BaseModel):
        n: int

    registry = Registry()

    @registry.handler("count")
    def count(payload: Counted) -> None: ...

    queue = make_queue(registry)
    with pytest.raises(InvalidSchedule) as caught:
        queue.schedules.create("s", "count", cron="@daily", payload={"n": "many"})
    assert caught.value.field == "payload"
    assert "many" not in str(caught.value)
    queue.schedules.create("s", "count", cron="@daily", payload=Counted(n=3))
    assert queue.schedules.get("s").payload == {"n": 3}


def test_a_schedule_of_another_version_keeps_what_it_does_not_know(moto_queue: JobQueue) -> None:
    moto_queue.schedules.create("s", "work", cron="@daily")
    table = moto_queue.store.table
    [item] = all_items(moto_queue, "schedule")
    table.client.put_item(TableName=table.name, Item={**item, "from_the_future": {"S": "x"}})

    moto_queue.schedules.update("s", priority=1)

    assert all_items(moto_queue, "schedule")[0]["from_the_future"] == {"S": "x"}
