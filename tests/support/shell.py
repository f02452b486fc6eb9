"""The installed `dynajobs` script in a folder of its own."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dynajobs import JobQueue
from tests.support.engines import RunningEngine

SCRIPT = Path(sys.executable).parent / "dynajobs"
PATIENCE = 60
HANDLERS = """
import os
import time
from dynajobs import Registry

jobs = Registry()

@jobs.handler("quick")
def quick(payload: dict) -> dict:
    print("a handler prints", payload["name"])
    return {"said": payload["name"]}

@jobs.handler("slow")
def slow(payload: dict) -> None:
    time.sleep(payload["seconds"])

@jobs.handler("held")
def held(payload: dict) -> None:
    while not os.path.exists("released"):
        time.sleep(0.05)
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


def prepared(folder: Path, engine: RunningEngine, table: str) -> Shell:
    """A shell in a folder whose stack is a table of an engine."""
    (folder / "handlers.py").write_text(HANDLERS)
    (folder / ".local").mkdir()
    note = {"endpoint": engine.endpoint_url, "region": "us-east-1", "table": table}
    (folder / ".local" / "stack.json").write_text(json.dumps(note))
    return Shell(folder)


def wait_for(queue: JobQueue, job_id: str, status: str) -> None:
    give_up_at = time.monotonic() + PATIENCE
    while queue.get(job_id).status != status:
        assert time.monotonic() < give_up_at, queue.get(job_id)
        time.sleep(0.05)
