"""How late jobs start on the deployed stack, and what an idle one costs.

Lateness is from the moment a job was due to the start of its run. On the emulator it holds the emulator's own
time: until a record of the stream arrives (about 0.4 s) and until an invoked function runs. The poller's log
tells when a job was claimed, so the two parts are shown apart.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median

from dynajobs import Job
from dynajobs.units import DOLLARS_PER_MILLION_READS, DOLLARS_PER_MILLION_WRITES
from tests.support import deployment
from tests.support.deployment import Deployment
from tools.local.toolbox import MINISTACK, SAM

SINGLE = 40
TIMED = 20
BURST = 1000
TICKS_A_MONTH = 60 * 24 * 365 / 12
POLLER_GB = 0.25
DOLLARS_PER_GB_SECOND = 0.0000166667
DOLLARS_PER_MILLION_INVOCATIONS = 0.20


@dataclass(frozen=True)
class Lateness:
    """Seconds from due to claimed and from claimed to started, job by job."""

    to_claim: list[float]
    to_start: list[float]

    @property
    def total(self) -> list[float]:
        return [claim + start for claim, start in zip(self.to_claim, self.to_start, strict=True)]


@contextmanager
def stack() -> Iterator[Deployment]:
    """The shipped stack, with the handlers of the end-to-end tests."""
    for tool in (SAM, MINISTACK):
        tool.prepare()
    with tempfile.TemporaryDirectory(prefix="dynajobs-bench-") as folder:
        deployed = deployment.deploy(Path(folder))
        try:
            deployed.ticking(False)
            warm_up(deployed)
            yield deployed
        finally:
            deployed.emulator.stop()


def warm_up(stack: Deployment) -> None:
    finished(stack, [stack.queue.enqueue("e2e.work", {"batch": "warm"}) for _ in range(3)])


def due_now(stack: Deployment) -> Lateness:
    """One job at a time, each enqueued while everything is idle."""
    done: list[Job] = []
    for _ in range(SINGLE):
        done += finished(stack, [stack.queue.enqueue("e2e.work", {"batch": "now"})])
        time.sleep(0.2)
    return lateness(stack, done)


def due_then(stack: Deployment) -> Lateness:
    """Jobs enqueued some seconds ahead of a known moment."""
    jobs = [stack.queue.enqueue("e2e.work", {"batch": "then"}, delay=4 + number) for number in range(TIMED)]
    return lateness(stack, finished(stack, jobs))


def in_a_burst(stack: Deployment) -> Lateness:
    """Many at once, under the cap that the emulator needs."""
    jobs = stack.queue.enqueue_many("e2e.work", [{"batch": "burst"}] * BURST)
    return lateness(stack, finished(stack, jobs, within=600))


def without_stream(stack: Deployment) -> Lateness:
    """Jobs that only the tick finds."""
    stack.waking(False)
    stack.ticking(True)
    try:
        jobs = []
        for _ in range(12):
            jobs.append(stack.queue.enqueue("e2e.work", {"batch": "tick"}))
            time.sleep(5)
        return lateness(stack, finished(stack, jobs, within=200))
    finally:
        stack.ticking(False)
        stack.waking(True)


def idle_tick_seconds(stack: Deployment) -> float:
    """What a poll takes that finds nothing, with the emulator's time to invoke it."""
    taken = []
    for _ in range(10):
        started = time.perf_counter()
        stack.poll()
        taken.append(time.perf_counter() - started)
    return median(taken)


def idle_month(seconds: float, reads: float, writes: float) -> dict[str, float]:
    """Dollars a month of a stack that has nothing to do."""
    return {
        "reads": TICKS_A_MONTH * reads * DOLLARS_PER_MILLION_READS / 1e6,
        "writes": TICKS_A_MONTH * writes * DOLLARS_PER_MILLION_WRITES / 1e6,
        "invocations": TICKS_A_MONTH * DOLLARS_PER_MILLION_INVOCATIONS / 1e6,
        "Lambda's time": TICKS_A_MONTH * seconds * POLLER_GB * DOLLARS_PER_GB_SECOND,
    }


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def finished(stack: Deployment, jobs: list[Job], within: float = 120) -> list[Job]:
    """Nobody polls: the stack does it all."""
    give_up_at = time.monotonic() + within
    done = []
    for job in jobs:
        while not (now := stack.queue.get(job)).status.finished:
            if time.monotonic() > give_up_at:
                raise SystemExit(f"a job did not end in {within:g} s: {now}")
            time.sleep(0.05)
        done.append(now)
    return done


def lateness(stack: Deployment, jobs: list[Job]) -> Lateness:
    claimed = _claims(stack)
    found = Lateness([], [])
    for job in jobs:
        started_at = job.runs[-1].started_at
        if started_at is None or job.id not in claimed:
            raise SystemExit(f"the poller's log does not tell of job {job.id}")
        found.to_claim.append((claimed[job.id] - job.scheduled_for) / timedelta(seconds=1))
        found.to_start.append((started_at - claimed[job.id]) / timedelta(seconds=1))
    return found


def _claims(stack: Deployment) -> dict[str, datetime]:
    """When each job was claimed, by the poller's log."""
    pages = (
        stack.emulator.client("logs")
        .get_paginator("filter_log_events")
        .paginate(logGroupName="/aws/lambda/dynajobs-poller")
    )
    found: dict[str, datetime] = {}
    for page in pages:
        for event in page["events"]:
            for line in re.findall(r"\{.*\"job claimed\".*\}", event["message"]):
                said = json.loads(line)
                found[said["job_id"]] = datetime.fromisoformat(said["timestamp"])
    return found
