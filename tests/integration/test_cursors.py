"""Pages: nothing twice, nothing missing, bounded reads, and no cursor but our own."""

import base64
import json
from typing import Any

import pytest

from dynajobs import InvalidCursor, JobQueue, Registry, listing
from dynajobs.testing import Clock, drain
from tests.integration.conftest import MakeQueue


def pages(queue: JobQueue, **arguments: Any) -> list[list[str]]:
    """Every page of a list, as ids."""
    found, cursor = [], None
    while True:
        page = queue.list(cursor=cursor, **arguments)
        found.append([job.id for job in page])
        cursor = page.cursor
        if cursor is None:
            return found


@pytest.mark.parametrize("limit", [1, 4])
def test_pages_together_are_the_whole_list(
    make_queue: MakeQueue, jobs: Registry, clock: Clock, limit: int
) -> None:
    queue = make_queue(shards=2)
    for n in range(5):
        queue.enqueue("work", priority=n % 2)
        clock.advance(n % 2)
    drain(queue, jobs)
    for n in range(6):
        queue.enqueue("work", priority=n % 4, delay=n // 2)

    parts = pages(queue, limit=limit)

    together = [job_id for part in parts for job_id in part]
    assert together == [job.id for job in queue.list(limit=200)]
    assert len(set(together)) == 11
    assert all(len(part) <= limit for part in parts)


def test_a_last_page_that_is_just_full_has_no_cursor(queue: JobQueue) -> None:
    queue.enqueue_many("work", [{"n": n} for n in range(4)])

    assert [len(part) for part in pages(queue, limit=2)] == [2, 2]
    assert queue.list(limit=4).cursor is None


def test_no_job_is_missed_while_jobs_finish_between_pages(
    queue: JobQueue, jobs: Registry, clock: Clock
) -> None:
    made = {job.id for job in queue.enqueue_many("work", [{"n": n} for n in range(12)])}
    seen: list[str] = []
    cursor = None
    while True:
        page = queue.list(limit=3, cursor=cursor)
        seen += [job.id for job in page]
        clock.advance(1)
        drain(queue, jobs, limit=2)
        cursor = page.cursor
        if cursor is None:
            break

    assert set(seen) == made


def test_finished_pages_stand_still_while_more_jobs_finish(
    queue: JobQueue, jobs: Registry, clock: Clock
) -> None:
    made = []
    for _ in range(6):
        made.append(queue.enqueue("work").id)
        drain(queue, jobs)
        clock.advance(1)
    first = queue.list(status="completed", limit=3)
    queue.enqueue("work")
    drain(queue, jobs)

    second = queue.list(status="completed", limit=3, cursor=first.cursor)

    assert [job.id for job in (*first, *second)] == made[::-1]
    assert second.cursor is None


def test_a_page_may_be_short_and_go_on_when_its_reads_are_spent(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "READ_BUDGET", 5)
    queue.enqueue_many("work", [{"n": n} for n in range(12)], org_id="common")
    rare = queue.enqueue("work", org_id="rare", delay=1)

    parts = pages(queue, org_id="rare", limit=10)

    assert parts == [[], [], [rare.id]]


def test_counting_stops_at_its_budget_and_says_so(
    queue: JobQueue, jobs: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "READ_BUDGET", 5)
    queue.enqueue_many("work", [{"n": n} for n in range(5)])
    assert not queue.stats().truncated

    queue.enqueue("work")
    stats = queue.stats()
    assert (stats.by_status["pending"], stats.truncated) == (5, True)

    drain(queue, jobs)
    stats = queue.stats()
    assert (stats.by_status["completed"], stats.truncated) == (5, True)


def coded(*parts: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()


BAD = [
    "",
    " ",
    "x",
    "====",
    "é",
    "a" * 5000,
    coded(),
    coded(1, 2, 3, 4),
    coded("x", "live", 0, "x"),
    "bnVsbA",
    "W10",
]


@pytest.mark.parametrize("cursor", [*BAD, 7, b"x", True, ["x"]])
def test_a_cursor_that_no_list_returned_is_refused(moto_queue: JobQueue, cursor: Any) -> None:
    with pytest.raises(InvalidCursor):
        moto_queue.list(cursor=cursor)


def test_a_cursor_changed_by_hand_is_refused(queue: JobQueue) -> None:
    queue.enqueue_many("work", [{}, {}])
    cursor = queue.list(limit=1).cursor
    assert cursor is not None
    digest, phase, priority, at = json.loads(base64.urlsafe_b64decode(cursor + "=="))
    assert (phase, priority) == ("live", 0)

    for parts in (
        (digest, "gone", priority, at),
        (digest, phase, 9, at),
        (digest, phase, True, at),
        (digest, phase, priority, 7),
        (digest, phase, priority, "x" * 2000),
        (digest, phase, priority, "\ud800"),
        (digest, phase, priority, at, 1),
    ):
        with pytest.raises(InvalidCursor):
            queue.list(cursor=coded(*parts))


def test_a_cursor_belongs_to_its_filters(queue: JobQueue) -> None:
    queue.enqueue_many("work", [{}, {}, {}])
    cursor = queue.list(limit=1, status="pending").cursor

    with pytest.raises(InvalidCursor, match="other filters"):
        queue.list(limit=1, cursor=cursor)
    assert len(queue.list(limit=2, status="pending", cursor=cursor)) == 2


def test_a_cursor_shows_no_key_of_the_table(queue: JobQueue) -> None:
    queue.enqueue_many("work", [{}, {}])
    cursor = queue.list(limit=1).cursor
    assert cursor is not None

    text = base64.urlsafe_b64decode(cursor + "==").decode()

    assert "scheduled#" not in text
    assert "PK" not in text
