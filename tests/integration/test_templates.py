"""Job templates, and schedules that make their jobs from one."""

from typing import Any

import pytest
from pydantic import BaseModel

from dynajobs import (
    AlreadyExists,
    InvalidJob,
    JobQueue,
    Registry,
    TemplateInUse,
    TemplateNotFound,
)
from dynajobs.testing import Clock, drain
from tests.integration.conftest import MakeQueue
from tests.support.firing import at, fire, history
from tests.support.table import all_items, live_items, put

HOURLY = "0 * * * *"
BAD: list[tuple[str, Any]] = [
    ("job_type", "no spaces"),
    ("job_type", None),
    ("payload", [1]),
    ("payload", {"n": float("nan")}),
    ("payload", {"n": "x" * 70_000}),
    ("priority", 4),
    ("priority", True),
    ("priority", None),
    ("max_attempts", 0),
    ("max_attempts", "5"),
    ("description", None),
    ("description", "x" * 5000),
]


def test_a_template_is_kept_as_it_was_given(queue: JobQueue) -> None:
    options: dict[str, Any] = {"payload": {"n": [1, 0.5]}, "priority": 2, "max_attempts": 7}
    made = queue.templates.create("t", "work", **options, description="weekly")

    assert (made.name, made.job_type, made.description) == ("t", "work", "weekly")
    assert (made.payload, made.priority, made.max_attempts) == ({"n": [1, 0.5]}, 2, 7)
    assert queue.templates.get("t") == made
    bare = queue.templates.create("bare", "work")
    assert (bare.payload, bare.priority, bare.max_attempts, bare.description) == ({}, 0, None, "")
    assert queue.templates.list() == (bare, made)


def test_a_name_is_given_once(queue: JobQueue) -> None:
    made = queue.templates.create("t", "work")

    with pytest.raises(AlreadyExists):
        queue.templates.create("t", "other")

    assert queue.templates.get("t") == made


def test_some_of_a_template_can_be_changed(queue: JobQueue) -> None:
    queue.templates.create("t", "work", payload={"n": 1}, max_attempts=3)

    queue.templates.update("t", payload={"n": 2}, priority=1)
    changed = queue.templates.update("t", max_attempts=None, description="new", job_type="other")

    assert (changed.job_type, changed.payload, changed.priority) == ("other", {"n": 2}, 1)
    assert (changed.max_attempts, changed.description) == (None, "new")
    assert queue.templates.get("t") == changed


@pytest.mark.parametrize(("argument", "value"), BAD)
def test_a_bad_argument_is_named(moto_queue: JobQueue, argument: str, value: Any) -> None:
    arguments: dict[str, Any] = {"job_type": "work", argument: value}
    with pytest.raises(InvalidJob, match=argument):
        moto_queue.templates.create("t", **arguments)
    made = moto_queue.templates.create("t", "work")
    with pytest.raises(InvalidJob, match=argument):
        moto_queue.templates.update("t", **{argument: value})
    assert moto_queue.templates.get("t") == made


@pytest.mark.parametrize("name", ["", "no/slash", "x" * 65, "a\n", None, 7])
def test_a_bad_name_is_refused(moto_queue: JobQueue, name: Any) -> None:
    with pytest.raises(InvalidJob, match="name"):
        moto_queue.templates.create(name, "work")
    assert all_items(moto_queue) == []


def test_what_is_no_argument_is_refused(moto_queue: JobQueue) -> None:
    moto_queue.templates.create("t", "work")
    with pytest.raises(InvalidJob, match="prioritee"):
        moto_queue.templates.update("t", prioritee=1)


@pytest.mark.parametrize("name", ["nobody", "no/slash", "", None])
def test_an_unknown_template_is_not_found(moto_queue: JobQueue, name: Any) -> None:
    for call in (
        moto_queue.templates.get,
        moto_queue.templates.update,
        moto_queue.templates.delete,
        moto_queue.templates.enqueue,
    ):
        with pytest.raises(TemplateNotFound):
            call(name)


def test_a_job_is_made_from_a_template(queue: JobQueue, jobs: Registry) -> None:
    payload = {"do": "ok", "value": {"x": 1}, "n": 1}
    queue.templates.create("t", "work", payload=payload, priority=1, max_attempts=9)

    job = queue.templates.enqueue("t", param_overrides={"value": {"y": 2}})

    assert (job.job_type, job.template, job.priority, job.max_attempts) == ("work", "t", 1, 9)
    assert job.payload == {"do": "ok", "value": {"y": 2}, "n": 1}  # merged at the top level only
    assert (job.created, job.schedule_name) == (True, None)
    assert queue.get(job) == job
    assert [done.id for done in drain(queue, jobs)] == [job.id]


def test_the_options_of_enqueue_win(queue: JobQueue) -> None:
    queue.templates.create("t", "work", payload={"n": 1}, priority=1, max_attempts=9)
    options: dict[str, Any] = {"priority": 3, "max_attempts": 2, "delay": 60, "org_id": "o"}

    job = queue.templates.enqueue("t", **options, dedup_key="k", dedup_window="day")
    again = queue.templates.enqueue("t", dedup_key="k", dedup_window="day")

    assert (job.priority, job.max_attempts, job.scheduled_for) == (3, 2, at(0, 1))
    assert (job.org_id, job.payload) == ("o", {"n": 1})
    assert (again.id, again.created) == (job.id, False)


@pytest.mark.parametrize(
    "options",
    [
        {"param_overrides": [1]},
        {"param_overrides": {"n": float("nan")}},
        {"param_overrides": {"n": "x" * 70_000}},
        {"payload": {"n": 1}},
        {"priority": 9},
        {"delay": -1},
    ],
)
def test_bad_options_are_refused(moto_queue: JobQueue, options: dict[str, Any]) -> None:
    moto_queue.templates.create("t", "work")
    with pytest.raises(InvalidJob):
        moto_queue.templates.enqueue("t", **options)
    assert live_items(moto_queue) == []


def test_a_registry_checks_what_is_enqueued(make_queue: MakeQueue) -> None:
    class Counted(BaseModel):
        n: int

    registry = Registry()

    @registry.handler("count")
    def count(payload: Counted) -> None: ...

    queue = make_queue(registry)
    queue.templates.create("t", "count", payload={"n": 1})
    with pytest.raises(InvalidJob):
        queue.templates.enqueue("t", param_overrides={"n": "many"})
    assert queue.templates.enqueue("t").payload == {"n": 1}


def test_a_template_in_use_is_not_deleted(queue: JobQueue) -> None:
    queue.templates.create("t", "work")
    for name in ("a", "b"):
        queue.schedules.create(name, template="t", cron=HOURLY, enabled=name == "a")

    queue.schedules.delete("a")
    with pytest.raises(TemplateInUse, match="b"):
        queue.templates.delete("t")
    queue.schedules.delete("b")
    queue.templates.delete("t")

    assert queue.templates.list() == ()
    with pytest.raises(TemplateNotFound):
        queue.templates.delete("t")


def test_an_update_keeps_a_template_in_use(queue: JobQueue) -> None:
    queue.templates.create("t", "work")
    queue.schedules.create("s", template="t", cron=HOURLY)
    queue.templates.update("t", payload={"n": 1})
    queue.schedules.update("s", description="new")

    with pytest.raises(TemplateInUse):
        queue.templates.delete("t")


def test_a_schedule_that_changes_its_template_lets_go_of_the_old_one(queue: JobQueue) -> None:
    for name in ("old", "new"):
        queue.templates.create(name, "work")
    queue.schedules.create("s", template="old", cron=HOURLY)

    queue.schedules.update("s", template="new")

    queue.templates.delete("old")
    with pytest.raises(TemplateInUse):
        queue.templates.delete("new")


def test_a_template_is_resolved_when_a_slot_is_fired(queue: JobQueue, clock: Clock) -> None:
    queue.templates.create("t", "work", payload={"a": 1, "b": 1}, priority=1)
    queue.schedules.create("s", template="t", param_overrides={"b": 2}, cron=HOURLY)
    queue.templates.update("t", job_type="other", payload={"a": 9, "c": 3}, priority=3, max_attempts=2)
    clock.set(at(1))

    assert fire(queue) == 1

    [job] = queue.list().jobs
    assert (job.job_type, job.payload, job.template) == ("other", {"a": 9, "b": 2, "c": 3}, "t")
    assert (job.priority, job.max_attempts) == (3, 2)


def test_a_slot_whose_template_is_gone_is_skipped_with_the_reason(
    queue: JobQueue, clock: Clock, jobs: Registry
) -> None:
    queue.templates.create("t", "work")
    queue.schedules.create("s", template="t", cron=HOURLY)
    queue.schedules.create("other", "work", cron=HOURLY)
    table = queue.store.table
    table.client.delete_item(TableName=table.name, Key={"PK": {"S": "template"}, "SK": {"S": "t"}})
    for hour in (1, 2):
        clock.set(at(hour))
        assert fire(queue) == 1

    assert history(queue) == [(at(2), "skipped", "scheduler", 2)]
    [run] = queue.schedules.runs("s").runs
    assert "template" in (run.message or "")
    queue.templates.create("t", "work")
    clock.set(at(3))
    assert fire(queue) == 2
    assert len(drain(queue, jobs)) == 4


def test_a_slot_whose_payload_grew_too_large_is_skipped_with_the_reason(
    queue: JobQueue, clock: Clock
) -> None:
    queue.templates.create("t", "work")
    queue.schedules.create("s", template="t", cron=HOURLY, param_overrides={"a": "x" * 40_000})
    queue.templates.update("t", payload={"b": "x" * 40_000})
    clock.set(at(1))

    assert fire(queue) == 0

    [run] = queue.schedules.runs("s").runs
    assert (run.scheduled_for, run.outcome) == (at(1), "skipped")
    assert "64 KB" in (run.message or "") or "payload" in (run.message or "")
    assert queue.schedules.get("s").next_run_at == at(2)


def test_a_malformed_template_stops_no_other_schedule(moto_queue: JobQueue, clock: Clock) -> None:
    moto_queue.templates.create("t", "work")
    moto_queue.schedules.create("s", template="t", cron=HOURLY)
    moto_queue.schedules.create("other", "work", cron=HOURLY)
    [item] = all_items(moto_queue, "template")
    put(moto_queue, item | {"payload": {"S": "{"}})
    clock.set(at(1))

    assert fire(moto_queue) == 1
    assert [job.schedule_name for job in moto_queue.list()] == ["other"]
    assert history(moto_queue) == [(at(1), "skipped", "scheduler", 1)]
    moto_queue.templates.create("good", "work")
    assert [each.name for each in moto_queue.templates.list()] == ["good"]
