"""What a handler returns is cut to its limit with a mark, so that an outcome can always be stored."""

from typing import Any

import pytest

from dynajobs import JobContext, JobQueue, JobResult
from dynajobs.jsons import dump_json
from dynajobs.testing import drain
from tests.support.work import working

KB = 1024


def finished(queue: JobQueue, answer: Any) -> Any:
    queue.enqueue("work", {"do": "call"})
    [done] = drain(queue, working(lambda _: answer), advance=True)
    assert queue.get(done) == done
    return done


def test_what_fits_stays_whole(queue: JobQueue) -> None:
    result = "x" * (16 * KB - 2)
    message, details = "m" * KB, ["d" * (4 * KB - 4)]

    assert finished(queue, result).result == result
    run = finished(queue, JobResult(message=message, details=details)).runs[0]
    assert (run.message, run.details) == (message, details)


LARGE: dict[str, Any] = {
    "text": "x" * 16 * KB,
    "accents": {"a": "é" * 10 * KB},
    "quotes": ['"' * 9 * KB],
    "control characters": ["\x00"] * 9000,
    "escapes": [{"quote": '"\\'}] * 2000,
    "emoji": "😀" * 5000,
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_large_result_is_cut_with_a_mark(queue: JobQueue, kind: str) -> None:
    result = finished(queue, LARGE[kind]).result

    assert isinstance(result, str)
    assert "truncated" in result
    assert 15 * KB < len(dump_json(result).encode()) <= 16 * KB


def test_large_messages_and_details_are_cut_with_a_mark(queue: JobQueue) -> None:
    run = finished(queue, JobResult(message="é" * KB, details={"a": ["x"] * 3000})).runs[0]

    assert run.message.endswith("bytes]")
    assert run.message.startswith("ééé")
    assert len(run.message.encode()) <= KB
    assert "truncated" in run.details
    assert len(dump_json(run.details).encode()) <= 4 * KB


def test_a_failure_keeps_its_message_and_details_too(queue: JobQueue) -> None:
    answer = JobResult(success=False, message="m" * 2 * KB, details={"a": "x" * 9 * KB})

    dead = finished(queue, answer)

    assert dead.status == "dead_letter"
    assert all(len(run.message.encode()) <= KB and "truncated" in run.details for run in dead.runs)


def test_a_long_traceback_is_cut_to_its_useful_end(queue: JobQueue) -> None:
    def deep(_: JobContext) -> None:
        def down(level: int) -> None:
            if level == 0:
                raise ValueError("x" * 9000)
            down(level - 1)

        down(100)

    queue.enqueue("work", {"do": "call"}, max_attempts=1)
    [dead] = drain(queue, working(deep))

    assert len((dead.last_error or "").encode()) <= 4 * KB
    assert "ValueError: xxx" in (dead.last_error or "")
    assert len((dead.runs[0].error or "").encode()) <= 300


def test_ten_large_runs_fit_into_one_item(queue: JobQueue) -> None:
    answer = JobResult(success=False, message="m" * 2 * KB, details=["\x00" * 9 * KB])
    queue.enqueue("work", {"do": "call", "value": "p" * 60 * KB}, max_attempts=12)

    [dead] = drain(queue, working(lambda _: answer), advance=True)

    assert (dead.attempts, len(dead.runs)) == (12, 10)
    assert queue.get(dead) == dead
