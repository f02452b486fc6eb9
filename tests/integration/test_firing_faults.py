"""Every storage call of a tick, and of every change to schedules, goes wrong once or is its process's last.

However that ends, the next tick or the next try makes good: no slot is lost, and none has two jobs.
"""

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from dynajobs import AlreadyExists, ReservationBusy, ScheduleNotFound, Status, TemplateNotFound
from dynajobs.testing import drain
from tests.support.faults import Fault
from tests.support.firing import fire, history
from tests.support.stories import Operation, Stories, Story, tell_with_faults
from tests.support.table import all_items
from tests.support.world import START, World

HOURLY = "0 * * * *"
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
SLOT = START + HOUR

story = Stories()


@pytest.mark.parametrize("operation", story.operations, ids=lambda each: each.name)
def test_promises_hold_whatever_call_fails(
    operation: Operation,
    engine_client: Any,
    table_name: str,
    monkeypatch: pytest.MonkeyPatch,
    subtests: pytest.Subtests,
) -> None:
    tell_with_faults(operation, Fault, engine_client, table_name, monkeypatch, subtests)


def create(world: World, name: str = "s", **options: Any) -> None:
    template = {} if "template" in options else {"job_type": "work"}
    world.queue.schedules.create(name, **{"cron": HOURLY, **template, **options})


def told(world: World, name: str = "s") -> list[tuple[Any, ...]]:
    """The history by hours after the start, outcome and count, oldest first."""
    return [
        ((slot - START) / HOUR, outcome, count)
        for slot, outcome, _, count in reversed(history(world.queue, name))
    ]


def assert_fired(world: World, hours: list[int], *, up_to: int, name: str = "s") -> None:
    """These slots have one job each, they are counted, and the schedule goes on after `up_to`."""
    jobs = [each.job for each in world.jobs() if each.job.schedule_name == name]
    assert sorted(job.scheduled_for for job in jobs) == [START + hour * HOUR for hour in hours]
    assert_schedule(world, up_to + 1, len(jobs), name)


def assert_schedule(world: World, next_hour: float, total_runs: int, name: str = "s") -> None:
    seen = world.queue.schedules.get(name)
    assert (seen.next_run_at, seen.total_runs) == (START + next_hour * HOUR, total_runs)
    [item] = [each for each in all_items(world.queue, "schedule") if each["SK"] == {"S": name}]
    assert item["GSI1SK"] == {"S": f"{item['next_run_at']['S']}#{name}"}


def tick(world: World, hour: int) -> Story:
    """The tick under test, and the one a minute after it."""
    world.clock.set(START + hour * HOUR)
    fired = yield lambda: fire(world.queue)
    return fired + fire(world.queue)


@story()
def tick_on_time(world: World) -> Story:
    create(world)
    fired = yield from tick(world, 1)
    assert fired == 1 or (world.fault and world.fault.lost)  # made, and its maker does not know
    assert_fired(world, [1], up_to=1)
    assert told(world) == [(1, "queued", 1)]


@story()
def tick_of_two_schedules(world: World) -> Story:
    create(world, "a")
    create(world, "b", priority=1)
    yield from tick(world, 1)
    for name in ("a", "b"):
        assert_fired(world, [1], up_to=1, name=name)


@story()
def tick_after_a_silence(world: World) -> Story:
    create(world)
    yield from tick(world, 4)
    assert_fired(world, [4], up_to=4)
    assert told(world) == [(3, "missed", 3), (4, "queued", 1)]


@story()
def tick_that_misses(world: World) -> Story:
    create(world, catchup="none")
    world.clock.set(START + 3.5 * HOUR)
    yield lambda: fire(world.queue)
    assert fire(world.queue) == 0
    assert_fired(world, [], up_to=3)
    assert told(world) == [(3, "missed", 3)]


@story()
def tick_that_catches_up_with_all(world: World) -> Story:
    create(world, catchup="all", catchup_window=2 * HOUR + 30 * MINUTE)
    yield from tick(world, 4)
    assert_fired(world, [2, 3, 4], up_to=4)
    assert told(world) == [(1, "missed", 1), (2, "queued", 1), (3, "queued", 1), (4, "queued", 1)]


@story()
def tick_that_skips(world: World) -> Story:
    create(world, overlap="skip")
    for hour in (1, 2):
        world.clock.set(START + hour * HOUR)
        fire(world.queue)
    yield from tick(world, 3)
    assert_fired(world, [1], up_to=3)
    assert told(world) == [(1, "queued", 1), (3, "skipped", 2)]


@story()
def tick_that_queues_one(world: World) -> Story:
    create(world, overlap="queue_one")
    world.clock.set(SLOT)
    fire(world.queue)
    yield from tick(world, 2)
    assert_fired(world, [1, 2], up_to=2)
    assert told(world) == [(1, "queued", 1), (2, "queued", 1)]


@story()
def tick_with_a_template(world: World) -> Story:
    world.queue.templates.create("t", "work", payload={"n": 1})
    create(world, template="t", param_overrides={"n": 2})
    yield from tick(world, 1)
    assert_fired(world, [1], up_to=1)
    assert world.one().payload == {"n": 2}


@story()
def tick_without_its_template(world: World) -> Story:
    world.queue.templates.create("t", "work")
    create(world, template="t")
    world.delete({"PK": {"S": "template"}, "SK": {"S": "t"}})
    yield from tick(world, 1)
    assert_fired(world, [], up_to=1)
    assert told(world) == [(1, "skipped", 1)]


@story()
def tick_on_a_slot_that_has_its_job(world: World) -> Story:
    create(world)
    world.clock.set(SLOT)
    world.queue.schedules.backfill("s", SLOT, SLOT + MINUTE)
    yield from tick(world, 1)
    assert_fired(world, [1], up_to=1)


@story()
def poll_fires_claims_and_delivers(world: World) -> Story:
    create(world)
    world.clock.set(SLOT)
    yield world.poller.poll
    world.poller.poll()
    world.run_out()
    assert_fired(world, [1], up_to=1)
    assert world.one().status is Status.COMPLETED
    assert len(world.ran) == 1
    assert told(world) == [(1, "completed", 1)]


@story()
def drain_fires_and_runs(world: World) -> Story:
    create(world)
    world.clock.set(SLOT)
    yield lambda: drain(world.queue, world.registry)
    world.clock.advance(10 * MINUTE)  # what died had a lease
    drain(world.queue, world.registry)
    assert_fired(world, [1], up_to=1)
    assert told(world) == [(1, "completed", 1)]


@story()
def trigger(world: World) -> Story:
    create(world)
    job = yield lambda: world.queue.schedules.trigger("s")
    assert (job.triggered_by, job.schedule_name) == ("manual", "s")
    made = [each.id for each in world.live()]
    assert job.id in made
    assert len(made) == 1 + world.unheard  # every call is a run of its own
    assert_schedule(world, 1, len(made))


@story()
def backfill(world: World) -> Story:
    create(world, enabled=False)
    world.clock.set(START + 5 * HOUR)
    made: list[Any] = []
    yield lambda: made.extend(world.queue.schedules.backfill("s", START + HOUR, START + 4 * HOUR))
    jobs = world.live()
    assert sorted(job.scheduled_for for job in jobs) == [START + hour * HOUR for hour in (1, 2, 3)]
    assert world.queue.schedules.get("s").total_runs == 3
    assert len(made) == 3 or world.repeats


@story()
def create_a_schedule(world: World) -> Story:
    def act() -> Any:
        try:
            return world.queue.schedules.create("s", "work", cron=HOURLY)
        except AlreadyExists:
            assert world.unheard, "nobody else has this name"
            return world.queue.schedules.get("s")

    made = yield act
    assert world.queue.schedules.list() == (made,)
    assert_schedule(world, 1, 0)


@story()
def create_with_a_template(world: World) -> Story:
    world.queue.templates.create("t", "work")

    def act() -> None:
        with suppress(AlreadyExists):
            create(world, template="t")

    yield act
    assert_schedule(world, 1, 0)
    assert used_by(world, "t") == ["s"]


def used_by(world: World, template: str) -> list[str]:
    item = world.queue.store.table.get({"PK": {"S": "template"}, "SK": {"S": template}}) or {}
    return sorted(item.get("used_by", {}).get("SS", ()))


@story()
def update_the_cron(world: World) -> Story:
    create(world)
    world.clock.set(START + 10 * MINUTE)
    changed = yield lambda: world.queue.schedules.update("s", cron="30 * * * *", description="new")
    assert (changed.cron, changed.description) == ("30 * * * *", "new")
    assert_schedule(world, 0.5, 0)


@story()
def update_the_template(world: World) -> Story:
    for name in ("old", "new"):
        world.queue.templates.create(name, "work")
    create(world, template="old")
    changed = yield lambda: world.queue.schedules.update("s", template="new")
    assert changed.template == "new"
    assert (used_by(world, "old"), used_by(world, "new")) == ([], ["s"])


@story()
def disable(world: World) -> Story:
    create(world)
    changed = yield lambda: world.queue.schedules.disable("s")
    assert (changed.enabled, changed.next_run_at) == (False, None)
    world.clock.set(SLOT)
    assert fire(world.queue) == 0


@story()
def enable(world: World) -> Story:
    create(world, enabled=False)
    world.clock.set(START + 2.5 * HOUR)
    changed = yield lambda: world.queue.schedules.enable("s")
    assert changed.enabled
    assert_schedule(world, 3, 0)


@story()
def delete(world: World) -> Story:
    world.queue.templates.create("t", "work")
    create(world, template="t")

    def act() -> None:
        try:
            world.queue.schedules.delete("s")
        except ScheduleNotFound:
            assert world.unheard, "it was there"

    yield act
    assert world.queue.schedules.list() == ()
    assert used_by(world, "t") == []
    world.clock.set(SLOT)
    assert fire(world.queue) == 0


@story()
def read(world: World) -> Story:
    create(world)
    world.queue.schedules.trigger("s")
    schedules = world.queue.schedules
    seen, listed, runs, coming = yield lambda: (
        schedules.get("s"),
        schedules.list(),
        schedules.runs("s"),
        schedules.next("s", 1),
    )
    assert listed == (seen,)
    assert [run.outcome for run in runs] == ["queued"]
    assert coming == [SLOT]


@story()
def change_a_template(world: World) -> Story:
    templates = world.queue.templates

    def act() -> None:
        with suppress(AlreadyExists):
            templates.create("t", "work", payload={"n": 1})
        templates.update("t", payload={"n": 2})

    yield act
    assert [each.payload for each in templates.list()] == [{"n": 2}]


@story()
def delete_a_template(world: World) -> Story:
    world.queue.templates.create("t", "work")

    def act() -> None:
        try:
            world.queue.templates.delete("t")
        except TemplateNotFound:
            assert world.unheard, "it was there"

    yield act
    assert world.queue.templates.list() == ()


@story()
def enqueue_from_a_template(world: World) -> Story:
    world.queue.templates.create("t", "work", payload={"n": 1})
    job = yield lambda: world.queue.templates.enqueue("t", dedup_key="key")
    assert world.one() == job
    assert (job.template, job.payload) == ("t", {"n": 1})


@story()
def sync(world: World) -> Story:
    declared = {name: {"job_type": "work", "cron": HOURLY} for name in ("a", "b")}
    yield lambda: world.queue.schedules.sync(declared)
    again = world.queue.schedules.sync(declared)
    assert [(change.action, dict(change.drift)) for change in again] == [("unchanged", {})] * 2
    assert_schedule(world, 1, 0, "a")


@story()
def reserve_and_release(world: World) -> Story:
    world.enqueue()

    def act() -> int:
        try:
            with world.queue.reserve("us", ttl=60):
                return len(drain(world.queue, world.registry))
        except ReservationBusy:  # an earlier try of ours had it, and may have died with it
            assert world.repeats
            world.clock.advance(61)
            with world.queue.reserve("us", ttl=60):
                return len(drain(world.queue, world.registry))

    assert (yield act) == 0
    held = world.queue.reservation()
    assert held is not None
    assert (held.by, held.status) == ("us", "released")
    assert len(drain(world.queue, world.registry)) == 1
