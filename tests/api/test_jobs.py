"""`/api/admin/jobs…`: what an operator does first, second, and when it is refused."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynajobs import Job, JobQueue
from tests.support.calling import Caller

JOBS = "/api/admin/jobs"
HOUR = 3600
UNKNOWN = "0198f3e0-0000-7000-8000-000000000000"


def test_a_job_is_enqueued_with_every_option(api: Caller, queue: JobQueue, kind: str) -> None:
    view = api.ok(
        "POST",
        JOBS,
        {
            "job_type": kind,
            "payload": {"user_id": "u1"},
            "delay": HOUR,
            "priority": 2,
            "max_attempts": 7,
            "org_id": "acme",
            "group_id": "g",
            "dedup_key": kind,
            "dedup_window": "w",
        },
        status=201,
    )

    job = queue.get(view["id"])
    assert (job.job_type, job.payload, job.priority, job.max_attempts) == (kind, {"user_id": "u1"}, 2, 7)
    assert (job.org_id, job.group_id) == ("acme", "g")
    assert job.scheduled_for - job.created_at == timedelta(hours=1)
    assert (view["created"], view["status"], view["attempts"]) == (True, "pending", 0)
    assert (view["dedup_key"], view["dedup_window"]) == (kind, "w")


def test_a_duplicate_is_the_job_that_is_there(api: Caller, kind: str) -> None:
    body = {"job_type": kind, "delay": HOUR, "dedup_key": kind}
    first = api.ok("POST", JOBS, body, status=201)

    again = api.ok("POST", JOBS, body, status=200)

    assert (again["id"], again["created"]) == (first["id"], False)


def test_a_time_is_taken_with_any_offset(api: Caller, kind: str) -> None:
    view = api.ok("POST", JOBS, {"job_type": kind, "run_at": "2030-01-01T01:00:00+01:00"}, status=201)

    assert view["scheduled_for"] == "2030-01-01T00:00:00.000000Z"


def test_a_payload_is_shown_byte_for_byte_except_for_secrets(api: Caller, kind: str) -> None:
    raw = (
        '{"job_type": "' + kind + '", "delay": 3600, '
        '"payload": {"big": 12345678901234567890, "one": 1.0, "password": "hunter2", "é": "✓"}}'
    )
    made = api("POST", JOBS, raw=raw.encode())
    assert made.status == 201 and "hunter2" not in made.text

    answer = api("GET", f"{JOBS}/{made.json['id']}")

    assert "hunter2" not in answer.text
    text = answer.json["payload_json"]
    assert text == '{"big":12345678901234567890,"one":1.0,"password":"•••","é":"✓"}'
    assert "12345678901234567890" in answer.text


def test_lists_are_filtered_and_paged(api: Caller, queue: JobQueue, kind: str) -> None:
    made = [
        queue.enqueue(kind, {"n": n}, delay=HOUR + n, org_id="even" if n % 2 == 0 else "odd")
        for n in range(7)
    ]
    seen: list[str] = []
    cursor: dict[str, Any] = {}
    for _ in range(10):
        page = api.ok("GET", JOBS, type=kind, state="pending", limit=3, **cursor)
        assert len(page["jobs"]) <= 3
        seen += [job["id"] for job in page["jobs"]]
        if page["cursor"] is None:
            break
        cursor = {"cursor": page["cursor"]}

    assert seen == [job.id for job in made]
    odd = api.ok("GET", JOBS, type=kind, org_id="odd")["jobs"]
    assert [job["payload"]["n"] for job in odd] == [1, 3, 5]
    assert api.ok("GET", JOBS, type=kind, state="completed") == {"jobs": [], "cursor": None}


def test_finished_jobs_come_newest_first(api: Caller, run: Callable[..., Job], kind: str) -> None:
    ended = [run(), run("discard"), run()]

    found = api.ok("GET", JOBS, type=kind)["jobs"]

    assert [job["id"] for job in found] == [job.id for job in reversed(ended)]
    [dead] = api.ok("GET", JOBS, type=kind, state="dead_letter")["jobs"]
    assert dead["fingerprint"]
    assert api.ok("GET", JOBS, fingerprint=dead["fingerprint"], type=kind)["jobs"] == [dead]


def test_a_job_in_detail(api: Caller, run: Callable[..., Job]) -> None:
    job = run("discard")

    view = api.ok("GET", f"{JOBS}/{job.id}")

    assert (view["status"], view["id"], view["payload_json"]) == ("dead_letter", job.id, '{"do":"discard"}')
    [ended] = view["runs"]
    assert (ended["status"], ended["attempt"], ended["worker"]) == ("discarded", 1, "here")


@pytest.mark.parametrize("job_id", [UNKNOWN, "7", "no-job", "%00", "a" * 500])
@pytest.mark.parametrize(
    ("method", "verb"),
    [("GET", ""), ("GET", "/why"), ("POST", "/retry"), ("POST", "/cancel"), ("POST", "/reschedule")],
)
def test_a_job_that_is_not_there(api: Caller, method: str, verb: str, job_id: str) -> None:
    body = {"delay": 1} if verb == "/reschedule" else None
    problem = api.refused(method, f"{JOBS}/{job_id}{verb}", body, status=404)

    assert problem["error"] in ("JobNotFound", "NotFound")


def test_retry_makes_one_new_job(api: Caller, run: Callable[..., Job], queue: JobQueue) -> None:
    dead = run("discard")

    new = api.ok("POST", f"{JOBS}/{dead.id}/retry", status=201)
    again = api.ok("POST", f"{JOBS}/{dead.id}/retry", status=200)

    assert (new["retry_of"], new["created"], again["created"]) == (dead.id, True, False)
    assert again["id"] == new["id"]
    assert queue.get(dead.id).retried_by == new["id"]
    queue.cancel(new["id"])


def test_cancel_waits_for_nobody_and_asks_who_runs(
    api: Caller, queue: JobQueue, kind: str, run: Callable[..., Job]
) -> None:
    waiting = queue.enqueue(kind, delay=HOUR)

    assert api.ok("POST", f"{JOBS}/{waiting.id}/cancel")["status"] == "cancelled"
    assert api.ok("POST", f"{JOBS}/{waiting.id}/cancel")["status"] == "cancelled"
    done = run()
    problem = api.refused("POST", f"{JOBS}/{done.id}/cancel", status=409)
    assert problem["error"] == "InvalidTransition"
    assert problem["details"] == {"id": done.id, "status": "completed"}


def test_a_running_job_is_asked_to_stop(api: Caller, queue: JobQueue, kind: str) -> None:
    job = queue.enqueue(kind, priority=3)
    begun = begin(queue, job)

    view = api.ok("POST", f"{JOBS}/{begun.id}/cancel", status=202)

    assert (view["status"], view["cancel_requested"]) == ("in_progress", True)
    why = api.ok("GET", f"{JOBS}/{begun.id}/why")
    assert why["sentence"].startswith("It runs, and was asked to stop")


def begin(queue: JobQueue, job: Job) -> Job:
    from dynajobs import lifecycle

    now = queue.now()
    seen = queue.store.find(job.id)
    claimed = lifecycle.claim(seen.job, now, token="t", lease=timedelta(minutes=1), max_attempts=5)
    begun = lifecycle.begin(
        claimed, now, worker="here", log=None, max_attempts=5, until=now + timedelta(minutes=1)
    )
    assert queue.store.claim(seen, begun)
    return begun


def test_a_waiting_job_is_moved(api: Caller, queue: JobQueue, kind: str) -> None:
    job, other = queue.enqueue(kind, delay=HOUR), queue.enqueue(kind, delay=HOUR, priority=1)

    moved = api.ok("POST", f"{JOBS}/{job.id}/reschedule", {"run_at": "2031-01-01T00:00:00Z", "priority": 3})
    assert (moved["scheduled_for"], moved["priority"]) == ("2031-01-01T00:00:00.000000Z", 3)
    ahead = api.ok("POST", f"{JOBS}/{job.id}/reschedule", {"before": other.id})

    assert ahead["priority"] == 1
    assert [each.id for each in queue.list(job_type=kind)] == [job.id, other.id]


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "nothing to change"),
        ({"delay": 1, "run_at": "2031-01-01T00:00:00Z"}, "both given"),
        ({"delay": 1, "before": UNKNOWN}, "before"),
        ({"priority": 4}, "priority"),
        ({"when": "soon"}, "when"),
    ],
)
def test_a_move_that_makes_no_sense(
    api: Caller, queue: JobQueue, kind: str, body: dict[str, Any], word: str
) -> None:
    job = queue.enqueue(kind, delay=HOUR)

    assert word in api.refused("POST", f"{JOBS}/{job.id}/reschedule", body, status=422)["message"]
    assert queue.get(job).scheduled_for == job.scheduled_for


def test_an_id_that_exists_is_refused(api: Caller, queue: JobQueue, kind: str) -> None:
    job = queue.enqueue(kind, delay=HOUR)

    problem = api.refused("POST", JOBS, {"job_type": kind, "job_id": job.id}, status=422)

    assert "exists" in problem["message"]


def test_counts(api: Caller, queue: JobQueue, kind: str, run: Callable[..., Job]) -> None:
    queue.enqueue(kind, delay=HOUR)
    run()

    view = api.ok("GET", f"{JOBS}/stats")

    assert view["by_type"][kind] == 2
    assert view["by_status"]["pending"] >= 1 and view["by_status"]["completed"] >= 1


def test_why_a_job_waits(api: Caller, queue: JobQueue, kind: str) -> None:
    later = queue.enqueue(kind, delay=HOUR)

    view = api.ok("GET", f"{JOBS}/{later.id}/why")

    assert view["sentence"].startswith("It is due in ")
    assert {check["name"] for check in view["checks"]} >= {
        "due",
        "handler",
        "reservation",
        "poller",
        "capacity",
    }
    assert next(check["name"] for check in view["checks"] if check["ok"] is False) == "due"


def test_errors_are_grouped(api: Caller, run: Callable[..., Job], kind: str) -> None:
    first = run("discard")
    for _ in range(2):
        run("discard")

    [group] = [each for each in api.ok("GET", "/api/admin/errors")["groups"] if each["job_types"] == [kind]]

    assert (group["dead_letters"], group["failed"], group["hour"], sum(group["bars"])) == (3, 0, 3, 3)
    assert group["fingerprint"] == first.fingerprint


def test_many_are_previewed_then_changed_then_left_alone(
    api: Caller, run: Callable[..., Job], queue: JobQueue, kind: str
) -> None:
    dead = [run("discard") for _ in range(3)]
    request = {"action": "retry", "filter": {"state": "dead_letter", "type": kind}}

    preview = api.ok("POST", f"{JOBS}/bulk", request | {"dry_run": True})
    late = run("discard")
    done = api.ok("POST", f"{JOBS}/bulk", request | {"before": preview["before"], "idempotency_key": "k"})
    again = api.ok("POST", f"{JOBS}/bulk", request | {"before": preview["before"], "idempotency_key": "k"})

    assert (preview["eligible"], preview["by_status"], preview["truncated"]) == (3, {"dead_letter": 3}, False)
    assert len(preview["samples"]) == 3
    assert (done["done"], done["skipped"], done["cursor"]) == (3, {"it is newer": 1}, None)
    assert (again["done"], again["already"]) == (0, 3)
    made = [queue.get(each["job_id"]) for each in done["results"] if each["outcome"] == "done"]
    assert {job.retry_of for job in made} == {job.id for job in dead}
    assert queue.get(late.id).retried_by is None
    for job in made:
        queue.cancel(job)


def test_many_are_named_one_by_one(api: Caller, queue: JobQueue, kind: str) -> None:
    jobs = [queue.enqueue(kind, delay=HOUR) for _ in range(3)]
    ids = [job.id for job in jobs]

    view = api.ok("POST", f"{JOBS}/bulk", {"action": "cancel", "ids": [*ids[:2], UNKNOWN]})

    assert (view["done"], view["skipped"]) == (2, {"it is gone": 1})
    assert [queue.get(job_id).status for job_id in ids] == ["cancelled", "cancelled", "pending"]


def test_a_bulk_call_changes_a_hundred_and_says_where_to_go_on(
    local: Caller, moto_queue: JobQueue, kind: str
) -> None:
    moto_queue.enqueue_many(kind, [{"n": n} for n in range(130)], delay=HOUR)
    request = {"action": "cancel", "filter": {"type": kind}}

    first = local.ok("POST", f"{JOBS}/bulk", request)
    second = local.ok(
        "POST", f"{JOBS}/bulk", request | {"cursor": first["cursor"], "before": first["before"]}
    )

    assert (first["done"], second["done"], second["cursor"]) == (100, 30, None)
    assert not moto_queue.list(job_type=kind, status="pending")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"action": "delete", "filter": {}},
        {"action": "retry"},
        {"action": "retry", "ids": [], "filter": None},
        {"action": "retry", "ids": ["a"] * 1001},
        {"action": "retry", "ids": ["a"], "filter": {}},
        {"action": "retry", "filter": {"status": "failed"}},
        {"action": "retry", "filter": {"org_id": ""}},
        {"action": "cancel", "filter": {}},
        {"action": "cancel", "filter": {"state": "pending", "type": None}},
    ],
)
def test_a_bulk_call_that_makes_no_sense(api: Caller, body: dict[str, Any]) -> None:
    api.refused("POST", f"{JOBS}/bulk", body, status=422)


def test_a_bad_cursor_of_a_bulk_call(api: Caller) -> None:
    choices: list[dict[str, Any]] = [{"ids": [UNKNOWN]}, {"filter": {"type": "a"}}]
    for chosen in choices:
        request = {"action": "cancel", "cursor": "nonsense", **chosen}
        assert api.refused("POST", f"{JOBS}/bulk", request, status=400)["error"] == "InvalidCursor"


def test_answers_tell_what_they_cost_and_when(api: Caller) -> None:
    answer = api("GET", f"{JOBS}/stats")

    assert float(answer.headers["X-Dynajobs-Read-Units"]) > 0
    assert answer.headers["X-Dynajobs-Write-Units"] == "0"
    told = datetime.fromisoformat(answer.headers["X-Dynajobs-Time"])
    assert abs(datetime.now(UTC) - told) < timedelta(minutes=2)
    assert answer.headers["X-Request-Id"]


def test_a_long_answer_is_compressed_for_who_can_read_it(
    local: Caller, moto_queue: JobQueue, kind: str
) -> None:
    moto_queue.enqueue_many(kind, [{"n": n} for n in range(20)], delay=HOUR)

    plain = local("GET", JOBS)
    packed = local("GET", JOBS, headers={"Accept-Encoding": "gzip, br"})

    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert packed.json == plain.json
