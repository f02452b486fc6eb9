"""What went wrong lately, and whether the queue is alive."""

from datetime import timedelta
from typing import Any

import pytest

from dynajobs import JobQueue, Registry
from dynajobs.operating import groups
from dynajobs.operating.groups import group
from dynajobs.operating.health import health
from dynajobs.poller import Poller
from dynajobs.testing import Clock, drain
from tests.support.delivery import Delivery
from tests.support.table import by_hand, put


@pytest.fixture
def queue(moto_queue: JobQueue) -> JobQueue:
    return moto_queue


def die(queue: JobQueue, jobs: Registry, reason: str) -> str:
    job = queue.enqueue("work", {"do": "discard", "value": reason})
    drain(queue, jobs)
    return job.id


class TestGroups:
    def test_nothing_has_failed(self, queue: JobQueue, jobs: Registry) -> None:
        queue.enqueue("work")
        drain(queue, jobs)
        assert group(queue) == {"groups": [], "examined": 0, "truncated": False}

    def test_alike_is_together_the_latest_first(self, queue: JobQueue, jobs: Registry, clock: Clock) -> None:
        first = die(queue, jobs, "no file 1")
        clock.advance(timedelta(hours=2))
        second = die(queue, jobs, "no file 2")
        queue.cancel(queue.retry(first))
        clock.advance(timedelta(minutes=10))
        queue.enqueue("work", {"do": "fail"}, max_attempts=2)
        drain(queue, jobs)

        found = group(queue)

        failed, died = found["groups"]
        assert (found["examined"], found["truncated"]) == (3, False)
        assert (failed["title"], failed["failed"], failed["dead_letters"]) == (
            "RuntimeError: it failed",
            1,
            0,
        )
        assert (died["failed"], died["dead_letters"], died["retried"]) == (0, 2, 1)
        assert (died["title"], died["job_id"]) == ("Discard: no file 2", second)
        assert (died["hour"], died["day"], died["week"]) == (1, 2, 2)
        assert died["first_seen"] == "2026-01-01T00:00:00.000000Z"
        assert died["last_seen"] == "2026-01-01T02:00:00.000000Z"
        assert died["bars"] == [0] * 21 + [1, 0, 1]
        assert died["fingerprint"] == queue.get(second).fingerprint

    def test_what_is_long_ago_is_in_no_bar(self, queue: JobQueue, jobs: Registry, clock: Clock) -> None:
        die(queue, jobs, "x")
        clock.advance(timedelta(days=8))
        (found,) = group(queue)["groups"]
        assert (sum(found["bars"]), found["day"], found["week"], found["dead_letters"]) == (0, 0, 0, 1)

    def test_a_job_finds_its_group_again(self, queue: JobQueue, jobs: Registry) -> None:
        job_id = die(queue, jobs, "x")
        (found,) = group(queue)["groups"]
        assert [job.id for job in queue.list(fingerprint=found["fingerprint"])] == [job_id]

    def test_one_that_was_written_by_hand(self, queue: JobQueue) -> None:
        put(queue, by_hand(status="failed", last_error="Traceback:\n  ...\nKeyError: 'x'"))
        (found,) = group(queue)["groups"]
        assert (found["fingerprint"], found["title"]) == ("unknown", "KeyError: 'x'")

    def test_only_so_many_are_read_and_that_is_said(
        self, queue: JobQueue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(groups, "READ_BUDGET", 200)
        for n in range(201):
            put(queue, by_hand(f"scheduled#2025-12-31T23:00:00.{n:06d}Z#x", status="failed"))
        found = group(queue)
        assert (found["examined"], found["truncated"]) == (200, True)


class TestHealth:
    def test_a_poller_that_never_looked(self, queue: JobQueue) -> None:
        assert health(queue) == {"ok": False, "last_tick_at": None, "oldest_due_age": None}

    def test_one_that_looked_falls_silent(self, queue: JobQueue, clock: Clock) -> None:
        queue.store.control.tell_pass(queue.now(), 0)
        clock.advance(120)
        told: dict[str, Any] = health(queue)
        assert (told["ok"], told["last_tick_at"]) == (True, "2026-01-01T00:00:00.000000Z")
        clock.advance(1)
        assert health(queue)["ok"] is False

    def test_how_long_the_oldest_due_job_has_waited(self, queue: JobQueue, clock: Clock) -> None:
        queue.enqueue("work", delay=10)
        queue.enqueue("work", delay=5, priority=3)
        assert health(queue)["oldest_due_age"] is None
        clock.advance(65)
        assert health(queue)["oldest_due_age"] == 60.0
        Poller(queue, Delivery()).poll()
        assert health(queue)["oldest_due_age"] is None
