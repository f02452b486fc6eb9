"""A worker of several processes: they share the work, replace their dead, and end together."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from dynajobs import JobQueue
from dynajobs.testing import create_table
from tests.support import engines
from tests.support.engines import RunningEngine
from tests.support.shell import PATIENCE, Shell, ended, prepared, wait_for

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("dynoxide")]


@pytest.fixture
def queue(dynoxide: RunningEngine, table_name: str) -> JobQueue:
    client = engines.client(dynoxide)
    create_table(client, table_name)
    return JobQueue(table_name, client=client)


@pytest.fixture
def shell(queue: JobQueue, dynoxide: RunningEngine, tmp_path: Path) -> Shell:
    return prepared(tmp_path, dynoxide, queue.settings.table)


def members(parent: int) -> list[int]:
    """The processes a crew started."""
    answer = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False)
    return [int(line) for line in answer.stdout.split()]


def gone(processes: list[int]) -> bool:
    give_up_at = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{each}").exists() for each in processes):
        if time.monotonic() > give_up_at:
            return False
        time.sleep(0.05)
    return True


def test_processes_share_the_work(shell: Shell, queue: JobQueue) -> None:
    jobs = queue.enqueue_many("quick", [{"name": str(n)} for n in range(120)])

    code, stdout, _ = shell.run("worker", "handlers:jobs", "--once", "--processes", "2", "--json")

    assert (code, json.loads(stdout)) == (0, {"finished": 120, "drained": True})
    done = [queue.get(job) for job in jobs]
    assert {(job.status, job.attempts, len(job.runs)) for job in done} == {("completed", 0, 1)}
    by_process = Counter(job.runs[0].worker for job in done)
    assert len(by_process) == 2 and min(by_process.values()) > 20, by_process


def test_a_process_that_is_killed_is_replaced(shell: Shell, queue: JobQueue) -> None:
    first = [queue.enqueue("slow", {"seconds": 0.01}) for _ in range(4)]
    with ended(shell.start("worker", "handlers:jobs", "--processes", "2")) as crew:
        for job in first:
            wait_for(queue, job.id, "completed")
        before = members(crew.pid)
        os.kill(before[0], signal.SIGKILL)
        assert gone(before[:1])
        later = [queue.enqueue("slow", {"seconds": 0.01}) for _ in range(8)]
        for job in later:
            wait_for(queue, job.id, "completed")
        give_up_at = time.monotonic() + PATIENCE
        while len(members(crew.pid)) < 2:
            assert time.monotonic() < give_up_at
            time.sleep(0.05)
        assert set(members(crew.pid)) != set(before)
        crew.terminate()
        crew.communicate(timeout=PATIENCE)

    assert crew.returncode == 0


def test_stopping_lets_every_process_finish(shell: Shell, queue: JobQueue) -> None:
    jobs = [queue.enqueue("held") for _ in range(4)]
    with ended(shell.start("worker", "handlers:jobs", "--processes", "2", "--concurrency", "2")) as crew:
        for job in jobs:
            wait_for(queue, job.id, "in_progress")
        running = members(crew.pid)
        crew.send_signal(signal.SIGTERM)
        (shell.folder / "released").touch()
        crew.communicate(timeout=PATIENCE)

    assert crew.returncode == 0
    assert {queue.get(job).status for job in jobs} == {"completed"}
    assert gone(running)


def test_processes_do_not_outlive_the_one_that_started_them(shell: Shell, queue: JobQueue) -> None:
    job = queue.enqueue("slow", {"seconds": 0.01})
    with ended(shell.start("worker", "handlers:jobs", "--processes", "2")) as crew:
        wait_for(queue, job.id, "completed")
        running = members(crew.pid)
        assert len(running) == 2
        crew.kill()

        assert gone(running)
