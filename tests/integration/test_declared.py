"""Declared schedules: brought into the table, changed with their declaration, left to operators."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dynajobs import InvalidSchedule, JobQueue, Registry, TemplateNotFound
from dynajobs.declared import read_file
from dynajobs.testing import Clock, drain
from tests.support.firing import at
from tests.support.races import race
from tests.support.table import all_items

NIGHTLY: dict[str, Any] = {
    "job_type": "work",
    "cron": "0 2 * * *",
    "timezone": "Europe/Berlin",
    "payload": {"n": 1},
    "catchup_window": 3600,
    "overlap": "skip",
}


def declaring(cron: str | None = "0 8 * * *", **options: Any) -> Registry:
    registry = Registry()

    @registry.handler("report", cron=cron, **options)
    def report(payload: dict[str, Any]) -> None: ...

    @registry.handler("other")
    def other(payload: dict[str, Any]) -> None: ...

    return registry


def told(changes: Any) -> list[tuple[str, str]]:
    return [(change.name, change.action) for change in changes]


def test_a_handler_declares_a_schedule_of_its_name(queue: JobQueue, clock: Clock) -> None:
    registry = declaring(timezone="Asia/Tokyo")

    changes = queue.schedules.sync(registry)

    assert told(changes) == [("report", "created")]
    [made] = queue.schedules.list()
    assert (made.name, made.job_type, made.cron, made.timezone) == (
        "report",
        "report",
        "0 8 * * *",
        "Asia/Tokyo",
    )
    assert (made.payload, made.enabled, made.next_run_at) == ({}, True, at(23))
    clock.set(at(23))
    assert [job.job_type for job in drain(queue, registry)] == ["report"]


def test_a_second_sync_changes_nothing(queue: JobQueue) -> None:
    queue.schedules.sync({"nightly": NIGHTLY})
    before = all_items(queue)

    changes = queue.schedules.sync({"nightly": NIGHTLY})

    assert told(changes) == [("nightly", "unchanged")]
    assert not changes[0].drift
    assert all_items(queue) == before


def test_a_changed_declaration_is_applied(queue: JobQueue, clock: Clock) -> None:
    queue.schedules.sync(declaring())
    clock.set(at(7))

    [change] = queue.schedules.sync(declaring("30 7 * * *"))

    assert (change.action, change.changed, dict(change.drift)) == ("updated", ("cron",), {})
    assert queue.schedules.get("report").next_run_at == at(7, 30)


def test_every_argument_can_be_declared(moto_queue: JobQueue) -> None:
    moto_queue.templates.create("t", "work")
    full: dict[str, Any] = {
        "template": "t",
        "param_overrides": {"n": 2},
        "cron": "@hourly",
        "description": "x",
        "enabled": False,
        "priority": 3,
        "max_attempts": 2,
        "catchup": "all",
        "catchup_window": timedelta(hours=2),
        "overlap": "queue_one",
    }

    moto_queue.schedules.sync({"s": full})

    made = moto_queue.schedules.get("s")
    assert {name: getattr(made, name) for name in full} == full
    assert told(moto_queue.schedules.sync({"s": full})) == [("s", "unchanged")]


def test_a_dry_run_writes_nothing(queue: JobQueue) -> None:
    queue.schedules.sync({"b": NIGHTLY})
    before = all_items(queue)
    wanted = {"a": NIGHTLY, "b": NIGHTLY | {"priority": 2}}

    dry = queue.schedules.sync(wanted, dry_run=True)

    assert all_items(queue) == before
    assert told(dry) == [("a", "created"), ("b", "updated")]
    assert queue.schedules.sync(wanted) == dry


def test_an_operators_disable_stays(queue: JobQueue) -> None:
    queue.schedules.sync(declaring())
    queue.schedules.disable("report")

    [same] = queue.schedules.sync(declaring())
    [changed] = queue.schedules.sync(declaring("0 9 * * *"))

    assert (same.action, same.drift) == ("unchanged", {"enabled": (True, False)})
    assert (changed.action, changed.changed) == ("updated", ("cron",))
    seen = queue.schedules.get("report")
    assert (seen.enabled, seen.next_run_at, seen.cron) == (False, None, "0 9 * * *")


def test_what_an_operator_changed_stays_and_is_told(queue: JobQueue) -> None:
    queue.schedules.sync({"nightly": NIGHTLY})
    queue.schedules.update("nightly", cron="30 3 * * *", priority=2)

    [change] = queue.schedules.sync({"nightly": NIGHTLY})

    assert (change.action, change.changed) == ("unchanged", ())
    assert change.drift == {"cron": ("0 2 * * *", "30 3 * * *"), "priority": (0, 2)}
    assert queue.schedules.get("nightly").cron == "30 3 * * *"


def test_a_declaration_changes_only_what_changed_in_it(queue: JobQueue) -> None:
    queue.schedules.sync({"nightly": NIGHTLY})
    queue.schedules.update("nightly", cron="30 3 * * *")

    [change] = queue.schedules.sync({"nightly": NIGHTLY | {"payload": {"n": 2}}})

    assert (change.changed, change.drift) == (("payload",), {"cron": ("0 2 * * *", "30 3 * * *")})
    seen = queue.schedules.get("nightly")
    assert (seen.payload, seen.cron) == ({"n": 2}, "30 3 * * *")


def test_a_declaration_that_says_it_anew_wins(moto_queue: JobQueue) -> None:
    moto_queue.schedules.sync({"nightly": NIGHTLY})
    moto_queue.schedules.update("nightly", cron="30 3 * * *")

    moto_queue.schedules.sync({"nightly": NIGHTLY | {"cron": "0 5 * * *"}})

    assert moto_queue.schedules.get("nightly").cron == "0 5 * * *"


def test_a_schedule_that_was_made_by_hand_is_left_as_it_is(moto_queue: JobQueue) -> None:
    moto_queue.schedules.create("report", "report", cron="0 9 * * *")

    [change] = moto_queue.schedules.sync(declaring())

    assert (change.action, change.drift) == ("unchanged", {"cron": ("0 8 * * *", "0 9 * * *")})
    assert moto_queue.schedules.get("report").cron == "0 9 * * *"


def test_what_is_not_declared_is_left_alone(moto_queue: JobQueue) -> None:
    moto_queue.schedules.sync({"a": NIGHTLY, "b": NIGHTLY})
    moto_queue.schedules.create("c", "work", cron="@daily")

    assert told(moto_queue.schedules.sync({"a": NIGHTLY})) == [("a", "unchanged")]
    assert moto_queue.schedules.sync(declaring(None)) == ()
    assert [each.name for each in moto_queue.schedules.list()] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"job_type": "work"}, "cron"),
        ({"job_type": "work", "cron": "0 25 * * *"}, "cron"),
        ({"job_type": "work", "cron": "@daily", "crom": 1}, "crom"),
        ({"job_type": "work", "cron": "@daily", "enabled": "no"}, "enabled"),
        ({"cron": "@daily"}, "job_type"),
    ],
)
def test_one_bad_declaration_leaves_all_as_they_are(
    moto_queue: JobQueue, bad: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        moto_queue.schedules.sync({"a": NIGHTLY, "z": bad})

    assert caught.value.field == field
    assert "schedule z" in str(caught.value)
    assert all_items(moto_queue) == []


def test_a_declared_template_must_exist(moto_queue: JobQueue) -> None:
    with pytest.raises(TemplateNotFound):
        moto_queue.schedules.sync({"s": {"template": "t", "cron": "@daily"}})


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"cron": "nonsense"}, "cron"),
        ({"cron": ""}, "cron"),
        ({"cron": 5}, "cron"),
        ({"cron": "@daily", "timezone": "Mars/Phobos"}, "timezone"),
    ],
)
def test_a_bad_cron_is_refused_when_it_is_declared(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        declaring(**options)
    assert caught.value.field == field


@pytest.mark.parametrize("job_type", ["a:b", "x" * 65])
def test_a_type_that_can_be_no_name_cannot_declare(job_type: str) -> None:
    registry = Registry()

    def handle(payload: dict[str, Any]) -> None: ...

    with pytest.raises(InvalidSchedule):
        registry.handler(job_type, cron="@daily")(handle)
    registry.handler(job_type)(handle)


def test_programs_that_start_at_once_declare_it_once(concurrent_queue: JobQueue) -> None:
    answers = race([lambda: concurrent_queue.schedules.sync({"nightly": NIGHTLY})] * 8)

    assert sorted(told(changes)[0][1] for changes in answers) == ["created"] + ["unchanged"] * 7


def test_a_file_declares_schedules(tmp_path: Path, moto_queue: JobQueue) -> None:
    path = tmp_path / "schedules.yaml"
    path.write_text(
        "nightly:\n"
        "  job_type: work\n"
        "  cron: '*/5 2 * * *'\n"
        "  timezone: Europe/Berlin\n"
        "  payload: {n: 1, é: [true, null]}\n"
        "  catchup_window: 3600\n"
        "hourly: {job_type: work, cron: '@hourly', enabled: false}\n"
    )

    moto_queue.schedules.sync(read_file(path))

    hourly, nightly = moto_queue.schedules.list()
    assert (hourly.cron, hourly.enabled) == ("@hourly", False)
    assert (nightly.payload, nightly.catchup_window) == ({"n": 1, "é": [True, None]}, timedelta(hours=1))


def test_an_empty_file_declares_nothing(tmp_path: Path) -> None:
    path = tmp_path / "schedules.yaml"
    path.write_text("# nothing yet\n")
    assert read_file(path) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: {job_type: work, cron: * * * * *}", "quotes"),
        ("a:\n  job_type: work\n  cron: */5 * * * *\n", "quotes"),
        ("a: [1, 2", "YAML"),
        ("a:\n\tb: 1\n", "YAML"),
        ("a: {cron: x}\nb: {cron: x}\na: {cron: y}\n", "'a' is there twice"),
        ("a: {cron: x, cron: y}\n", "'cron' is there twice"),
        ("- a\n- b\n", "map"),
        ("just text", "map"),
        ("a: 5\n", "map"),
        ("1: {cron: x}\n", "map"),
        ("a: {? [1, 2] : x}\n", "YAML"),
        ("a: !!python/object/apply:os.getcwd []\n", "YAML"),
        ("--- {}\n--- {}\n", "YAML"),
        ("a: {cron: 2026-01-01}\n", "cron"),
    ],
)
def test_a_bad_file_is_refused_with_the_reason(
    tmp_path: Path, moto_queue: JobQueue, text: str, said: str
) -> None:
    path = tmp_path / "schedules.yaml"
    path.write_text(text)

    with pytest.raises(InvalidSchedule) as caught:
        moto_queue.schedules.sync(read_file(path))

    assert said in str(caught.value)
    assert all_items(moto_queue) == []


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "schedules.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidSchedule):
        read_file(path)


def test_what_could_not_be_applied_is_known_before_anything_changes(moto_queue: JobQueue) -> None:
    """An operator gave `b` a template whose place the declaration's new payload takes; `c` cannot be."""
    moto_queue.templates.create("t", "work")
    declared = {name: {"job_type": "work", "cron": "@daily", "payload": {"n": 1}} for name in "ab"}
    moto_queue.schedules.sync(declared)
    moto_queue.schedules.update("b", template="t", payload=None)
    changed = {name: {**each, "payload": {"n": 2}} for name, each in declared.items()}

    predicted = moto_queue.schedules.sync(changed, dry_run=True)
    done = moto_queue.schedules.sync(changed)

    assert told(predicted) == told(done) == [("a", "updated"), ("b", "updated")]
    seen = moto_queue.schedules.get("b")
    assert (seen.job_type, seen.template, seen.payload) == ("work", None, {"n": 2})
