"""Jobs as JSON: complete, masked, and true to what is stored."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from dynajobs import Job, Run, Settings, Stats, Status, make_dedup_key
from dynajobs.job import Page
from dynajobs.redact import mask, mask_json
from dynajobs.views import job_view, page_view, stats_view

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
SETTINGS = Settings(redact=("pin",))
FIELDS = """
id job_type payload status scheduled_for priority attempts max_attempts created_at updated_at finished_at
completed_at locked_by lock_expires_at last_error result progress cancel_requested org_id group_id
schedule_name triggered_by template retry_of retried_by undelivered version runs created
fingerprint dedup_key dedup_window
"""


def a_job(text: str = "{}", **values: object) -> Job:
    values = {"scheduled_for": NOON, "created_at": NOON, "payload": json.loads(text), **values}
    return Job(id="j", job_type="work", payload_json=text, **values)  # type: ignore[arg-type]


def test_a_view_has_the_documented_fields_in_their_order() -> None:
    assert list(job_view(a_job(), SETTINGS)) == FIELDS.split()
    assert list(job_view(a_job(), SETTINGS, detail=True)) == [*FIELDS.split(), "payload_json"]


def test_a_view_is_json_with_times_as_they_are_stored() -> None:
    run = Run(run_id="r", attempt=1, status="failed", started_at=NOON, log={"stream": "s"}, details={"n": 1})
    view = job_view(a_job(status=Status.FAILED, runs=(run,), updated_at=NOON), SETTINGS)

    assert view["scheduled_for"] == view["updated_at"] == "2026-11-18T12:00:00.000000Z"
    assert view["finished_at"] is None
    assert view["runs"] == [
        {
            "run_id": "r", "attempt": 1, "worker": None, "log": {"stream": "s"},
            "started_at": "2026-11-18T12:00:00.000000Z", "finished_at": None, "status": "failed",
            "message": None, "details": {"n": 1}, "error": None,
        }
    ]  # fmt: skip
    assert " ".join(view["runs"][0]) == (
        "run_id attempt worker log started_at finished_at status message details error"
    )
    assert json.loads(json.dumps(view, allow_nan=False)) == view


def test_the_dedup_key_is_told_as_it_was_given() -> None:
    view = job_view(a_job(dedup_pk="scheduled-job#scheduled-job#k", dedup_sk="2026-11-18"), SETTINGS)

    assert (view["dedup_key"], view["dedup_window"]) == ("scheduled-job#k", "2026-11-18")


def test_secrets_are_masked_wherever_json_is_shown() -> None:
    run = Run(run_id="r", attempt=1, details={"api_key": 1})
    job = a_job(
        '{"user": "u", "pin": 1}', result={"token": "t"}, progress={"secret": "s", "done": 1}, runs=(run,)
    )
    view = job_view(job, SETTINGS, detail=True)

    assert view["payload"] == {"user": "u", "pin": "•••"}
    assert view["payload_json"] == '{"user": "u", "pin": "•••"}'
    assert view["result"] == {"token": "•••"}
    assert view["progress"] == {"secret": "•••", "done": 1}
    assert view["runs"][0]["details"] == {"api_key": "•••"}


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("{}", "{}"),
        ('{ "b": 1.0,\n\t"a" :12345678901234567890 }', '{ "b": 1.0,\n\t"a" :12345678901234567890 }'),
        ('{"a": 1e5, "a": -0.0}', '{"a": 1e5, "a": -0.0}'),
        ('{"token" : 1.0, "x": 2}', '{"token" : "•••", "x": 2}'),
        ('{"token":{"a":["}",{}]}  , "x":[ ]}', '{"token":"•••"  , "x":[ ]}'),
        ('{"pass\\u0077ord": null, "n": "\\ud83d"}', '{"pass\\u0077ord": "•••", "n": "\\ud83d"}'),
        ('{"a": ["token", {"pin": "\\"}"}]}', '{"a": ["token", {"pin": "•••"}]}'),
        ('{"say": "\\"token\\": 1", "é": "\\\\"}', '{"say": "\\"token\\": 1", "é": "\\\\"}'),
        ('{"secret":[[[1],2]],"pwd":true}', '{"secret":"•••","pwd":"•••"}'),
    ],
)
def test_the_stored_text_survives_byte_for_byte_except_for_secrets(stored: str, shown: str) -> None:
    assert job_view(a_job(stored), SETTINGS, detail=True)["payload_json"] == shown
    assert json.loads(shown) == mask(json.loads(stored), SETTINGS.redact)


def test_depths_nobody_looks_into_are_masked_whole() -> None:
    text = '{"a":' + "[" * 150 + '"deep"' + "]" * 150 + ',"b":1}'

    assert json.loads(mask_json(text)) == mask(json.loads(text))
    assert "deep" not in mask_json(text)


def test_a_payload_whose_text_is_unknown_is_written_anew() -> None:
    job = Job(id="j", job_type="work", payload={"a": 1}, scheduled_for=NOON, created_at=NOON)

    assert job_view(job, SETTINGS, detail=True)["payload_json"] == '{"a":1}'


def test_numbers_too_great_for_python_are_null_and_stay_in_the_text() -> None:
    view = job_view(a_job('{"a": [1e999, {"b": -1e999}]}'), SETTINGS, detail=True)

    assert view["payload"] == {"a": [None, {"b": None}]}
    assert view["payload_json"] == '{"a": [1e999, {"b": -1e999}]}'


def test_a_page_and_counts() -> None:
    assert page_view(Page(), SETTINGS) == {"jobs": [], "cursor": None}
    assert page_view(Page(jobs=(a_job(),), cursor="c"), SETTINGS)["cursor"] == "c"
    counted = Stats(
        by_status={"pending": 2}, by_type={"work": 2}, oldest_due_age=timedelta(seconds=1.5), truncated=True
    )
    assert stats_view(counted) == {
        "by_status": {"pending": 2},
        "by_type": {"work": 2},
        "oldest_due_age": 1.5,
        "truncated": True,
    }
    assert stats_view(Stats(by_status={}, by_type={}, oldest_due_age=None, truncated=False)) == {
        "by_status": {},
        "by_type": {},
        "oldest_due_age": None,
        "truncated": False,
    }


def test_a_result_that_was_cut_tells_no_secret() -> None:
    cut = '{"password":"hunter2 and more","rest":"xxxx… [truncated, 20000 bytes]'
    view = job_view(a_job(result=cut, runs=(Run(run_id="r", attempt=1, details=cut),)), SETTINGS)

    assert "hunter2" not in str(view)
    assert view["result"].startswith('{"password":"•••","rest":')


def test_a_payload_that_nobody_understood_tells_no_secret() -> None:
    text = json.dumps({"item": {"payload": '{"password": "hunter2", "n": 1}', "SK": "scheduled#x"}})
    view = job_view(a_job(text), SETTINGS, detail=True)

    assert "hunter2" not in str(view)
    assert '\\"n\\": 1' in view["payload_json"]


def test_a_dedup_key_made_of_a_payload_tells_no_secret() -> None:
    key = make_dedup_key("sync", None, {"password": "hunter2", "user": "u1"})
    view = job_view(a_job(dedup_pk=f"scheduled-job#{key}", dedup_sk="active"), SETTINGS)

    assert view["dedup_key"] == 'sync::global::{"password":"•••","user":"u1"}'
