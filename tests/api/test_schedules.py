"""`/api/admin/schedules…`."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynajobs import JobQueue, ScheduleNotFound, Status
from tests.support.calling import Caller

SCHEDULES = "/api/admin/schedules"


@pytest.fixture
def name(name: str, queue: JobQueue) -> Iterator[str]:
    """A name that is free again afterwards."""
    yield name
    try:
        queue.schedules.delete(name)
    except ScheduleNotFound:
        return


@pytest.fixture
def made(api: Caller, name: str, kind: str) -> Any:
    body = {"name": name, "job_type": kind, "cron": "30 2 * * *", "timezone": "America/New_York"}
    return api.ok("POST", SCHEDULES, body, status=201)


def test_a_schedule_is_created_shown_and_listed(api: Caller, made: Any, name: str, kind: str) -> None:
    assert (made["name"], made["job_type"], made["enabled"]) == (name, kind, True)
    assert made["cron_words"] == "every day at 02:30"
    assert made["next_run_at"] > datetime.now(UTC).isoformat()
    assert made["warnings"]

    assert api.ok("GET", f"{SCHEDULES}/{name}") == made
    [listed] = [each for each in api.ok("GET", SCHEDULES)["schedules"] if each["name"] == name]
    assert listed == made | {"recent": []}


def test_every_argument_of_create(api: Caller, name: str, kind: str) -> None:
    view = api.ok(
        "POST",
        SCHEDULES,
        {
            "name": name,
            "job_type": kind,
            "cron": "@hourly",
            "payload": {"a": 1},
            "description": "what it is for",
            "enabled": False,
            "priority": 2,
            "max_attempts": 3,
            "catchup": "all",
            "catchup_window": 7200,
            "overlap": "skip",
        },
        status=201,
    )

    assert (view["enabled"], view["next_run_at"], view["priority"], view["max_attempts"]) == (
        False,
        None,
        2,
        3,
    )
    assert (view["catchup"], view["catchup_window"], view["overlap"]) == ("all", 7200, "skip")
    assert (view["payload"], view["description"]) == ({"a": 1}, "what it is for")


def test_a_name_that_is_taken(api: Caller, made: Any, name: str) -> None:
    body = {"name": name, "job_type": "other", "cron": "@daily"}

    assert api.refused("POST", SCHEDULES, body, status=409)["error"] == "AlreadyExists"
    assert api.ok("GET", f"{SCHEDULES}/{name}")["job_type"] == made["job_type"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"cron": "0 99 * * *"}, "cron"),
        ({"cron": "0 0 31 2 *"}, "cron"),
        ({"cron": ""}, "cron"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"payload": [1]}, "payload"),
        ({"enabled": "yes"}, "enabled"),
        ({"priority": 1.5}, "priority"),
        ({"catchup": "some"}, "catchup"),
        ({"overlap": None}, "overlap"),
        ({"catchup_window": -1}, "catchup_window"),
        ({"template": "t"}, "job_type"),
        ({"job_type": None}, "job_type"),
        ({"colour": "red"}, "colour"),
        ({"name": "two words"}, "name"),
    ],
)
def test_a_bad_argument_is_named(
    api: Caller, name: str, kind: str, change: dict[str, Any], field: str
) -> None:
    body = {"name": name, "job_type": kind, "cron": "@daily"} | change

    problem = api.refused("POST", SCHEDULES, body, status=422)

    details = problem["details"]
    assert field in [each["field"] for each in (details if isinstance(details, list) else [details])]
    assert api("GET", f"{SCHEDULES}/{name}").status == 404


def test_put_changes_what_it_names(api: Caller, made: Any, name: str) -> None:
    changed = api.ok(
        "PUT", f"{SCHEDULES}/{name}", {"cron": "0 5 * * *", "timezone": "UTC", "description": "d"}
    )
    same = api.ok("PUT", f"{SCHEDULES}/{name}", {})

    assert (changed["cron"], changed["timezone"], changed["job_type"]) == (
        "0 5 * * *",
        "UTC",
        made["job_type"],
    )
    assert changed["next_run_at"].endswith("T05:00:00.000000Z")
    assert same == changed
    problem = api.refused("PUT", f"{SCHEDULES}/{name}", {"cron": "x"}, status=422)
    assert problem["details"] == {"field": "cron"}
    api.refused("PUT", f"{SCHEDULES}/{name}", {"name": "other"}, status=422)


def test_disable_and_enable(api: Caller, made: Any, name: str) -> None:
    for _ in range(2):
        off = api.ok("POST", f"{SCHEDULES}/{name}/disable")
        assert (off["enabled"], off["next_run_at"]) == (False, None)
    on = api.ok("POST", f"{SCHEDULES}/{name}/enable")
    assert (on["enabled"], on["next_run_at"]) == (True, made["next_run_at"])


def test_a_run_by_hand_and_the_history_of_it(api: Caller, made: Any, name: str, queue: JobQueue) -> None:
    job_id = api.ok("POST", f"{SCHEDULES}/{name}/trigger", status=202)["job_id"]

    [run] = api.ok("GET", f"{SCHEDULES}/{name}/runs")["runs"]
    assert (run["job_id"], run["triggered_by"], run["outcome"], run["count"]) == (
        job_id,
        "manual",
        "queued",
        1,
    )
    [listed] = [each for each in api.ok("GET", SCHEDULES, recent=5)["schedules"] if each["name"] == name]
    assert [each["job_id"] for each in listed["recent"]] == [job_id]
    assert queue.cancel(job_id).status == Status.CANCELLED
    assert api.ok("GET", f"{SCHEDULES}/{name}")["next_run_at"] == made["next_run_at"]


@pytest.mark.usefixtures("made")
def test_history_page_by_page(api: Caller, name: str, queue: JobQueue) -> None:
    ids = [api.ok("POST", f"{SCHEDULES}/{name}/trigger", status=202)["job_id"] for _ in range(3)]

    first = api.ok("GET", f"{SCHEDULES}/{name}/runs", limit=2)
    rest = api.ok("GET", f"{SCHEDULES}/{name}/runs", limit=2, cursor=first["cursor"])

    assert [run["job_id"] for run in first["runs"] + rest["runs"]] == ids[::-1]
    assert rest["cursor"] is None
    for bad in ("nonsense", ""):
        api.refused("GET", f"{SCHEDULES}/{name}/runs", status=400, cursor=bad)
    for job_id in ids:
        queue.cancel(job_id)


@pytest.mark.usefixtures("made")
def test_coming_slots(api: Caller, name: str) -> None:
    slots = api.ok("GET", f"{SCHEDULES}/{name}/next", n=3)["next"]

    assert len(slots) == 3 and slots == sorted(slots)
    assert len(api.ok("GET", f"{SCHEDULES}/{name}/next")["next"]) == 5
    for bad in ("0", "1001", "many", ""):
        api.refused("GET", f"{SCHEDULES}/{name}/next", status=422, n=bad)


def test_slots_of_the_past_are_run(api: Caller, made: Any, name: str, queue: JobQueue) -> None:
    end = datetime.now(UTC)
    body = {"start": (end - timedelta(days=2)).isoformat(), "end": end.isoformat()}

    jobs = api.ok("POST", f"{SCHEDULES}/{name}/backfill", body)["job_ids"]

    assert len(jobs) == 2 and made["total_runs"] == 0
    assert api.ok("POST", f"{SCHEDULES}/{name}/backfill", body)["job_ids"] == []
    for job_id in jobs:
        queue.cancel(job_id)
    backwards = {"start": body["end"], "end": body["start"]}
    assert api.refused("POST", f"{SCHEDULES}/{name}/backfill", backwards, status=422)["details"]


def test_delete_leaves_the_history(api: Caller, made: Any, name: str, queue: JobQueue) -> None:
    job_id = api.ok("POST", f"{SCHEDULES}/{made['name']}/trigger", status=202)["job_id"]

    answer = api("DELETE", f"{SCHEDULES}/{name}")

    assert (answer.status, answer.text) == (204, "")
    api.refused("GET", f"{SCHEDULES}/{name}", status=404)
    api.refused("DELETE", f"{SCHEDULES}/{name}", status=404)
    assert len(api.ok("GET", f"{SCHEDULES}/{name}/runs")["runs"]) == 1
    queue.cancel(job_id)


@pytest.mark.parametrize(
    ("method", "verb", "body"),
    [
        ("GET", "", None),
        ("PUT", "", {"description": "d"}),
        ("POST", "/enable", None),
        ("POST", "/disable", None),
        ("POST", "/trigger", None),
        ("GET", "/runs", None),
        ("GET", "/next", None),
    ],
)
def test_a_schedule_that_is_not_there(api: Caller, name: str, method: str, verb: str, body: Any) -> None:
    assert api.refused(method, f"{SCHEDULES}/{name}{verb}", body, status=404)["error"] == "ScheduleNotFound"


def test_an_expression_is_tried(api: Caller) -> None:
    body = {"cron": "30 2 * * *", "timezone": "America/New_York", "n": 3}
    view = api.ok("POST", f"{SCHEDULES}/preview", body)

    assert view["cron_words"] == "every day at 02:30"
    assert len(view["next"]) == 3 and view["next"][0]["local"].endswith(("EST", "EDT"))
    assert view["per_day"] == 1
    assert any("does not exist" in warning for warning in view["warnings"])
    problem = api.refused("POST", f"{SCHEDULES}/preview", {"cron": "0 0 31 2 *"}, status=422)
    assert problem["details"] == {"field": "cron"}
