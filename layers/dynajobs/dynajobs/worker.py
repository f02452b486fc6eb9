"""Poll and handlers in one process: threads that claim, begin and run due jobs until told to stop."""

from __future__ import annotations

import os
import queue as queues
import socket
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from dynajobs import keys, lifecycle
from dynajobs.claiming import report_claim
from dynajobs.errors import DynajobsError
from dynajobs.execution import Executor
from dynajobs.finishing import Finisher
from dynajobs.firing import Scheduler
from dynajobs.item import Stored
from dynajobs.job import Job, Status
from dynajobs.lanes import OVERLAP, Turns, Walk
from dynajobs.lease import Renewer
from dynajobs.poller import SWEEP_EVERY
from dynajobs.queue import JobQueue
from dynajobs.registry import Registry
from dynajobs.telemetry import Telemetry, logger

TELL_EVERY = timedelta(seconds=45)
"""So often a worker writes down that it looked, for those who watch over the queue."""

ROUNDS = 4
"""Rounds of POLL_LIMIT after which the lanes are read from the front again, for what is urgent and new."""

BUSY_PAUSE = 0.02
IDLE_PAUSE = 0.75
"""Seconds between two looks: short after there was work, twice as long each time there was none."""


def worker_name() -> str:
    """Which process ran a job, for whoever looks at its runs."""
    return f"{socket.gethostname()}:{os.getpid()}"


def begin_here(executor: Executor, seen: Stored, worker: str) -> Stored | None:
    """Claim and begin a job in one write, for a process that runs it itself; None if it cannot be run.

    A lapsed lease may end the job instead; that is recorded and told.
    """
    queue = executor.queue
    now, lease = queue.now(), queue.settings.lease
    limit = executor.max_attempts(seen.job.job_type)
    job = lifecycle.claim(seen.job, now, token=keys.new_id(), lease=lease, max_attempts=limit)
    if not job.status.finished:
        job = lifecycle.begin(job, now, worker=worker, log=None, max_attempts=limit, until=now + lease)
    claimed = queue.store.claim(seen, job)
    if claimed is None:
        return None
    report_claim(executor.telemetry, seen.job, claimed, executor.registry.handlers.get(claimed.job_type))
    return queue.store.as_stored(claimed) if claimed.status is Status.IN_PROGRESS else None


@dataclass(frozen=True, slots=True)
class Share:
    """Which jobs a process of several takes first."""

    number: int = 0
    of: int = 1

    def owns(self, job_id: str) -> bool:
        """Whether a job is in this share."""
        return keys.shard_of(job_id, self.of) == self.number


class Worker:
    """Runs the jobs of a queue with the handlers of a registry.

    Stopping: no new claims, then running jobs may finish for as long as the settings allow.
    """

    def __init__(
        self,
        queue: JobQueue,
        registry: Registry,
        *,
        concurrency: int | None = None,
        telemetry: Telemetry | None = None,
        share: Share | None = None,
    ) -> None:
        self.queue = queue
        self.telemetry = telemetry or Telemetry(queue.settings)
        renewer, finisher = Renewer(queue.settings.lease), Finisher(queue.store)
        self.executor = Executor(queue, registry, self.telemetry, renewer, finisher.settle)
        self.concurrency = concurrency or queue.settings.worker_concurrency
        self.share = share or Share()
        self.name = worker_name()
        self.scheduler = Scheduler(queue, self.telemetry)
        self._turns = Turns()
        self._feed: queues.Queue[Stored | None] = queues.Queue(maxsize=queue.settings.poll_limit)
        self._taken: set[str] = set()
        self._ended: set[str] = set()
        self._left: dict[str, float] = {}
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name=f"dynajobs-worker-{number}", daemon=True)
            for number in range(self.concurrency)
        ]
        self._swept = -float("inf")
        self._shards = 1
        self._once = False
        self._passed = self._fired = -float("inf")
        self._looked_at: datetime | None = None
        self.finished = 0

    def stop(self) -> None:
        """Claim nothing more; safe to call from a signal handler."""
        self._stop.set()

    def run(self, *, once: bool = False) -> bool:
        """Work until stopped, or once until nothing is due; True if every job begun was finished in time."""
        for thread in self._threads:
            thread.start()
        pause, self._once = BUSY_PAUSE, once
        try:
            while not self._stop.is_set():
                if once:
                    self._read_all()
                fed, coming = self._look()
                if fed:
                    pause = BUSY_PAUSE
                    continue
                if once and self._idle():
                    break
                until_due = (coming - self.queue.now()).total_seconds() if coming else pause
                self._stop.wait(max(min(pause, until_due), 0))
                pause = min(pause * 2, IDLE_PAUSE)
        finally:
            drained = self._drain()
            self.telemetry.flush()
        return drained

    def _look(self) -> tuple[int, datetime | None]:
        """Feed what is due to the threads: how many, and when the next falls due if that is soon."""
        settings = self.queue.settings
        most = ROUNDS * settings.poll_limit
        self._ended = set()
        try:
            self._fire()
            if not settings.enabled:
                logger.info("disabled: nothing is claimed (DYNAJOBS_ENABLED is false)")
                self._pause()
                return 0, None
            walk = self._walk()
            lanes = [walk.claimable(priority) for priority in keys.PRIORITIES]
            due = list(islice(self._turns.order(lanes), most))
            if due and self._reserved(fresh=True):
                self._read_all()
                return 0, self.scheduler.coming
        except DynajobsError as error:
            logger.warning("poll failed", extra={"reason": str(error)})
            self._fired = -float("inf")
            self._read_all()
            self._pause()
            return 0, None
        if len(due) == most:
            self._read_all()  # there may be more
        new = [seen for seen in due if not self._known(seen.job.id)]
        # Other processes of this worker see the same jobs: theirs are left to them unless threads are free.
        free = len(self._taken) < self.concurrency
        mine = [seen for seen in new if self.share.owns(seen.job.id)] or (new if free else [])
        for seen in mine:
            self._taken.add(seen.job.id)
            self._put(seen)
        return len(mine), min(filter(None, (walk.coming, self.scheduler.coming)), default=None)

    def _fire(self) -> None:
        """Look for due schedules now and then, and when one that was coming is due."""
        now, interval = self.queue.now(), self.queue.settings.poll_interval_seconds
        if time.monotonic() - self._fired >= interval or self.scheduler.awaits(now):
            self._fired = time.monotonic()
            if self.scheduler.look(now, timedelta(seconds=interval)):
                self._read_all()

    def _read_all(self) -> None:
        """The next look begins at the front: there is more than what falls due by then."""
        self._passed = -float("inf")

    def _reserved(self, *, fresh: bool = False) -> bool:
        return self.queue.store.control.reserved(self.queue.now(), fresh=fresh)

    def _pause(self) -> None:
        if not self._once:
            self._stop.wait(self.queue.settings.poll_interval_seconds)

    def _walk(self) -> Walk:
        """All lanes from the front now and then; else only what fell due since the last look."""
        settings, store, now = self.queue.settings, self.queue.store, self.queue.now()
        since = self._looked_at - OVERLAP if self._looked_at else None
        if time.monotonic() - self._passed >= settings.poll_interval_seconds:
            self._passed, since = time.monotonic(), None
            agreed = store.control.read()
            self._shards = agreed.shards
            # One of several workers is enough to show that somebody looks.
            if agreed.looked_at is None or now - agreed.looked_at >= TELL_EVERY:
                store.control.tell_worked(now)
        self._looked_at = now
        ahead = timedelta(seconds=settings.poll_interval_seconds)
        walk = Walk(
            store,
            now,
            range(self._shards),
            self.telemetry,
            since=since,
            ahead=ahead,
            page=ROUNDS * settings.poll_limit,
        )
        if time.monotonic() - self._swept > SWEEP_EVERY.total_seconds():
            self._swept = time.monotonic()
            walk.sweep()
        return walk

    def _known(self, job_id: str) -> bool:
        """In our hands, or it was when this look began: what was read may be older than what was done."""
        return job_id in self._taken or job_id in self._ended or self._was_left(job_id)

    def _was_left(self, job_id: str) -> bool:
        """A job that could not be started waits for the next interval: trying at once would only be busy."""
        if time.monotonic() < self._left.get(job_id, 0):
            return True
        self._left.pop(job_id, None)
        return False

    def _put(self, seen: Stored) -> None:
        while not self._stop.is_set():
            try:
                self._feed.put(seen, timeout=0.2)
                return
            except queues.Full:
                continue

    def _idle(self) -> bool:
        return not self._taken and self._feed.empty()

    def _work(self) -> None:
        while (seen := self._feed.get()) is not None:
            try:
                if not self._stop.is_set():
                    self._start(seen)
            except Exception:  # noqa: BLE001 - its lease lapses, the job is claimed again; this thread goes on
                logger.exception("job left", extra={"job_id": seen.job.id, "job_type": seen.job.job_type})
                self._left[seen.job.id] = time.monotonic() + self.queue.settings.poll_interval_seconds
            finally:
                self._ended.add(seen.job.id)
                self._taken.discard(seen.job.id)

    def _start(self, seen: Stored) -> None:
        if self._reserved():
            return
        begun = begin_here(self.executor, seen, self.name)
        if begun is not None:
            job: Job | None = self.executor.run(begun)
            if job is not None:
                self.finished += 1

    def _drain(self) -> bool:
        """Let running jobs finish for a while; what was fed but not claimed stays where it is."""
        self._stop.set()
        deadline = time.monotonic() + self.queue.settings.shutdown_timeout_seconds
        for _ in self._threads:
            self._offer_end(deadline)
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0))
        left = sum(thread.is_alive() for thread in self._threads)
        if left:
            logger.warning("stopped with jobs still running", extra={"running": left})
        return left == 0

    def _offer_end(self, deadline: float) -> None:
        while True:
            try:
                self._feed.put(None, timeout=0.05)
                return
            except queues.Full:
                if time.monotonic() > deadline:
                    return
