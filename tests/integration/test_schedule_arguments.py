"""Every bad argument of a schedule is refused by name, and nothing is written."""

from datetime import timedelta
from typing import Any

import pytest

from dynajobs import InvalidJob, InvalidSchedule, JobQueue
from tests.support.firing import at
from tests.support.table import all_items
from tests.support.work import working

GOOD: dict[str, Any] = {"job_type": "work", "cron": "0 8 * * *"}
BAD: list[tuple[str, Any]] = [
    ("job_type", ""),
    ("job_type", "no spaces"),
    ("job_type", "x" * 129),
    ("job_type", 7),
    ("job_type", None),
    ("cron", None),
    ("cron", ""),
    ("cron", 5),
    ("cron", ["0 8 * * *"]),
    ("cron", "0 8 * *"),
    ("cron", "0 0 8 * * *"),
    ("cron", "@reboot"),
    ("cron", "0 0 30 2 *"),
    ("cron", "0 8 * * *\n0 9 * * *"),
    ("cron", "é 8 * * *"),
    ("timezone", "Mars/Phobos"),
    ("timezone", ""),
    ("timezone", None),
    ("timezone", 1),
    ("timezone", "../../etc/passwd"),
    ("payload", [1]),
    ("payload", "text"),
    ("payload", {"n": float("nan")}),
    ("payload", {"n": {1, 2}}),
    ("payload", {"n": "x" * 70_000}),
    ("payload", {"n": "\ud800"}),
    ("description", None),
    ("description", 7),
    ("description", "x" * 5000),
    ("description", "\ud800"),
    ("enabled", 1),
    ("enabled", None),
    ("enabled", "false"),
    ("priority", 4),
    ("priority", -1),
    ("priority", True),
    ("priority", 1.0),
    ("priority", None),
    ("max_attempts", 0),
    ("max_attempts", 101),
    ("max_attempts", True),
    ("max_attempts", "5"),
    ("catchup", "sometimes"),
    ("catchup", None),
    ("catchup", ["all"]),
    ("catchup_window", -1),
    ("catchup_window", timedelta(seconds=-1)),
    ("catchup_window", float("nan")),
    ("catchup_window", float("inf")),
    ("catchup_window", True),
    ("catchup_window", "1d"),
    ("catchup_window", None),
    ("overlap", "perhaps"),
    ("overlap", None),
    ("overlap", {}),
    ("param_overrides", {"n": 1}),
]
FIELDS = [
    ("60 * * * *", "minute"),
    ("*/0 * * * *", "minute"),
    ("5/15 * * * *", "minute"),
    ("H * * * *", "minute"),
    ("0 24 * * *", "hour"),
    ("0 22-2 * * *", "hour"),
    ("0 0 L * *", "day of month"),
    ("0 0 15W * *", "day of month"),
    ("0 0 ? * 1", "day of month"),
    ("0 0 0 * *", "day of month"),
    ("0 0 1 13 *", "month"),
    ("0 0 1 foo *", "month"),
    ("0 0 * * 8", "day of week"),
    ("0 0 * * 1#2", "day of week"),
    ("0 0 * * fri-mon", "day of week"),
]


def refusal(call: Any, *arguments: Any, **options: Any) -> InvalidSchedule:
    with pytest.raises(InvalidSchedule) as caught:
        call(*arguments, **options)
    assert isinstance(caught.value, ValueError)
    return caught.value


@pytest.mark.parametrize(("field", "value"), BAD)
def test_a_bad_argument_is_named(moto_queue: JobQueue, field: str, value: Any) -> None:
    schedules = moto_queue.schedules

    error = refusal(schedules.create, "s", **GOOD | {field: value})

    assert error.field == field
    assert field in str(error)
    assert all_items(moto_queue) == []
    made = schedules.create("s", **GOOD)
    assert refusal(schedules.update, "s", **{field: value}).field == field
    assert schedules.get("s") == made


@pytest.mark.parametrize("name", ["", "no/slash", "no space", "x" * 65, "é", "a\n", None, 7, "a:b", "a#b"])
def test_a_bad_name_is_refused(moto_queue: JobQueue, name: Any) -> None:
    assert refusal(moto_queue.schedules.create, name, **GOOD).field == "name"
    assert all_items(moto_queue) == []


def test_the_longest_name_is_taken(moto_queue: JobQueue) -> None:
    name = "Aa0_.-" + "x" * 58
    assert moto_queue.schedules.create(name, **GOOD).name == name


@pytest.mark.parametrize(("cron", "part"), FIELDS)
def test_the_message_says_which_of_the_five_fields_is_wrong(
    moto_queue: JobQueue, cron: str, part: str
) -> None:
    error = refusal(moto_queue.schedules.create, "s", "work", cron=cron)

    assert error.field == "cron"
    assert part in str(error)


def test_a_type_and_a_template_exclude_each_other(moto_queue: JobQueue) -> None:
    schedules = moto_queue.schedules
    moto_queue.templates.create("t", "work")

    for chosen in ({"job_type": "work", "template": "t"}, {}):
        assert refusal(schedules.create, "s", cron="@daily", **chosen).field in ("job_type", "template")
    with_payload = {"template": "t", "payload": {"n": 1}}
    assert refusal(schedules.create, "s", cron="@daily", **with_payload).field == "payload"
    for overrides in ([1], "text", {"n": float("inf")}, {"n": "x" * 70_000}):
        bad = {"template": "t", "param_overrides": overrides}
        assert refusal(schedules.create, "s", cron="@daily", **bad).field == "param_overrides"
    for name in ("no/slash", 7, ""):
        assert refusal(schedules.create, "s", cron="@daily", template=name).field == "template"
    assert schedules.list() == ()


def test_what_is_no_argument_is_refused(moto_queue: JobQueue) -> None:
    moto_queue.schedules.create("s", **GOOD)

    assert refusal(moto_queue.schedules.update, "s", crom="@daily").field == "crom"
    for computed in ("next_run_at", "total_runs", "last_run_at", "warnings", "version"):
        assert refusal(moto_queue.schedules.update, "s", **{computed: 1}).field == computed


@pytest.mark.parametrize("window", [0, 0.5, 86400, timedelta(days=400), timedelta(days=999_999_999)])
def test_any_window_will_do(moto_queue: JobQueue, window: Any) -> None:
    made = moto_queue.schedules.create("s", **GOOD, catchup_window=window)

    wanted = window if isinstance(window, timedelta) else timedelta(seconds=window)
    assert made.catchup_window == wanted
    assert moto_queue.schedules.get("s").catchup_window == wanted


@pytest.mark.parametrize("cron", ["@hourly", "@midnight", "@annually", "0 0 * * 7", "0 0 * jan-mar MON,fri"])
def test_names_and_nicknames_are_taken(moto_queue: JobQueue, cron: str) -> None:
    assert moto_queue.schedules.create("s", "work", cron=cron).cron == cron


@pytest.mark.parametrize("n", [0, -1, True, 1.5, None, 10**9])
def test_next_takes_a_sensible_number(moto_queue: JobQueue, n: Any) -> None:
    moto_queue.schedules.create("s", **GOOD)
    with pytest.raises(InvalidJob, match="n is"):
        moto_queue.schedules.next("s", n)


@pytest.mark.parametrize(
    ("start", "end", "field"),
    [
        (at(0).replace(tzinfo=None), at(1), "start"),
        (at(0), at(1).replace(tzinfo=None), "end"),
        ("2026-01-01", at(1), "start"),
        (at(0), None, "end"),
        (at(1), at(0), "end"),
    ],
)
def test_a_bad_span_is_refused(moto_queue: JobQueue, start: Any, end: Any, field: str) -> None:
    moto_queue.schedules.create("s", **GOOD)
    assert refusal(moto_queue.schedules.backfill, "s", start, end).field == field


def test_the_longest_window_there_is_can_be_read_back(moto_queue: JobQueue) -> None:
    made = moto_queue.schedules.create("s", "work", cron="@daily", catchup_window=timedelta.max)

    assert moto_queue.schedules.get("s").catchup_window == made.catchup_window == timedelta.max
    assert [each.name for each in moto_queue.schedules.list()] == ["s"]


def test_a_payload_that_no_longer_fits_keeps_nobody_from_disabling(
    moto_client: Any, moto_queue: JobQueue
) -> None:
    moto_queue.schedules.create("s", "work", cron="@daily", payload={"n": "no number"})
    queue = JobQueue(moto_queue.settings.table, client=moto_client, registry=working())

    assert not queue.schedules.disable("s").enabled
    assert queue.schedules.update("s", description="d").description == "d"
    with pytest.raises(InvalidSchedule, match="payload"):
        queue.schedules.update("s", payload={"n": "still none"})


def test_what_is_wrong_with_contents_is_said_without_them(moto_queue: JobQueue) -> None:
    secret = {"pin": "1234"}
    wrong: list[dict[str, Any]] = [
        {"template": "t", "payload": secret},
        {"job_type": "a", "param_overrides": secret},
    ]
    for options in wrong:
        with pytest.raises(InvalidSchedule) as refused:
            moto_queue.schedules.create("s", cron="@daily", **options)
        assert "1234" not in str(refused.value)
