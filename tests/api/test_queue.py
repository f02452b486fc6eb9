"""Templates, the reservation, the audit trail, where one is, a poll by hand."""

from collections.abc import Iterator
from typing import Any

import pytest

from dynajobs import JobQueue, Settings, TemplateNotFound
from dynajobs.http.function import lambda_handler
from dynajobs.testing import Clock
from dynajobs.version import VERSION
from tests.api.conftest import OPERATE, READ
from tests.support.answering import answering
from tests.support.calling import Caller, in_process

TEMPLATES, SCHEDULES = "/api/admin/templates", "/api/admin/schedules"
RESERVATION, AUDIT = "/api/admin/reservation", "/api/admin/audit"


@pytest.fixture
def template(api: Caller, name: str, kind: str, queue: JobQueue) -> Iterator[Any]:
    body = {"name": name, "job_type": kind, "payload": {"days": 7}, "priority": 1}
    yield api.ok("POST", TEMPLATES, body, status=201)
    try:
        queue.templates.delete(name)
    except TemplateNotFound:
        return


def test_a_template_from_beginning_to_end(api: Caller, template: Any, name: str, kind: str) -> None:
    assert template == {
        "name": name,
        "job_type": kind,
        "payload": {"days": 7},
        "priority": 1,
        "max_attempts": None,
        "description": "",
        "used_by": [],
    }
    assert api.ok("GET", f"{TEMPLATES}/{name}") == template
    assert template in api.ok("GET", TEMPLATES)["templates"]
    changed = api.ok("PUT", f"{TEMPLATES}/{name}", {"description": "weekly", "max_attempts": 2})
    assert changed == template | {"description": "weekly", "max_attempts": 2}

    body = {"param_overrides": {"to": "ops"}, "delay": 3600}
    job = api.ok("POST", f"{TEMPLATES}/{name}/enqueue", body, status=201)
    assert (job["template"], job["payload"], job["priority"]) == (name, {"days": 7, "to": "ops"}, 1)

    answer = api("DELETE", f"{TEMPLATES}/{name}")
    assert (answer.status, answer.text) == (204, "")
    assert api.refused("GET", f"{TEMPLATES}/{name}", status=404)["error"] == "TemplateNotFound"


def test_a_template_in_use_stays(api: Caller, template: Any, name: str, queue: JobQueue) -> None:
    api.ok("POST", SCHEDULES, {"name": name, "template": name, "cron": "@yearly"}, status=201)
    try:
        assert api.refused("DELETE", f"{TEMPLATES}/{name}", status=409)["error"] == "TemplateInUse"
        assert api.ok("GET", f"{TEMPLATES}/{name}") == template | {"used_by": [name]}
    finally:
        queue.schedules.delete(name)


def test_what_is_wrong_with_a_template(api: Caller, template: Any) -> None:
    assert api.refused("POST", TEMPLATES, template_body(template), status=409)["error"] == "AlreadyExists"
    api.refused("POST", TEMPLATES, {"name": "a b", "job_type": "x"}, status=422)
    api.refused("POST", TEMPLATES, {"name": "x"}, status=422)
    api.refused("PUT", f"{TEMPLATES}/{template['name']}", {"used_by": []}, status=422)
    api.refused("POST", SCHEDULES, {"name": "x", "template": "nowhere", "cron": "@daily"}, status=404)
    api.refused("POST", f"{TEMPLATES}/nowhere/enqueue", {}, status=404)


def template_body(template: Any) -> dict[str, Any]:
    return {"name": template["name"], "job_type": template["job_type"]}


def test_one_has_the_queue_to_oneself(api: Caller) -> None:
    taken = api.ok("POST", RESERVATION, {"by": "deploy", "ttl": 60}, status=201)
    try:
        assert (taken["by"], taken["status"]) == ("deploy", "active")
        busy = api.refused("POST", RESERVATION, {"by": "other"}, status=409)
        assert busy["error"] == "ReservationBusy" and "deploy" in busy["message"]
        seen = api.ok("GET", RESERVATION)
        assert seen == {name: value for name, value in taken.items() if name != "token"} | {"in_flight": None}
    finally:
        released = api.ok("DELETE", RESERVATION)
    assert released["status"] == "released"


def test_a_reservation_is_ended_by_its_token_only_if_one_is_given(local: Caller) -> None:
    taken = local.ok("POST", RESERVATION, {"by": "a"}, status=201)

    wrong = local("DELETE", f"{RESERVATION}?token=another")
    right = local("DELETE", f"{RESERVATION}?token={taken['token']}")

    assert (wrong.json["status"], right.json["status"]) == ("active", "released")
    for body in ({}, {"by": ""}, {"by": "a", "ttl": 0}, {"by": "a", "ttl": "long"}, {"by": "a", "for": 1}):
        local.refused("POST", RESERVATION, body, status=422)


def test_who_did_what_is_written_down(api: Caller, kind: str, name: str) -> None:
    headers = {"X-Dynajobs-Actor": "Ada Lovelace"}
    made = api("POST", "/api/admin/jobs", {"job_type": kind, "delay": 3600}, headers=headers).json
    api("POST", f"/api/admin/jobs/{made['id']}/cancel", headers=headers)
    api("POST", f"/api/admin/jobs/{made['id']}/reschedule", {"delay": 5}, headers=headers)
    api("POST", f"{SCHEDULES}/{name}/disable")

    entries = api.ok("GET", AUDIT, limit=200)["entries"]

    missing, moved, cancelled, enqueued = [
        each for each in entries if each["target"] in (kind, made["id"], name)
    ][:4]
    assert (enqueued["action"], enqueued["who"], enqueued["via"], enqueued["outcome"]) == (
        "jobs.enqueue",
        "Ada Lovelace",
        "api",
        "done",
    )
    assert enqueued["details"]["job_id"] == made["id"]
    assert (cancelled["action"], cancelled["outcome"]) == ("jobs.cancel", "done")
    assert (moved["action"], moved["outcome"]) == ("jobs.reschedule", "InvalidTransition")
    assert (missing["action"], missing["who"], missing["outcome"]) == (
        "schedules.disable",
        "operate token",
        "ScheduleNotFound",
    )


def test_the_audit_trail_page_by_page_and_never_a_payload(local: Caller, kind: str) -> None:
    for n in range(5):
        body = {"job_type": kind, "payload": {"secret thing": f"s3cr3t {n}"}, "delay": 60}
        local.ok("POST", "/api/admin/jobs", body, status=201)
    schedule = {"name": "s", "job_type": kind, "cron": "@daily", "payload": {"x": "s3cr3t"}}
    local.ok("POST", SCHEDULES, schedule, status=201)

    seen: list[Any] = []
    cursor: dict[str, Any] = {}
    while True:
        answer = local("GET", AUDIT, limit=2, **cursor)
        assert "s3cr3t" not in answer.text
        seen += answer.json["entries"]
        if answer.json["cursor"] is None or len(seen) > 6:
            break
        cursor = {"cursor": answer.json["cursor"]}

    times = [each["at"] for each in seen]
    assert len(seen) == 6 and times == sorted(times, reverse=True)
    for bad in ("nonsense", "", "AAAA", "eA"):
        local.refused("GET", AUDIT, status=400, cursor=bad)


def test_where_this_is(api: Caller, queue: JobQueue) -> None:
    view = api.ok("GET", "/api/admin/about")

    assert (view["table"], view["region"], view["version"]) == (queue.settings.table, "us-east-1", VERSION)
    assert (view["role"], view["actor"]) == ("operate", "operate token")
    assert view["settings"]["retention_days"] == 30
    reader = api("GET", "/api/admin/about", token=api.read_token).json
    assert (reader["role"], reader["actor"]) == ("read", "read token")


def test_a_poll_by_hand(api: Caller) -> None:
    done = api.ok("POST", "/api/jobs/tick")

    assert done["ok"] is True
    assert done["claimed"] >= 0 and done["fired"] >= 0


def test_a_poll_without_a_poller_or_with_one_that_fails(moto_queue: JobQueue, monkeypatch: Any) -> None:
    def caller(**settings: Any) -> Caller:
        queue = JobQueue(
            moto_queue.settings.table, client=moto_queue.store.table.client, settings=Settings(**settings)
        )
        handler = lambda_handler(queue, tokens=lambda: {"operate": (OPERATE,)})
        return Caller(in_process(handler), OPERATE, READ)

    assert "DYNAJOBS_POLLER" in caller().refused("POST", "/api/jobs/tick", status=503)["message"]
    with answering({"errorType": "Oops", "errorMessage": "it fell"}, X_Amz_Function_Error="Unhandled") as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", url)
        caller(poller="p").refused("POST", "/api/jobs/tick", status=503)


def test_health_says_when_the_poller_fell_silent(
    moto_client: Any, moto_queue: JobQueue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynajobs.http.function.HEALTH_LASTS", -1)
    table = moto_queue.settings.table
    queue = JobQueue(table, client=moto_client, clock=clock, settings=Settings())
    caller = Caller(in_process(lambda_handler(queue, tokens=lambda: {"operate": (OPERATE,)})), OPERATE, READ)

    def health() -> tuple[int, Any]:
        answer = caller("GET", "/health", token=None)
        return answer.status, answer.json

    assert health() == (503, {"ok": False, "last_tick_at": None, "oldest_due_age": None})
    queue.store.control.tell_pass(clock(), 0)
    queue.enqueue("a", delay=60)
    assert health()[0] == 200
    clock.advance(120)
    assert health() == (
        200,
        {"ok": True, "last_tick_at": "2026-01-01T00:00:00.000000Z", "oldest_due_age": 60},
    )
    clock.advance(1)
    status, told = health()
    assert (status, told["ok"], told["oldest_due_age"]) == (503, False, 61)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_secrets_that_were_shown_as_masks_stay_what_they_are(local: Caller, moto_queue: JobQueue) -> None:
    secret = {"password": "hunter2", "to": "ops", "hooks": [{"token": "t1"}]}
    shown = local.ok("POST", TEMPLATES, {"name": "t", "job_type": "a", "payload": secret}, status=201)
    assert shown["payload"] == {"password": "•••", "to": "ops", "hooks": [{"token": "•••"}]}

    local.ok("PUT", f"{TEMPLATES}/t", {"payload": shown["payload"] | {"to": "sales"}})
    local.ok(
        "POST", SCHEDULES, {"name": "s", "job_type": "a", "cron": "@daily", "payload": secret}, status=201
    )
    local.ok("PUT", f"{SCHEDULES}/s", {"payload": shown["payload"] | {"password": "new"}})

    assert moto_queue.templates.get("t").payload == secret | {"to": "sales"}
    assert moto_queue.schedules.get("s").payload == secret | {"password": "new"}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/admin/jobs", {"job_type": "a", "payload": {"password": "•••"}}),
        ("POST", TEMPLATES, {"name": "new", "job_type": "a", "payload": {"password": "•••"}}),
        ("PUT", f"{TEMPLATES}/t", {"payload": {"api_key": "•••"}}),
        ("POST", f"{TEMPLATES}/t/enqueue", {"param_overrides": {"password": "•••"}}),
        ("POST", SCHEDULES, {"name": "s", "job_type": "a", "cron": "@daily", "payload": {"pwd": "•••"}}),
    ],
)
def test_a_mask_is_never_stored_in_a_secrets_place(
    local: Caller, moto_queue: JobQueue, method: str, path: str, body: dict[str, Any]
) -> None:
    moto_queue.templates.create("t", "a")

    assert (
        "which stands for a value that is not shown"
        in local.refused(method, path, body, status=422)["message"]
    )
    assert not moto_queue.list() and not moto_queue.schedules.list()
