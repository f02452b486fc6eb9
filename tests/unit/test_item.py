"""A job reads back from its item as it was; of what others wrote, what can be understood is understood."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynajobs import fault, keys, lifecycle
from dynajobs.execution import MAX_DETAILS, MAX_MESSAGE, MAX_RESULT
from dynajobs.item import (
    MAX_PAYLOAD_BYTES,
    Item,
    Malformed,
    buried,
    decode,
    encode,
    expires_at,
    job_key,
    own_attributes,
    plain,
)
from dynajobs.job import FINISHED, WAITING, Job, Run, Status
from dynajobs.jsons import cut_json, cut_text
from dynajobs.settings import Settings
from dynajobs.units import item_size

SETTINGS = Settings(table="jobs")
NOW = datetime(2026, 11, 18, 7, tzinfo=UTC)
ID = "019a9000-0000-7000-8000-00000000000a"
SK = f"scheduled#2026-11-18T07:00:00.000000Z#{ID}"
LIMIT = 400 * 1024

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
moments = st.datetimes(timezones=st.just(UTC))
counts = st.integers(0, 10**9)
jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, jsons, max_size=3)


def runs(statuses: st.SearchStrategy[str], run_ids: st.SearchStrategy[str] = texts) -> st.SearchStrategy[Run]:
    return st.builds(
        Run,
        run_id=run_ids,
        attempt=st.integers(1, 10**6),
        status=statuses,
        worker=st.none() | texts,
        log=st.none() | st.dictionaries(texts, texts, min_size=1, max_size=3),
        started_at=moments,
        finished_at=st.none() | moments,
        message=st.none() | texts,
        details=jsons,
        error=st.none() | texts,
    )


closed_runs = runs(
    st.sampled_from(["completed", "failed", "expired", "snoozed", "discarded", "cancelled"])
).map(lambda run: replace(run, finished_at=run.finished_at or NOW))


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """Any job there can be: waiting, claimed, begun or finished."""
    status = draw(st.sampled_from(Status))
    locked_by = draw(texts) if status is Status.IN_PROGRESS else None
    closed = tuple(draw(st.lists(closed_runs, max_size=10)))
    begun = locked_by is not None and draw(st.booleans())
    opened = (draw(runs(st.just("running"), st.just(locked_by or ""))),) if begun else ()
    optional = st.none() | texts
    return Job(
        id=str(draw(st.uuids())),
        job_type=draw(st.from_regex(r"[A-Za-z0-9_.:-]{1,128}", fullmatch=True)),
        payload=draw(objects),
        status=status,
        scheduled_for=draw(moments),
        priority=draw(st.integers(0, 3)),
        attempts=draw(counts),
        max_attempts=draw(st.none() | st.integers(1, 100)),
        created_at=draw(moments),
        updated_at=draw(st.none() | moments),
        finished_at=draw(moments) if status.finished else None,
        completed_at=draw(moments) if status is Status.COMPLETED else None,
        locked_by=locked_by,
        lock_expires_at=None if locked_by is None else draw(moments),
        last_error=draw(optional),
        fingerprint=draw(optional),
        result=draw(jsons),
        progress=draw(st.none() | objects),
        cancel_requested=draw(st.booleans()),
        org_id=draw(optional),
        group_id=draw(optional),
        schedule_name=draw(optional),
        triggered_by=draw(optional),
        template=draw(optional),
        retry_of=draw(optional),
        retried_by=draw(optional),
        undelivered=draw(counts),
        version=draw(counts),
        runs=closed + opened,
        runs_closed=draw(st.integers(len(closed), 10**6)),
        dedup_pk=draw(optional),
        dedup_sk=draw(optional),
        shard=draw(st.integers(0, 63)),
    )


def by_hand(pk: str = "job", sk: str = SK, **attributes: Any) -> Item:
    """The least that is a job, with these attributes as well; texts become strings, None leaves one out."""
    written: dict[str, Any] = {
        "PK": pk,
        "SK": sk,
        "job_type": "mail",
        "payload": "{}",
        "scheduled_for": "2026-11-18T07:00:00.000000Z",
        "status": "pending",
        **attributes,
    }
    return {
        name: {"S": value} if isinstance(value, str) else value
        for name, value in written.items()
        if value is not None
    }


def read(**attributes: Any) -> Job:
    return decode(by_hand(**attributes), SETTINGS)


@given(jobs())
def test_a_job_reads_back_as_it_was_written(job: Job) -> None:
    item = encode(job, SETTINGS)
    assert decode(item, SETTINGS) == job
    assert {"PK": item["PK"], "SK": item["SK"]} == job_key(job)
    assert encode(decode(item, SETTINGS), SETTINGS) == item


@given(jobs())
def test_a_job_in_progress_always_has_its_run_record_and_no_other_job_has_one(job: Job) -> None:
    item = encode(job, SETTINGS)
    assert ("run" in item) == (job.status is Status.IN_PROGRESS)
    if "run" in item:
        assert item["run"]["M"]["run_id"] == {"S": job.locked_by}


@given(jobs())
def test_every_attribute_of_an_item_is_a_key_or_known_as_our_own(job: Job) -> None:
    known = own_attributes(SETTINGS) | {"PK", "SK", "GSI1PK", "GSI1SK"}
    assert encode(job, SETTINGS).keys() <= known


@given(jobs())
def test_a_live_job_is_in_its_lane_at_its_time_and_a_finished_one_under_its_id(job: Job) -> None:
    item = encode(job, SETTINGS)
    if job.status in FINISHED:
        assert item["PK"]["S"] == f"job-id#{job.id}"
        assert item["GSI1PK"]["S"].startswith(f"done#{job.status}#{job.job_type}")
        assert item["GSI1SK"]["S"].endswith(f"#{job.id}")
    else:
        assert keys.parse_lane(item["PK"]["S"]) == (job.priority, job.shard)
        assert item["SK"]["S"] == f"scheduled#{item['scheduled_for']['S']}#{job.id}"
        assert item["GSI1PK"]["S"] == f"job-id#{job.id}"


def test_the_stored_text_of_a_payload_is_kept_byte_for_byte() -> None:
    text = '{ "b":1.50,\n "a": "\\u00e9\\ud800" }'
    job = read(payload=text)
    assert job.payload == {"b": 1.5, "a": "é\ud800"}
    assert job.payload_json == text
    assert encode(job, SETTINGS)["payload"] == {"S": text}


def test_what_is_always_stored_at_enqueue_is_stored_even_if_it_says_little() -> None:
    item = encode(Job(id=ID, job_type="mail", scheduled_for=NOW, created_at=NOW), SETTINGS)
    assert item == {
        "PK": {"S": "job"},
        "SK": {"S": SK},
        "GSI1PK": {"S": f"job-id#{ID}"},
        "GSI1SK": {"S": "job"},
        "job_type": {"S": "mail"},
        "payload": {"S": "{}"},
        "scheduled_for": {"S": "2026-11-18T07:00:00.000000Z"},
        "status": {"S": "pending"},
        "attempts": {"N": "0"},
        "created_at": {"S": "2026-11-18T07:00:00.000000Z"},
    }


def test_names_of_index_and_expiry_are_those_of_the_settings() -> None:
    settings = replace(SETTINGS, index="GSI7", ttl_attribute="dies_at", retention_days=1)
    job = Job(
        id=ID,
        job_type="mail",
        scheduled_for=NOW,
        created_at=NOW,
        status=Status.COMPLETED,
        finished_at=NOW,
        shard=2,
    )
    item = encode(job, settings)
    assert item["GSI7PK"] == {"S": "done#completed#mail#s2"}
    assert item["dies_at"] == {"N": str(int((NOW + timedelta(days=1)).timestamp()))}
    assert decode(item, settings).shard == 2


@pytest.mark.parametrize(
    ("status", "retention_days", "days"),
    [
        (Status.COMPLETED, 30, 30),
        (Status.COMPLETED, 0, 0),
        (Status.CANCELLED, 30, 30),
        (Status.CANCELLED, 0, 1),
        (Status.DEAD_LETTER, 30, None),
        (Status.DEAD_LETTER, 0, None),
        (Status.PENDING, 30, None),
        (Status.FAILED, 30, None),
        (Status.IN_PROGRESS, 30, None),
    ],
)
def test_how_long_a_job_is_kept(status: Status, retention_days: int, days: int | None) -> None:
    job = Job(
        id=ID,
        job_type="mail",
        scheduled_for=NOW,
        created_at=NOW,
        status=status,
        finished_at=NOW if status.finished else None,
    )
    expiry = expires_at(job, replace(SETTINGS, retention_days=retention_days))
    assert expiry == (None if days is None else int((NOW + timedelta(days=days)).timestamp()))


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-18T07:00:00.000000Z",
        "2026-11-18T07:00:00Z",
        "2026-11-18T07:00:00.000Z",
        "2026-11-18T07:00Z",
        "2026-11-18 07:00:00+00:00",
        "2026-11-18T08:00:00+01:00",
        "2026-11-18T12:30:00.000+05:30",
        "2026-11-17T23:00:00-0800",
        "20261118T070000Z",
        "2026-W47-3T07:00:00Z",
    ],
)
def test_any_iso_form_of_the_instant_is_accepted(text: str) -> None:
    assert read(scheduled_for=text).scheduled_for == NOW
    from_key = read(scheduled_for=None, sk=f"scheduled#{text}#{ID}")
    assert (from_key.scheduled_for, from_key.id) == (NOW, ID)


def test_the_least_that_is_a_job_takes_the_defaults() -> None:
    item: Item = {"PK": {"S": "job#p2#s3"}, "SK": {"S": SK}, "job_type": {"S": "mail"}}
    expected = Job(id=ID, job_type="mail", scheduled_for=NOW, created_at=NOW, priority=2, shard=3)
    assert decode(item, SETTINGS) == expected
    nulls = {name: {"NULL": True} for name in own_attributes(SETTINGS) - {"job_type"}}
    assert decode(item | nulls, SETTINGS) == expected
    assert job_key(expected) == {"PK": item["PK"], "SK": item["SK"]}


def test_a_payload_may_be_a_map() -> None:
    inner: dict[str, Any] = {
        "text": {"S": "é"},
        "whole": {"N": "12345678901234567890123456789012345678"},
        "part": {"N": "0.1"},
        "long": {"N": "0.12345678901234567890123456789012345678"},
        "yes": {"BOOL": True},
        "none": {"NULL": True},
        "list": {"L": [{"N": "-1"}, {"M": {}}]},
        "tags": {"SS": ["a"]},
        "numbers": {"NS": ["1", "2.5"]},
    }
    job = read(payload={"M": inner})
    assert job.payload == {
        "text": "é",
        "whole": 12345678901234567890123456789012345678,
        "part": 0.1,
        "long": "0.12345678901234567890123456789012345678",
        "yes": True,
        "none": None,
        "list": [-1, {}],
        "tags": ["a"],
        "numbers": [1, 2.5],
    }
    assert json.loads(encode(job, SETTINGS)["payload"]["S"]) == job.payload


@given(st.decimals(allow_nan=False, allow_infinity=False, places=20) | st.integers())
def test_a_number_of_a_map_is_never_rounded(number: Any) -> None:
    assert str(plain({"N": str(number)})) in (str(number), repr(float(number)))
    value = plain({"N": str(number)})
    assert type(number)(value if isinstance(value, int | str) else repr(value)) == number


def test_the_priority_attribute_wins_over_the_lane() -> None:
    assert read(pk="job#p2").priority == 2
    job = read(pk="job#p2", priority={"N": "1"})
    assert job.priority == 1
    assert job_key(job)["PK"] == {"S": "job#p1"}


def test_an_id_in_capitals_is_the_same_id() -> None:
    job = read(sk=SK.replace(ID, ID.upper()))
    assert job.id == ID
    assert job_key(job)["SK"] == {"S": SK}


@pytest.mark.parametrize(
    "sk",
    [
        "scheduled#2026-11-18T07:00:00Z",
        "scheduled#2026-11-18T07:00:00Z#",
        "scheduled#2026-11-18T07:00:00Z#order-17",
        f"scheduled#2026-11-18T07:00:00Z#{{{ID}}}",
    ],
)
def test_a_key_without_a_uuid_gives_the_job_an_id_of_its_own_that_never_changes(sk: str) -> None:
    job = read(sk=sk)
    assert job.id == keys.derived_id("job", sk) == read(sk=sk).id
    assert keys.canonical_id(job.id) == job.id
    assert job.scheduled_for == NOW


def test_a_job_in_progress_without_a_run_is_claimed_but_not_begun() -> None:
    job = read(status="in_progress", run={"M": {"run_id": {"S": "t"}, "attempt": {"N": "1"}}})
    assert (job.status, job.runs, job.open_run) == (Status.IN_PROGRESS, (), None)


@pytest.mark.parametrize("status", sorted(WAITING))
def test_a_run_left_behind_by_somebody_who_reset_the_job_is_not_open(status: str) -> None:
    begun = lifecycle.begin(
        Job(
            id=ID,
            job_type="mail",
            scheduled_for=NOW,
            created_at=NOW,
            status=Status.IN_PROGRESS,
            locked_by="t",
        ),
        NOW,
        worker="w",
        log=None,
        max_attempts=5,
        until=NOW,
    )
    item = encode(begun, SETTINGS) | {"status": {"S": status}}
    job = decode(item, SETTINGS)
    assert job.open_run is None
    claimed = lifecycle.claim(job, NOW, token="t2", lease=timedelta(seconds=60), max_attempts=5)
    assert encode(claimed, SETTINGS)["run"]["M"] == {"run_id": {"S": "t2"}, "attempt": {"N": "1"}}


RUN = {"run_id": {"S": "t"}, "attempt": {"N": "1"}, "started_at": {"S": "2026-11-18T07:00:00Z"}}


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"job_type": None}, r"job_type is missing"),
        ({"job_type": {"NULL": True}}, r"job_type is None"),
        ({"job_type": ""}, r"job_type is ''"),
        ({"job_type": "a b"}, r"job_type is 'a b': it must match"),
        ({"job_type": "x" * 129}, r"job_type is 'x+: it must match"),
        ({"job_type": {"N": "7"}}, r"job_type is 7: it must be a string"),
        ({"status": "done"}, r"status is 'done': it must be one of pending, in_progress"),
        ({"status": {"N": "1"}}, r"status is 1: it must be a string"),
        ({"scheduled_for": "tomorrow"}, r"scheduled_for is 'tomorrow': it must be an instant"),
        ({"scheduled_for": "2026-11-18T07:00:00"}, r"scheduled_for is '2026-11-18T07:00:00'"),
        ({"scheduled_for": "2026-02-30T07:00:00Z"}, r"scheduled_for is '2026-02-30T07:00:00Z'"),
        ({"scheduled_for": "0001-01-01T00:00:00+14:00"}, r"scheduled_for is '0001-01-01"),
        ({"scheduled_for": {"N": "1794985200"}}, r"scheduled_for is 1794985200: it must be a string"),
        (
            {"scheduled_for": None, "sk": f"scheduled#soon#{ID}"},
            r"no scheduled_for, and the key's time 'soon'",
        ),
        ({"payload": "not json"}, r"payload is not JSON"),
        ({"payload": '{"a": NaN}'}, r"payload is not JSON \(NaN is no JSON\)"),
        ({"payload": "[1]"}, r"payload is a JSON list: it must be an object"),
        ({"payload": "null"}, r"payload is a JSON NoneType"),
        ({"payload": "[" * 50_000}, r"payload is not JSON \(it is nested too deeply\)"),
        ({"payload": {"L": []}}, r"payload is \[\]: it must be JSON text of an object, or a map"),
        ({"payload": {"B": b"{}"}}, r"payload is '\(binary\)'"),
        ({"payload": {"M": {"a": {"L": [{"B": b"x"}]}}}}, r"payload has binary data"),
        (
            {"payload": json.dumps({"a": "é" * 40_000}, ensure_ascii=False)},
            r"payload is 80009 bytes: at most 65536",
        ),
        ({"priority": {"N": "4"}}, r"priority is 4: it must be a whole number from 0 to 3"),
        ({"priority": {"N": "1.5"}}, r"priority is 1\.5"),
        ({"priority": "high"}, r"priority is 'high'"),
        ({"attempts": {"N": "-1"}}, r"attempts is -1"),
        ({"max_attempts": {"N": "0"}}, r"max_attempts is 0: it must be a whole number from 1 to 100"),
        ({"version": {"BOOL": True}}, r"version is True"),
        ({"created_at": "yesterday"}, r"created_at is 'yesterday'"),
        ({"lock_expires_at": {"N": "1"}}, r"lock_expires_at is 1: it must be a string"),
        ({"locked_by": {"L": []}}, r"locked_by is \[\]: it must be a string"),
        ({"org_id": {"N": "12"}}, r"org_id is 12: it must be a string"),
        ({"dedup_pk": {"BOOL": False}}, r"dedup_pk is False: it must be a string"),
        ({"result": "{"}, r"result is not JSON"),
        ({"progress": {"M": {}}}, r"progress is \{\}: it must be a string"),
        ({"runs": {"M": {}}}, r"runs is no list"),
        ({"runs": {"L": [{"S": "t"}]}}, r"a run record has no run_id"),
        ({"runs": {"L": [{"M": RUN | {"attempt": {"S": "one"}}}]}}, r"attempt is 'one'"),
        ({"status": "in_progress", "run": {"M": RUN | {"run_id": {"N": "1"}}}}, r"run_id is 1"),
        ({"status": "in_progress", "run": {"M": RUN | {"started_at": {"S": "-"}}}}, r"started_at is '-'"),
        ({"status": "in_progress", "run": {"M": RUN | {"details": {"S": "{"}}}}, r"details is not JSON"),
        (
            {"status": "in_progress", "run": {"M": RUN | {"log": {"M": {"stream": {"N": "1"}}}}}},
            r"stream is 1",
        ),
        ({"status": "in_progress", "run": {"M": {"started_at": RUN["started_at"]}}}, r"has no run_id"),
    ],
)
def test_what_cannot_be_understood_is_named(attributes: dict[str, Any], reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        read(**attributes)


attribute_values = st.recursive(
    st.fixed_dictionaries({"S": texts})
    | st.fixed_dictionaries({"N": st.integers(-(10**20), 10**20).map(str)})
    | st.fixed_dictionaries({"N": st.sampled_from(["1.5", "-0.000000000000000000000001", "9.9E+125"])})
    | st.fixed_dictionaries({"B": st.binary(max_size=5)})
    | st.fixed_dictionaries({"BS": st.lists(st.binary(max_size=5), min_size=1, max_size=2)})
    | st.fixed_dictionaries({"BOOL": st.booleans()})
    | st.just({"NULL": True})
    | st.fixed_dictionaries({"SS": st.lists(texts, min_size=1, max_size=2)}),
    lambda inner: (
        st.fixed_dictionaries({"L": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"M": st.dictionaries(texts, inner, max_size=3)})
    ),
    max_leaves=5,
)
strange_items = st.dictionaries(
    st.sampled_from(sorted(own_attributes(SETTINGS))) | texts.filter(lambda name: name not in ("PK", "SK")),
    attribute_values,
    max_size=6,
)


@given(strange_items, texts)
def test_any_item_in_a_lane_is_a_job_or_malformed_and_can_be_buried(attributes: Item, tail: str) -> None:
    item = {**attributes, "PK": {"S": "job"}, "SK": {"S": f"scheduled#{tail}"}}
    try:
        job = decode(item, SETTINGS)
    except Malformed:
        pass
    else:
        assert decode(encode(job, SETTINGS), SETTINGS) == job
    dead = buried(item, "strange", "f" * 12, NOW)
    assert decode(encode(dead, SETTINGS), SETTINGS) == dead
    assert dead.payload["item"]["SK"] == f"scheduled#{tail}"


def test_a_buried_item_is_a_dead_letter_with_the_reason_and_the_evidence() -> None:
    dead = buried(by_hand(status="done"), "status is 'done'", "f" * 12, NOW)
    assert (dead.id, dead.job_type, dead.status) == (ID, "invalid", Status.DEAD_LETTER)
    assert dead.last_error == "Malformed: status is 'done'"
    assert (dead.attempts, dead.finished_at) == (0, NOW)
    assert dead.payload["item"]["status"] == "done"


@pytest.mark.parametrize("filling", ["x", '"', "\\", "\x01", "é", "😀"])
def test_a_large_buried_item_is_trimmed_and_stays_readable(filling: str) -> None:
    large = {"x": {"S": filling * (380_000 // len(filling.encode()))}, **by_hand(status="done")}
    dead = buried(large, "status is 'done'", "f" * 12, NOW)
    assert dead.payload["truncated"] is True
    item = encode(dead, SETTINGS)
    assert item_size(item) < LIMIT / 4
    assert decode(item, SETTINGS) == dead


@pytest.mark.parametrize("filling", ["x", '"', "😀"])
def test_a_job_of_a_hundred_failed_attempts_with_the_longest_of_everything_fits_easily(filling: str) -> None:
    payload_json = json.dumps({"a": "x" * (MAX_PAYLOAD_BYTES - 20)})
    job = Job(
        id=ID,
        job_type="t" * 128,
        payload=json.loads(payload_json),
        payload_json=payload_json,
        scheduled_for=NOW,
        created_at=NOW,
        max_attempts=100,
        org_id="o" * 256,
        group_id="g" * 256,
        dedup_pk=keys.dedup_partition("k" * 1024),
        dedup_sk="w" * 256,
        progress={"done": 1, "total": 2, "message": cut_text(filling * 2000, 1024)},
    )
    log = {"group": "g" * 512, "stream": "s" * 512, "request_id": "r" * 36}
    cause = fault.from_message(job.job_type, "E" * 200, filling * 10_000)
    message, details = cut_text(filling * 2000, MAX_MESSAGE), cut_json([filling * 5000], MAX_DETAILS)
    largest = 0
    for attempt in range(1, 101):
        job = lifecycle.claim(
            replace(job, scheduled_for=NOW),
            NOW,
            token=keys.new_id(),
            lease=timedelta(seconds=60),
            max_attempts=5,
        )
        job = lifecycle.begin(job, NOW, worker="w" * 512, log=log, max_attempts=5, until=NOW)
        largest = max(largest, item_size(encode(job, SETTINGS)))
        if attempt < 100:
            job = lifecycle.fail(job, NOW, cause, delay=timedelta(0), message=message, details=details)
            assert job.attempts == attempt
    job = replace(job, last_error=cause.last_error)
    done = lifecycle.complete(
        job, NOW, result=cut_json([filling * 20_000], MAX_RESULT), message=message, details=details
    )
    largest = max(largest, item_size(encode(done, SETTINGS)))
    assert largest < LIMIT / 2
    assert len(done.runs) == 10 and done.runs_closed == 100
