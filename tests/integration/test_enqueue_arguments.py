"""A producer's mistake is refused with its name, its value and what is right, before anything is written."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from dynajobs import InvalidJob, JobQueue
from tests.support.table import all_items
from tests.support.work import working

LOOP: dict[str, Any] = {}
LOOP["self"] = LOOP
LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-1)))
FIRST = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))


class Reading(BaseModel):
    value: float


class Odd(BaseModel):
    value: Any


@pytest.fixture
def queue(moto_queue: JobQueue) -> JobQueue:
    """What is refused before anything is written is refused alike on every engine."""
    return moto_queue


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"job_type": ""}, "job_type", "must match"),
    ({"job_type": "a b"}, "job_type", "must match"),
    ({"job_type": "a\n"}, "job_type", "must match"),
    ({"job_type": "é"}, "job_type", "must match"),
    ({"job_type": "x" * 129}, "job_type", "must match"),
    ({"job_type": None}, "job_type", "None"),
    ({"payload": []}, "payload", "mapping"),
    ({"payload": "{}"}, "payload", "mapping"),
    ({"payload": 0}, "payload", "mapping"),
    ({"payload": {"a": float("nan")}}, "payload.a", "nan"),
    ({"payload": {"a": [1, float("inf")]}}, "payload.a[1]", "inf"),
    ({"payload": {"a": datetime(2026, 1, 1, tzinfo=UTC)}}, "payload.a", "datetime"),
    ({"payload": {"a": {"b": {1, 2}}}}, "payload.a.b", "set"),
    ({"payload": {"a": b"x"}}, "payload.a", "bytes"),
    ({"payload": {"a": Decimal("1.1")}}, "payload.a", "Decimal"),
    ({"payload": {1: "a"}}, "payload", "key 1"),
    ({"payload": {"a": {None: 1}}}, "payload.a", "None"),
    ({"payload": {"a": "\ud800"}}, "payload.a", "surrogate"),
    ({"payload": {"a": 10**5000}}, "payload.a", "digits"),
    ({"payload": LOOP}, "payload", "nested"),
    ({"payload": {"a": "x" * 65530}}, "payload", "65536"),
    ({"payload": {"a": "é" * 32765}}, "payload", "65536"),
    ({"payload": Reading(value=float("nan"))}, "payload.value", "nan"),
    ({"payload": Odd(value=object())}, "payload", "object"),
    ({"run_at": datetime(2026, 1, 1)}, "run_at", "time zone"),  # noqa: DTZ001 - that is the mistake
    ({"run_at": "2026-01-01T00:00:00Z"}, "run_at", "datetime"),
    ({"run_at": date(2026, 1, 1)}, "run_at", "datetime"),
    ({"run_at": LAST}, "run_at", "9999"),
    ({"run_at": FIRST}, "run_at", "9999"),
    ({"run_at": datetime(2026, 1, 1, tzinfo=UTC), "delay": 1}, "run_at and delay", "one of them"),
    ({"delay": -1}, "delay", "not negative"),
    ({"delay": timedelta(seconds=-1)}, "delay", "not negative"),
    ({"delay": True}, "delay", "True"),
    ({"delay": "60"}, "delay", "seconds"),
    ({"delay": float("nan")}, "delay", "nan"),
    ({"delay": float("inf")}, "delay", "inf"),
    ({"delay": 10**12}, "delay", "9999"),
    ({"delay": 10**400}, "delay", "9999"),
    ({"delay": timedelta.max}, "delay", "9999"),
    ({"priority": -1}, "priority", "0 to 3"),
    ({"priority": 4}, "priority", "0 to 3"),
    ({"priority": True}, "priority", "True"),
    ({"priority": 1.0}, "priority", "1.0"),
    ({"priority": None}, "priority", "None"),
    ({"max_attempts": 0}, "max_attempts", "1 to 100"),
    ({"max_attempts": 101}, "max_attempts", "1 to 100"),
    ({"max_attempts": True}, "max_attempts", "True"),
    ({"org_id": ""}, "org_id", "1 to 256"),
    ({"org_id": "x" * 257}, "org_id", "257"),
    ({"org_id": 7}, "org_id", "7"),
    ({"group_id": ""}, "group_id", "1 to 256"),
    ({"group_id": "\udfff"}, "group_id", "surrogate"),
    ({"dedup_key": ""}, "dedup_key", "1 to 1024"),
    ({"dedup_key": "x" * 1025}, "dedup_key", "1025"),
    ({"dedup_key": 7}, "dedup_key", "7"),
    ({"dedup_key": "a\nb"}, "dedup_key", "control"),
    ({"dedup_key": "a\x7fb"}, "dedup_key", "control"),
    ({"dedup_key": "\ud800"}, "dedup_key", "UTF-8"),
    ({"dedup_key": "schedule#nightly"}, "dedup_key", "reserved"),
    ({"dedup_window": "2026"}, "dedup_window", "no dedup_key"),
    ({"dedup_key": "k", "dedup_window": ""}, "dedup_window", "1 to 256"),
    ({"dedup_key": "k", "dedup_window": "x" * 257}, "dedup_window", "257"),
    ({"dedup_key": "k", "dedup_window": "a\tb"}, "dedup_window", "control"),
    ({"dedup_key": "k", "dedup_window": None}, "dedup_window", "None"),
    ({"dedup_key": "k", "dedup_window": datetime(2026, 1, 1)}, "dedup_window", "time zone"),  # noqa: DTZ001
    ({"dedup_key": "k", "dedup_window": LAST}, "dedup_window", "9999"),
    ({"job_id": "42"}, "job_id", "UUID"),
    ({"job_id": 42}, "job_id", "UUID"),
    ({"job_id": "{0198c2b6-7c1e-7d3a-8f00-000000000001}"}, "job_id", "UUID"),
]


@pytest.mark.parametrize(("arguments", "name", "hint"), WRONG)
def test_a_wrong_argument_is_named_and_nothing_is_written(
    queue: JobQueue, arguments: dict[str, Any], name: str, hint: str
) -> None:
    for call in (queue.enqueue, queue.job_item, queue.enqueue_actions):
        with pytest.raises(InvalidJob) as refused:
            call(**{"job_type": "work", **arguments})

        assert name in str(refused.value)
        assert hint in str(refused.value)

    assert all_items(queue) == []


@pytest.mark.parametrize("payloads", [{"a": 1}, "ab", b"ab", 7, None])
def test_many_payloads_must_come_as_an_iterable(queue: JobQueue, payloads: Any) -> None:
    with pytest.raises(InvalidJob, match="payloads"):
        queue.enqueue_many("work", payloads)

    assert all_items(queue) == []


def test_one_wrong_payload_among_many_writes_none(queue: JobQueue) -> None:
    with pytest.raises(InvalidJob, match="payload"):
        queue.enqueue_many("work", [{"n": 1}, {"n": float("nan")}, {"n": 3}])

    assert all_items(queue) == []


def test_a_dedup_key_needs_two_items_so_one_item_is_refused(queue: JobQueue) -> None:
    with pytest.raises(InvalidJob, match=r"dedup_key.*enqueue_actions"):
        queue.job_item("work", dedup_key="k")


def test_a_registry_refuses_a_payload_that_its_model_would_refuse(queue: JobQueue) -> None:
    queue.registry = working()

    with pytest.raises(InvalidJob, match="payload of work: n: ") as refused:
        queue.enqueue("work", {"n": "seven-secret"})

    assert "seven-secret" not in str(refused.value)
    assert all_items(queue) == []
    assert queue.enqueue("another_type", {"n": "anything"}).created


def test_the_largest_payload_is_taken(queue: JobQueue) -> None:
    payload = {"a": "x" * (65536 - len('{"a":""}'))}

    assert queue.get(queue.enqueue("work", payload)).payload == payload
