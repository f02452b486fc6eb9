"""The installed `dynajobs` script as a process of its own, on a DynamoDB that answers over HTTP."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dynajobs import JobQueue
from dynajobs.testing import create_table
from tests.support import engines
from tests.support.engines import RunningEngine

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("dynoxide")]

SCRIPT = Path(sys.executable).parent / "dynajobs"
PATIENCE = 60
HANDLERS = """
import time
from dynajobs import Registry

jobs = Registry()

@jobs.handler("quick")
def quick(payload: dict) -> dict:
    return {"said": payload["name"]}

@jobs.handler("slow")
def slow(payload: dict) -> None:
    time.sleep(payload["seconds"])
"""


class Shell:
    """A folder with a stack's note and a module of handlers, and nothing of AWS in the environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        # Tests run beside each other: a worker that looks every second sees its job soon.
        settings = {"DYNAJOBS_POLL_INTERVAL_SECONDS": "1", "PYTHONUNBUFFERED": "1", **environment}
        return subprocess.Popen(
            [SCRIPT, *arguments],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), **settings},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        with ended(self.start(*arguments, **environment)) as process:
            stdout, stderr = process.communicate(timeout=PATIENCE)
            return process.returncode, stdout, stderr

    def json(self, *arguments: str) -> Any:
        code, stdout, stderr = self.run(*arguments, "--json")
        assert code == 0, stderr
        return json.loads(stdout)


@contextlib.contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Whatever a test finds, its process does not stay behind."""
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def queue(dynoxide: RunningEngine, table_name: str) -> JobQueue:
    client = engines.client(dynoxide)
    create_table(client, table_name)
    return JobQueue(table_name, client=client)


@pytest.fixture
def shell(queue: JobQueue, dynoxide: RunningEngine, tmp_path: Path) -> Shell:
    (tmp_path / "handlers.py").write_text(HANDLERS)
    (tmp_path / ".local").mkdir()
    note = {"endpoint": dynoxide.endpoint_url, "region": "us-east-1", "table": queue.settings.table}
    (tmp_path / ".local" / "stack.json").write_text(json.dumps(note))
    return Shell(tmp_path)


def wait_for(queue: JobQueue, job_id: str, status: str) -> None:
    give_up_at = time.monotonic() + PATIENCE
    while queue.get(job_id).status != status:
        assert time.monotonic() < give_up_at, queue.get(job_id)
        time.sleep(0.05)


def test_a_job_s_whole_life_from_the_command_line(shell: Shell, queue: JobQueue) -> None:
    job = shell.json("jobs", "enqueue", "quick", "--payload", '{"name": "Ada"}')
    later = shell.json("jobs", "enqueue", "quick", "--delay", "1h")
    shell.json("jobs", "reschedule", later["id"], "--delay", "2h")
    shell.json("jobs", "cancel", later["id"])

    code, stdout, stderr = shell.run("worker", "handlers:jobs", "--once", "--json")

    assert (code, json.loads(stdout)) == (0, {"finished": 1, "drained": True})
    first, *_, last = [json.loads(line)["message"] for line in stderr.splitlines()]
    assert (first, last) == ("worker started", "worker stopped")
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
