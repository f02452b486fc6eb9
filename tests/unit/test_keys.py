"""Keys order as time does, ids order as they were made, and both can be read back."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynajobs import keys

FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)
NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)

zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(timezones=st.just(UTC)) | st.sampled_from([FIRST, LAST])
zoned = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=zones)  # noqa: DTZ001  zones follow
ids = st.uuids().map(str)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (FIRST, "0001-01-01T00:00:00.000000Z"),
        (LAST, "9999-12-31T23:59:59.999999Z"),
        (NOON, "2026-11-18T12:00:00.000000Z"),
        (NOON.replace(microsecond=5), "2026-11-18T12:00:00.000005Z"),
        (NOON.astimezone(timezone(timedelta(hours=5, minutes=30))), "2026-11-18T12:00:00.000000Z"),
    ],
)
def test_a_timestamp_is_utc_and_of_fixed_width(moment: datetime, text: str) -> None:
    assert keys.timestamp(moment) == text
    assert keys.parse_time(text) == moment


@given(moments, moments)
def test_text_order_is_time_order(one: datetime, other: datetime) -> None:
    assert (keys.timestamp(one) < keys.timestamp(other)) == (one < other)
    assert (keys.timestamp(one) == keys.timestamp(other)) == (one == other)


@given(moments | zoned)
def test_a_timestamp_reads_back_as_the_same_instant(moment: datetime) -> None:
    text = keys.timestamp(moment)
    assert len(text) == 27
    assert keys.parse_time(text) == moment
    assert keys.parse_time(moment.isoformat()) == moment


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-18T12:00:00Z",
        "2026-11-18T13:00:00+01:00",
        "20261118T120000Z",
        "2026-11-18 12:00:00.000+00:00",
    ],
)
def test_any_iso_form_of_an_instant_is_read(text: str) -> None:
    assert keys.parse_time(text) == NOON


@pytest.mark.parametrize(
    "text",
    [
        "", "now", "2026-11-18", "2026-11-18T12:00:00", "2026-13-01T00:00:00Z", "2026-11-18T25:00:00Z",
        "1763467200", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "10000-01-01T00:00:00Z",
    ],
)  # fmt: skip
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  the library's own words vary
        keys.parse_time(text)


@given(moments, moments, ids)
def test_a_job_is_in_the_range_if_and_only_if_it_is_due(now: datetime, due: datetime, job_id: str) -> None:
    assert (keys.due_key(due, job_id) <= keys.due_until(now)) == (due <= now)


@given(moments, ids)
def test_a_job_due_exactly_now_is_due(now: datetime, job_id: str) -> None:
    assert keys.due_key(now, job_id) <= keys.due_until(now)


@given(moments, ids)
def test_a_due_key_reads_back(due: datetime, job_id: str) -> None:
    assert keys.parse_due_key(keys.due_key(due, job_id)) == (keys.timestamp(due), job_id)


@pytest.mark.parametrize(
    ("sk", "parts"),
    [
        ("scheduled#2026-11-18T12:00:00Z#abc", ("2026-11-18T12:00:00Z", "abc")),
        ("scheduled#2026-11-18T12:00:00Z#", ("2026-11-18T12:00:00Z", "")),
        ("scheduled#2026-11-18T12:00:00Z", ("2026-11-18T12:00:00Z", "")),
        ("scheduled#", ("", "")),
        ("scheduled#soon#tenant#7", ("soon#tenant", "7")),
    ],
)
def test_a_hand_written_key_is_taken_apart_unchecked(sk: str, parts: tuple[str, str]) -> None:
    assert keys.parse_due_key(sk) == parts


@pytest.mark.parametrize(
    ("priority", "shard", "pk"),
    [(0, 0, "job"), (1, 0, "job#p1"), (3, 0, "job#p3"), (0, 1, "job#s1"), (2, 63, "job#p2#s63")],
)
def test_a_lane_is_named_by_priority_and_shard(priority: int, shard: int, pk: str) -> None:
    assert keys.lane(priority, shard) == pk


@given(st.sampled_from(keys.PRIORITIES), st.integers(0, 63))
def test_a_lane_reads_back(priority: int, shard: int) -> None:
    assert keys.parse_lane(keys.lane(priority, shard)) == (priority, shard)


@pytest.mark.parametrize(
    "pk",
    [
        "",
        "jobs",
        "job#",
        "job#p0",
        "job#p4",
        "job#s0",
        "job#s01",
        "job#s1#p1",
        "job#p1#",
        "job-id#1",
        "job\n",
    ],
)
def test_another_partition_is_no_lane(pk: str) -> None:
    with pytest.raises(ValueError, match="is no lane"):
        keys.parse_lane(pk)


def test_the_other_keys_are_as_documented() -> None:
    assert keys.job_partition("x") == "job-id#x"
    assert keys.run_key(7) == "run#000007"
    assert keys.done_partition("completed", "mail", 0) == "done#completed#mail"
    assert keys.done_partition("completed", "mail", 2) == "done#completed#mail#s2"
    assert keys.done_key(NOON, "x") == "2026-11-18T12:00:00.000000Z#x"
    assert keys.dedup_partition("k") == "scheduled-job#k"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("018F4D3C-0000-7000-8000-00000000000A", "018f4d3c-0000-7000-8000-00000000000a"),
        ("018f4d3c-0000-7000-8000-00000000000a", "018f4d3c-0000-7000-8000-00000000000a"),
        ("018f4d3c0000700080000000000000aa", None),
        ("{018f4d3c-0000-7000-8000-0000000000}", None),
        ("018f4d3c-0000-7000-8000-00000000000g", None),
        ("{18f4d3c00007000800000000000000a}  x", None),
        ("018f-4d3c0000-7000-8000-00000000000a", None),
        ("", None),
    ],
)
def test_an_id_has_one_written_form(text: str, canonical: str | None) -> None:
    assert keys.canonical_id(text) == canonical


@given(st.text())
def test_any_text_is_an_id_or_none(text: str) -> None:
    assert keys.canonical_id(text) in (None, text.lower())


def test_a_derived_id_depends_on_the_whole_key() -> None:
    one = keys.derived_id("job", "scheduled#a")
    assert keys.canonical_id(one) == one == keys.derived_id("job", "scheduled#a")
    assert one != keys.derived_id("job", "scheduled#b")
    assert one != keys.derived_id("job#p1", "scheduled#a")


def test_new_ids_are_uuids_of_version_7_with_the_time_in_front() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    made = UUID(keys.new_id())
    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    # Ids made faster than the clock ticks may run a little ahead of it.
    assert (
        int(before.timestamp() * 1000) <= made.int >> 80 <= int(datetime.now(UTC).timestamp() * 1000) + 1000
    )


def test_new_ids_increase() -> None:
    made = [keys.new_id() for _ in range(20_000)]
    assert all(one < other for one, other in pairwise(made))


def test_new_ids_increase_in_every_thread_and_never_repeat() -> None:
    def make(_: int) -> list[str]:
        return [keys.new_id() for _ in range(2_000)]

    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(make, range(8)))
    assert all(one < other for batch in batches for one, other in pairwise(batch))
    made = [each for batch in batches for each in batch]
    assert len(set(made)) == len(made)
    assert {UUID(each).version for each in made} == {7}
    assert {UUID(each).variant for each in made} == {"specified in RFC 4122"}


def test_new_ids_increase_when_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = time.time_ns()
    made = [keys.new_id()]
    for step in (0, 0, -3600, -3600, 0, 1):
        monkeypatch.setattr(time, "time_ns", lambda step=step: ahead + step * 10**9)
        made.append(keys.new_id())
    assert all(one < other for one, other in pairwise(made))


@pytest.mark.parametrize("shards", [1, 2, 3, 64])
def test_new_jobs_spread_over_all_shards(shards: int) -> None:
    found = {keys.shard_of(keys.new_id(), shards) for _ in range(64 * 40)}
    assert found == set(range(shards))
