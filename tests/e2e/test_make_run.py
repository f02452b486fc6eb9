"""`make run` as a newcomer sees it, from the first line to Ctrl-C."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dynajobs import JobQueue, Settings, Status
from tests.support.calling import Caller, over_http
from tools.local import command, scratch
from tools.local.emulator import Emulator, free_port
from tools.local.layout import ROOT, Layout

# The environment these tests run in is not to be made anew under them.
MAKE = ["make", "--old-file=.venv/.stamp"]
READY_SECONDS = 240
STOP_SECONDS = 30


@dataclass
class Run:
    """A `make run` in a folder of its own."""

    make: subprocess.Popen[bytes]
    layout: Layout
    port: int
    output: Path

    @property
    def said(self) -> str:
        return self.output.read_text()

    def processes(self) -> list[str]:
        """What still runs out of this folder."""
        listed = subprocess.run(
            ["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True
        ).stdout
        places = (str(self.layout.home), str(scratch.in_memory(self.layout)))
        return [line for line in listed.splitlines() if any(place in line for place in places)]


def start(layout: Layout, port: int) -> Run:
    output = layout.home / "output.txt"
    with output.open("wb") as file:
        words = [*MAKE, "run", f"PORT={port}", f"LOCAL_HOME={layout.home}"]
        make = command.start(words, env=os.environ, cwd=ROOT, output=file)
    return Run(make, layout, port, output)


@pytest.fixture(scope="module")
def running(tools: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:  # noqa: ARG001
    run = start(Layout(tmp_path_factory.mktemp("make-run")), free_port())
    try:
        give_up_at = time.monotonic() + READY_SECONDS
        while "The stack is running." not in run.said:
            assert run.make.poll() is None and time.monotonic() < give_up_at, run.said
            time.sleep(0.5)
        yield run
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.make.pid, signal.SIGTERM)
        run.make.wait(STOP_SECONDS)


def test_the_jobs_to_watch_go_through_as_promised(running: Run) -> None:
    told: dict[str, list[str]] = {}
    for line in running.said.splitlines():
        for name in ("succeeds", "retried", "scheduled", "hopeless", "only once"):
            if f" s  {name} " in line:
                told.setdefault(name, []).append(line)

    assert "completed" in told["succeeds"][-1]
    assert "attempt 1 failed" in "".join(told["retried"]) and "completed" in told["retried"][-1]
    assert "due in 12 s" in told["scheduled"][0] and "completed" in told["scheduled"][-1]
    assert "dead letter after 2 failed attempts" in told["hopeless"][-1]
    assert "no second job" in "".join(told["only once"])
    assert "".join(told["only once"]).count("completed") == 1


def test_the_summary_says_how_to_go_on(running: Run) -> None:
    pointer = json.loads(running.layout.pointer.read_text())

    summary = running.said.split("The stack is running.")[1]
    for part in (pointer["table"], "dynajobs jobs enqueue", "make logs", "Ctrl-C"):
        assert part in summary


def test_the_pointer_leads_to_a_stack_that_works(running: Run) -> None:
    pointer = json.loads(running.layout.pointer.read_text())
    assert set(pointer) == {"endpoint", "region", "table", "poller", "url", "token", "read_token"}
    assert pointer["endpoint"] == f"http://127.0.0.1:{running.port}"
    assert running.layout.pointer.stat().st_mode & 0o777 == 0o600
    emulator = Emulator(layout=running.layout, port=running.port)
    queue = JobQueue(pointer["table"], client=emulator.client("dynamodb"), settings=Settings())
    job = queue.enqueue("daily_summary", {"user_id": "u1"})

    emulator.client("lambda").invoke(FunctionName=pointer["poller"])

    give_up_at = time.monotonic() + 60
    while not queue.get(job).status.finished and time.monotonic() < give_up_at:
        time.sleep(0.2)
    assert queue.get(job).status is Status.COMPLETED


def test_the_page_and_the_api_are_where_the_pointer_says(running: Run) -> None:
    pointer = json.loads(running.layout.pointer.read_text())
    api = Caller(over_http(pointer["url"]), pointer["token"], pointer["read_token"])

    page = api("GET", "/", token=None)
    assert page.status == 200 and "<title>dynajobs" in page.text
    assert api.ok("GET", "/api/admin/about")["table"] == pointer["table"]
    assert api("POST", "/api/jobs/tick", token=pointer["read_token"]).status == 403
    for part in (pointer["url"], pointer["token"], pointer["read_token"]):
        assert part in running.said


def test_the_page_has_something_to_show(running: Run) -> None:
    pointer = json.loads(running.layout.pointer.read_text())
    api = Caller(over_http(pointer["url"]), pointer["token"], pointer["read_token"])

    give_up_at = time.monotonic() + 90
    while True:
        schedules = {
            each["name"]: each for each in api.ok("GET", "/api/admin/schedules", recent=10)["schedules"]
        }
        outcomes = {run["outcome"] for run in schedules["hourly-sync"]["recent"]}
        groups = api.ok("GET", "/api/admin/errors")["groups"]
        if {"missed", "completed"} <= outcomes and len(groups) >= 3:
            break
        assert time.monotonic() < give_up_at, (outcomes, groups)
        time.sleep(0.5)
    assert {"fragile-import", "night-report", "slow-cleanup"} <= set(schedules)
    assert [each["name"] for each in api.ok("GET", "/api/admin/templates")["templates"]] == ["weekly-summary"]
    assert len(api.ok("GET", "/api/admin/jobs", state="pending")["jobs"]) >= 7
    assert len(api.ok("GET", "/api/admin/audit")["entries"]) >= 8


def test_finished_jobs_are_forgotten_in_time(running: Run) -> None:
    emulator = Emulator(layout=running.layout, port=running.port)
    table = json.loads(running.layout.pointer.read_text())["table"]

    found = emulator.client("dynamodb").describe_time_to_live(TableName=table)["TimeToLiveDescription"]

    assert (found["TimeToLiveStatus"], found["AttributeName"]) == ("ENABLED", "expires_at")


def test_a_second_one_in_the_folder_is_refused_in_a_sentence(running: Run) -> None:
    words = [*MAKE, "run", f"PORT={free_port()}", f"LOCAL_HOME={running.layout.home}"]

    second = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)

    assert second.returncode != 0
    assert "A stack is already running in this folder" in second.stderr
    assert "Traceback" not in second.stderr
    assert running.layout.pointer.exists()


def test_a_signal_to_make_stops_all_of_it_and_nothing_is_left(running: Run) -> None:
    """The last test here: it ends what the others use."""
    assert running.processes()
    began = time.monotonic()

    running.make.send_signal(signal.SIGTERM)
    running.make.wait(STOP_SECONDS)

    assert time.monotonic() - began < STOP_SECONDS
    assert "Stopped." in running.said
    assert running.processes() == []
    assert not running.layout.pointer.exists()
    assert not running.layout.scratch.exists()
    assert not scratch.in_memory(running.layout).exists()
