"""Several processes at one table, as in production: nothing is lost, nothing is done twice."""

import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from dynajobs import JobQueue, Status
from dynajobs.item import decode
from dynajobs.testing import create_table, drain
from tests.support import processes
from tests.support.engines import RunningEngine
from tests.support.table import all_items, finished_items, live_items

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("dynoxide")]
SPAWN = multiprocessing.get_context("spawn")
PATIENCE = 120


@pytest.fixture
def place(dynoxide: RunningEngine, table_name: str) -> tuple[str, str]:
    """Where the table is: the engine's address and the table's name."""
    queue = processes.open_queue(dynoxide.endpoint_url, table_name)
    create_table(queue.store.table.client, table_name)
    return dynoxide.endpoint_url, table_name


@contextmanager
def running(*targets: Callable[..., None], args: tuple[Any, ...]) -> Iterator[list[Any]]:
    """Processes that never outlive the test."""
    started = [SPAWN.Process(target=target, args=args, daemon=True) for target in targets]
    for process in started:
        process.start()
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.join()


def effects(queue: JobQueue) -> dict[str, str]:
    return {
        item["PK"]["S"].removeprefix("effect#"): item["times"]["N"] for item in all_items(queue, "effect#")
    }


def test_two_pollers_and_two_workers_do_every_job_once(place: tuple[str, str]) -> None:
    queue = processes.open_queue(*place)
    made = {job.id for job in queue.enqueue_many("count", [{}] * 300)}
    start = SPAWN.Barrier(4)

    with running(
        processes.poll, processes.work, processes.poll, processes.work, args=(*place, start)
    ) as started:
        for process in started:
            process.join(PATIENCE)
        assert [process.exitcode for process in started] == [0] * 4

    assert effects(queue) == dict.fromkeys(made, "1")
    assert live_items(queue) == []
    assert queue.stats().by_status == dict.fromkeys(Status, 0) | {Status.COMPLETED: 300}
    done = [decode(item, queue.settings) for item in finished_items(queue)]
    assert {(job.attempts, len(job.runs), job.undelivered) for job in done} == {(0, 1, 0)}


def test_of_claimers_in_several_processes_one_wins_each_job(place: tuple[str, str]) -> None:
    queue = processes.open_queue(*place)
    made = {job.id for job in queue.enqueue_many("count", [{}] * 60)}
    start, wins = SPAWN.Barrier(4), SPAWN.Queue()

    with running(*[processes.claim_all] * 4, args=(*place, start, wins)):
        won: list[tuple[str, str]] = []
        ended = 0
        while ended < 4:
            entry = wins.get(timeout=PATIENCE)
            ended += entry is None
            won += [entry] if entry else []

    assert Counter(job_id for job_id, _ in won) == dict.fromkeys(made, 1)
    assert {job.id: job.locked_by for job in queue.list(limit=200)} == dict(won)


def test_a_job_whose_worker_is_killed_is_finished_by_another(place: tuple[str, str]) -> None:
    queue = processes.open_queue(*place)
    job = queue.enqueue("count", {"hold": True})

    with running(processes.work, args=(*place, SPAWN.Barrier(1))) as [worker]:
        give_up_at = time.monotonic() + PATIENCE
        while not queue.get(job).runs and time.monotonic() < give_up_at:
            time.sleep(0.05)
        worker.kill()  # SIGKILL: no cleanup, no last words
        worker.join()
    held = queue.get(job)
    assert (held.status, held.attempts, [run.status for run in held.runs]) == ("in_progress", 0, ["running"])
    assert drain(queue, processes.counting(queue)) == []

    later = processes.open_queue(*place, ahead=timedelta(seconds=63))
    [done] = drain(later, processes.counting(later))

    assert (done.id, done.status, done.attempts) == (job.id, Status.COMPLETED, 1)
    assert [run.status for run in done.runs] == ["expired", "completed"]
    assert done.runs[0].worker == held.runs[0].worker
    assert "lease expired" in (done.last_error or "")
    assert effects(queue) == {job.id: "1"}
