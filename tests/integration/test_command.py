"""The installed `dynajobs` script as a process of its own, on a DynamoDB that answers over HTTP."""

import json
import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest

from dynajobs import JobQueue
from dynajobs.testing import create_table
from tests.support import engines
from tests.support.engines import RunningEngine
from tests.support.shell import PATIENCE, SCRIPT, Shell, ended, prepared, wait_for

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("dynoxide")]


@pytest.fixture
def queue(dynoxide: RunningEngine, table_name: str) -> JobQueue:
    client = engines.client(dynoxide)
    create_table(client, table_name)
    return JobQueue(table_name, client=client)


@pytest.fixture
def shell(queue: JobQueue, dynoxide: RunningEngine, tmp_path: Path) -> Shell:
    return prepared(tmp_path, dynoxide, queue.settings.table)


def test_a_job_s_whole_life_from_the_command_line(shell: Shell, queue: JobQueue) -> None:
    job = shell.json("jobs", "enqueue", "quick", "--payload", '{"name": "Ada"}')
    later = shell.json("jobs", "enqueue", "quick", "--delay", "1h")
    shell.json("jobs", "reschedule", later["id"], "--delay", "2h")
    shell.json("jobs", "cancel", later["id"])

    code, stdout, stderr = shell.run("worker", "handlers:jobs", "--once", "--json")

    assert (code, json.loads(stdout)) == (0, {"finished": 1, "drained": True})
    assert "a handler prints Ada" in stderr
    said = [json.loads(line)["message"] for line in stderr.splitlines() if line.startswith("{")]
    assert "worker started" in said and said[-1] == "worker stopped"
    assert shell.json("jobs", "show", job["id"])["result"] == {"said": "Ada"}
    again = shell.json("jobs", "retry", job["id"])
    assert again["retry_of"] == job["id"]
    assert [each["id"] for each in shell.json("jobs", "list", "--state", "pending")["jobs"]] == [again["id"]]
    counted = shell.json("stats")["by_status"]
    assert (counted["pending"], counted["completed"], counted["cancelled"]) == (1, 1, 1)
    assert queue.get(job["id"]).status == "completed"


def test_what_fails_ends_with_its_code_and_a_sentence(shell: Shell) -> None:
    unknown = "0198f3e0-0000-7000-8000-000000000000"
    cases: list[tuple[int, tuple[str, ...], dict[str, str]]] = [
        (1, ("jobs", "show", unknown), {}),
        (2, ("jobs", "enqueue", "quick", "--payload", "{"), {}),
        (3, ("stats", "--table", "nowhere"), {}),
        (4, ("stats",), {"AWS_PROFILE": "nobody"}),
    ]
    for expected, arguments, environment in cases:
        code, stdout, stderr = shell.run(*arguments, **environment)
        assert (code, stdout) == (expected, ""), arguments
        assert stderr.startswith("dynajobs: ") and "Traceback" not in stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_stopped_finishes_what_it_runs(
    shell: Shell, queue: JobQueue, number: signal.Signals
) -> None:
    job = queue.enqueue("slow", {"seconds": 1.5})
    with ended(shell.start("worker", "handlers:jobs")) as worker:
        wait_for(queue, job.id, "in_progress")
        worker.send_signal(number)
        stdout, _ = worker.communicate(timeout=PATIENCE)

    assert worker.returncode == 0, stdout
    assert '"drained":true' in stdout
    assert queue.get(job.id).status == "completed"


def test_a_worker_whose_job_does_not_end_in_time_says_so(shell: Shell, queue: JobQueue) -> None:
    job = queue.enqueue("slow", {"seconds": 600})
    with ended(shell.start("worker", "handlers:jobs", DYNAJOBS_SHUTDOWN_TIMEOUT_SECONDS="0")) as worker:
        wait_for(queue, job.id, "in_progress")
        worker.terminate()
        worker.communicate(timeout=PATIENCE)

    assert worker.returncode == 1
    assert queue.get(job.id).status == "in_progress"


def test_a_terminal_gets_colours_unless_it_asks_for_none(shell: Shell, queue: JobQueue) -> None:
    queue.enqueue("quick", {"name": "Ada"})

    def seen(**environment: str) -> str:
        main, side = pty.openpty()
        process = subprocess.Popen(
            [SCRIPT, "jobs", "list"],
            cwd=shell.folder,
            env={"PATH": os.environ["PATH"], "HOME": "/", "TERM": "xterm", "COLUMNS": "80", **environment},
            stdout=side,
        )
        assert process.wait(PATIENCE) == 0
        os.close(side)
        text = os.read(main, 100_000).decode()
        os.close(main)
        return text

    assert "\x1b[36m● pending" in seen()
    assert not re.search(r"\x1b\[[0-9;]*3\d", seen(NO_COLOR="1"))
