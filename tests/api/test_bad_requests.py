"""Whatever is sent, the answer is a clear refusal or what was asked for, and nothing is half-written."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynajobs import JobQueue, Settings
from dynajobs.http.function import lambda_handler
from dynajobs.testing import create_table
from tests.api.conftest import OPERATE, READ
from tests.support import engines
from tests.support.calling import Caller, in_process
from tests.support.engines import RunningEngine
from tests.support.serving import event
from tests.support.table import all_items

JOBS, SCHEDULES, TEMPLATES = "/api/admin/jobs", "/api/admin/schedules", "/api/admin/templates"
NASTY = [
    "\x00",
    "\x07\x1b[2J",
    "\u202etxt.exe",
    "\ud800",
    "😀" * 300,
    "a" * 400_000,
    "' OR 1=1 --",
    "<script>alert(1)</script>",
    "${jndi:ldap://x}",
    "../../etc/passwd",
    "job#p1",
    "scheduled#2026",
    "",
    " ",
]
NUMBERS = ["1e400", "-1e400", "1" * 5000, "0.1" + "0" * 400, "-0", "1E5", "9" * 25]


@pytest.mark.parametrize("text", NASTY, ids=lambda text: ascii(text)[:20])
@pytest.mark.parametrize(
    "field", ["job_type", "org_id", "group_id", "dedup_key", "dedup_window", "job_id", "run_at"]
)
def test_a_text_that_nobody_expected(local: Caller, moto_queue: JobQueue, field: str, text: str) -> None:
    body = {"job_type": "work", "dedup_key": "k", "delay": 60} | {field: text}
    if field == "run_at":
        del body["delay"]

    answer = local("POST", JOBS, body)

    assert answer.status in (201, 413, 422), answer
    stored = list(moto_queue.list())
    assert len(stored) == (answer.status == 201)
    if stored and field in ("org_id", "group_id"):
        assert getattr(stored[0], field) == text


@pytest.mark.parametrize("text", NASTY, ids=lambda text: ascii(text)[:20])
@pytest.mark.parametrize(
    "field", ["name", "job_type", "cron", "timezone", "description", "template", "catchup"]
)
def test_a_text_in_a_schedule_that_nobody_expected(
    local: Caller, moto_queue: JobQueue, field: str, text: str
) -> None:
    body = {"name": "s", "job_type": "work", "cron": "@daily"} | {field: text}

    answer = local("POST", SCHEDULES, body)

    assert answer.status in (201, 404, 413, 422), answer
    assert len(moto_queue.schedules.list()) == (answer.status == 201)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda text: text[:12])
@pytest.mark.parametrize("place", ["payload", "delay", "priority", "max_attempts"])
def test_a_number_beyond_all_bounds(local: Caller, moto_queue: JobQueue, place: str, number: str) -> None:
    value = f'{{"n": {number}}}' if place == "payload" else number
    raw = f'{{"job_type": "work", "{place}": {value}}}'

    answer = local("POST", JOBS, raw=raw.encode())

    assert answer.status in (201, 400, 422), answer
    assert len(moto_queue.list()) == (answer.status == 201)


@pytest.mark.parametrize("depth", [150, 250, 5_000, 100_000])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_data_nested_deeply(local: Caller, moto_queue: JobQueue, depth: int, brackets: str) -> None:
    opening = "[" if brackets == "[]" else '{"a":'
    inner = opening * depth + ("" if brackets == "[]" else "1") + brackets[1] * depth
    raw = f'{{"job_type": "work", "payload": {{"x": {inner}}}}}'

    answer = local("POST", JOBS, raw=raw.encode())

    assert answer.status == 201 if depth < 200 else answer.status in (400, 413, 422), answer
    assert len(moto_queue.list()) == (answer.status == 201)
    if answer.status == 201:
        assert local("GET", f"{JOBS}/{answer.json['id']}").status == 200


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"{", 400),
        (b"", 422),
        (b"NaN", 400),
        (b'{"job_type": NaN}', 400),
        (b'{"job_type": Infinity}', 400),
        (b"\xff\xfe", 400),
        (b'{"job_type": "\xc3"}', 400),
        (b"null", 422),
        (b"[]", 422),
        (b'"job"', 422),
        (b"1", 422),
        (b'{"job_type": "a"} {"job_type": "b"}', 400),
        (b"'{}'", 400),
        (b'{"job_type": "a",}', 400),
        (b"job_type=a&delay=5", 400),
        (b" " * 300_000, 413),
        (b'{"job_type": "work", "payload": {"x": "' + b"y" * 70_000 + b'"}}', 422),
    ],
)
def test_a_body_that_is_no_job(local: Caller, moto_queue: JobQueue, raw: bytes, status: int) -> None:
    local.refused("POST", JOBS, status=status, raw=raw)
    for content_type in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "nonsense",
    ):
        local.refused("POST", JOBS, status=status, raw=raw, headers={"Content-Type": content_type})
    assert not moto_queue.list()


@pytest.mark.parametrize(
    "body", [[{"job_type": "work"}], [{"job_type": "work"}, {"colour": "red"}], "work", 5, True]
)
def test_a_body_that_is_no_object(local: Caller, moto_queue: JobQueue, body: Any) -> None:
    assert local.refused("POST", JOBS, body, status=422)["message"] == "body must be a JSON object"
    assert not moto_queue.list()


@pytest.mark.parametrize("verb", ["retry", "cancel"])
def test_fields_that_a_path_does_not_know(local: Caller, moto_queue: JobQueue, verb: str) -> None:
    job = moto_queue.enqueue("work", delay=60)

    problem = local.refused("POST", f"{JOBS}/{job.id}/{verb}", {"dry_run": True}, status=422)

    assert problem["message"] == "dry_run is not known here"
    assert moto_queue.get(job).status == "pending"
    assert local("POST", f"{JOBS}/{job.id}/cancel", {}).status == 200


def test_slots_of_ancient_times(local: Caller, moto_queue: JobQueue) -> None:
    moto_queue.schedules.create("s", "work", cron="@daily")
    body = {"start": "0001-01-01T00:00:00Z", "end": "0001-01-02T00:00:00Z"}

    assert local.refused("POST", f"{SCHEDULES}/s/backfill", body, status=422)["details"] == {"field": "start"}


def test_a_body_is_json_whatever_it_is_called(local: Caller) -> None:
    raw = b'{"job_type": "work", "delay": 60}'
    for content_type in ("text/plain", "application/json; charset=utf-8", ""):
        headers = {"Content-Type": content_type}
        assert local("POST", JOBS, raw=raw, headers=headers).status == 201


def test_an_encoding_that_is_none(moto_queue: JobQueue) -> None:
    handler = lambda_handler(moto_queue, tokens=lambda: {"operate": (OPERATE,)})
    asked = event("POST", JOBS, headers={"Authorization": f"Bearer {OPERATE}"}, body="not base64!")
    asked["isBase64Encoded"] = True

    assert handler(asked, None)["statusCode"] == 400


@pytest.mark.parametrize(
    "asked", [None, {}, [], {"requestContext": None, "headers": None}, {"rawPath": None}]
)
def test_an_event_that_is_none(moto_queue: JobQueue, asked: Any) -> None:
    handler = lambda_handler(moto_queue, tokens=lambda: {"operate": (OPERATE,)}, sleep=lambda _: None)

    assert handler(asked, None)["statusCode"] == 401


@pytest.mark.parametrize(
    "query",
    [
        "state=running",
        "state=",
        "type=",
        "type=a%20b",
        "org_id=",
        "schedule_name=",
        "limit=0",
        "limit=201",
        "limit=ten",
        "limit=",
        "limit=1&limit=2",
        "offset=5",
        "State=pending",
        "%00=1",
    ],
)
def test_a_filter_that_is_none(api: Caller, query: str) -> None:
    api.refused("GET", f"{JOBS}?{query}", status=422)


@pytest.mark.parametrize("cursor", ["", "x", "%00", "AAAA", "W10", "WyJhIiwgImIiXQ", "a" * 5000])
def test_a_cursor_that_is_none(api: Caller, cursor: str) -> None:
    assert api.refused("GET", f"{JOBS}?cursor={cursor}", status=400)["error"] == "InvalidCursor"


def test_a_cursor_of_another_list(local: Caller, moto_queue: JobQueue) -> None:
    moto_queue.enqueue_many("work", [{}, {}], delay=60)
    cursor = local.ok("GET", JOBS, limit=1)["cursor"]

    problem = local.refused("GET", f"{JOBS}?state=pending&cursor={cursor}", status=400)

    assert "other filters" in problem["message"]


@pytest.mark.parametrize(
    ("method", "path", "status", "allowed"),
    [
        ("GET", "/api/admin", 404, None),
        ("GET", "/api/admin/jobs/", 404, None),
        ("GET", "//api/admin/jobs", 404, None),
        ("GET", "/api/admin/jobs/stats%0A", 404, None),
        ("GET", "/api/admin/jobs/a/b/c", 404, None),
        ("PATCH", "/api/admin/jobs", 405, "GET, POST"),
        ("GET", "/api/admin/jobs/bulk", 405, "POST"),
        ("DELETE", "/api/admin/jobs/stats", 405, "GET"),
        ("HEAD", "/api/admin/jobs", 405, "GET, POST"),
        ("OPTIONS", "/api/admin/schedules/preview", 405, "POST"),
        ("POST", "/health", 405, "GET"),
        ("POST", "/openapi.json", 405, "GET"),
        ("GET", "/api/jobs/tick", 405, "POST"),
    ],
)
def test_a_path_or_method_that_is_none(
    api: Caller, method: str, path: str, status: int, allowed: str | None
) -> None:
    answer = api(method, path)

    assert (answer.status, answer.headers.get("Allow")) == (status, allowed)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    *(
        "job_type",
        "payload",
        "run_at",
        "delay",
        "priority",
        "max_attempts",
        "org_id",
        "group_id",
        "dedup_key",
    ),
    *(
        "dedup_window",
        "job_id",
        "name",
        "cron",
        "timezone",
        "template",
        "param_overrides",
        "enabled",
        "catchup",
    ),
    *("overlap", "action", "ids", "filter", "before", "dry_run", "by", "ttl", "start", "end", "n"),
]
PATHS = [
    ("POST", JOBS),
    ("POST", f"{JOBS}/bulk"),
    ("POST", f"{JOBS}/0198f3e0-0000-7000-8000-000000000000/reschedule"),
    ("POST", SCHEDULES),
    ("PUT", f"{SCHEDULES}/there"),
    ("POST", f"{SCHEDULES}/preview"),
    ("POST", f"{SCHEDULES}/there/backfill"),
    ("POST", TEMPLATES),
    ("PUT", f"{TEMPLATES}/there"),
    ("POST", f"{TEMPLATES}/there/enqueue"),
    ("POST", "/api/admin/reservation"),
]


@pytest.mark.engine
@pytest.mark.xdist_group("dynoxide")
def test_made_up_bodies_never_meet_a_fault_of_ours(
    dynoxide: RunningEngine, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynajobs.http.rate.AT_ONCE", 1e9)
    client = engines.client(dynoxide)
    create_table(client, table_name)
    queue = JobQueue(table_name, client=client, settings=Settings())
    queue.templates.create("there", "work")
    queue.schedules.create("there", "work", cron="@daily")
    caller = Caller(in_process(lambda_handler(queue, tokens=lambda: {"operate": (OPERATE,)})), OPERATE, READ)

    @settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
    @given(st.sampled_from(PATHS), st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=5) | JSON)
    def send(where: tuple[str, str], body: Any) -> None:
        answer = caller(*where, raw=json.dumps(body).encode())
        assert answer.status < 500, answer

    send()
    # Whatever came in can be read again.
    listed = list(queue.list(limit=200))
    assert len(listed) == sum(len(all_items(queue, lane)) for lane in ("job", "job#p1", "job#p2", "job#p3"))
    assert queue.schedules.list() and queue.templates.list()
