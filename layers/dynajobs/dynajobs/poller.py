"""The poll: find due jobs, claim as many as may run at once, hand each to its Lambda function."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from dynajobs import fault, keys, lifecycle
from dynajobs.claiming import backoff_delay, report_claim
from dynajobs.errors import DynajobsError, Unavailable
from dynajobs.invoke import LambdaInvoke
from dynajobs.item import Stored
from dynajobs.job import Job, Status
from dynajobs.lanes import Turns, Walk
from dynajobs.listing import lane_count
from dynajobs.queue import JobQueue
from dynajobs.settings import Settings
from dynajobs.store import Changed
from dynajobs.telemetry import Telemetry, configure, logger

if TYPE_CHECKING:
    Invoke = Callable[[str, Job], None]

MIN_CLAIM_LEASE = timedelta(seconds=90)
"""A claim waits for its function to begin: longer than Lambda may hold the event (60 s) and start cold."""

CLAIM_THREADS = 8
LEASE_SEARCH = 1000
"""Live items per priority that are looked at to count the leases in force."""

SWEEP_EVERY = timedelta(hours=1)
FULL_WAIT = 1.0
"""Seconds until a poller that met the cap looks again."""

WINDOW_MARGIN = timedelta(seconds=10)


@dataclass(slots=True)
class Pass:
    """What one look at the lanes found and did."""

    claimed: int = 0
    fired: int = 0
    waiting: int = 0
    """Due jobs that were left because the cap was reached."""


@dataclass(slots=True)
class Survey:
    """The lanes at one moment: what can be claimed, by priority, and how many leases are in force."""

    lanes: list[list[Stored]]
    leases: int


class Poller:
    """Hands due jobs to Lambda functions. Several may run at once: every claim has one winner."""

    def __init__(self, queue: JobQueue, invoke: Invoke, telemetry: Telemetry | None = None) -> None:
        self.queue = queue
        self.invoke = invoke
        self.telemetry = telemetry or Telemetry(queue.settings)
        self._turns = Turns()
        self._swept_at: datetime | None = None

    @property
    def settings(self) -> Settings:
        return self.queue.settings

    def poll(self) -> Pass:
        """One full pass: claim in rounds until nothing is left to claim or the cap is reached."""
        done = Pass()
        if not self.settings.enabled:
            logger.info("disabled: nothing is claimed (DYNAJOBS_ENABLED is false)")
            return done
        store = self.queue.store
        walk = Walk(store, self.queue.now(), lane_count(store.control(), store), self.telemetry)
        self._sweep(walk)
        survey = self._survey(walk)
        free = max(self.settings.max_in_flight - survey.leases, 0)
        done.waiting = sum(map(len, survey.lanes))
        scarce = done.waiting > free
        candidates = self._turns.order(survey.lanes) if scarce else chain.from_iterable(survey.lanes)
        with ThreadPoolExecutor(CLAIM_THREADS, thread_name_prefix="dynajobs-claim") as pool:
            while batch := list(islice(candidates, min(self.settings.poll_limit, free - done.claimed))):
                done.waiting -= len(batch)
                done.claimed += sum(pool.map(self._start, batch))
        return done

    def _sweep(self, walk: Walk) -> None:
        if self._swept_at is None or walk.now - self._swept_at >= SWEEP_EVERY:
            self._swept_at = walk.now
            walk.sweep()

    def _survey(self, walk: Walk) -> Survey:
        lanes: list[list[Stored]] = []
        leases = 0
        for priority in keys.PRIORITIES:
            claimable: list[Stored] = []
            for seen in islice(walk.priority(priority), LEASE_SEARCH + self.settings.max_in_flight):
                if not lifecycle.claimable(seen.job, walk.now):
                    leases += 1
                elif len(claimable) <= self.settings.max_in_flight:
                    claimable.append(seen)
            lanes.append(claimable)
        return Survey(lanes, leases)

    def _start(self, seen: Stored) -> bool:
        """Claim one job and hand it over; True if it is on its way."""
        try:
            return self._claim_and_hand_over(seen)
        except DynajobsError as error:
            logger.warning("job not started", extra={"job_id": seen.job.id, "reason": str(error)})
            return False

    def _claim_and_hand_over(self, seen: Stored) -> bool:
        now = self.queue.now()
        claimed = lifecycle.claim(
            seen.job,
            now,
            token=keys.new_id(),
            lease=max(self.settings.lease, MIN_CLAIM_LEASE),
            max_attempts=self.settings.max_attempts,
        )
        handlers = self.settings.handlers
        function = handlers.get(seen.job.job_type) or handlers.get("*")
        if function is None and claimed.status is Status.IN_PROGRESS:
            claimed = self._begun_here(claimed, now)
        job = self.queue.store.claim(seen, claimed)
        if job is None:
            return False
        report_claim(self.telemetry, seen.job, job)
        if job.status is not Status.IN_PROGRESS:
            return False
        if function is None:
            self._fail_unknown(job)
            return True
        try:
            self.invoke(function, job)
        except Unavailable as error:
            self._release(seen.job, job, str(error))
            return False
        return True

    def _release(self, seen: Job, job: Job, reason: str) -> None:
        """The function could not be invoked: give the claim back at once."""
        status = seen.status if seen.status is not Status.IN_PROGRESS else _waiting_status(job)
        delay = backoff_delay(self.queue, job.undelivered + 1, self.queue.random.random())
        released = lifecycle.release(job, self.queue.now(), status=status, reason=reason, delay=delay)
        try:
            released = self.queue.store.replace(self.queue.store.as_stored(job), released)
        except Changed:
            return  # cancelled meanwhile, or an earlier try of ours arrived
        self.telemetry.transition("job released", released, level=logging.WARNING, reason=reason)
        if released.status is Status.DEAD_LETTER:
            self.telemetry.failure(released, None, message=released.last_error)

    def _begun_here(self, job: Job, now: datetime) -> Job:
        until = job.lock_expires_at or now
        limit = self.settings.max_attempts
        return lifecycle.begin(job, now, worker="poller", log=None, max_attempts=limit, until=until)

    def _fail_unknown(self, job: Job) -> None:
        """No function for the type: an ordinary failed attempt, begun by the claim and failed here."""
        cause = fault.from_message(
            job.job_type,
            "UnknownJobType",
            f"no function for job type {job.job_type!r}: add it to DYNAJOBS_HANDLERS, or a fallback '*'",
        )
        jitter = self.queue.random.random()
        store = self.queue.store
        failed = store.settle(
            store.as_stored(job),
            lambda seen: lifecycle.fail(
                seen, self.queue.now(), cause, delay=backoff_delay(self.queue, seen.attempts + 1, jitter)
            ),
        )
        self.telemetry.transition("job failed", failed)
        self.telemetry.failure(failed, None, message=cause.error)


def _waiting_status(job: Job) -> Status:
    return Status.FAILED if job.attempts else Status.PENDING


def lambda_handler(
    queue: JobQueue | None = None, invoke: Invoke | None = None
) -> Callable[[Any, Any], dict[str, Any]]:
    """The poller Lambda: passes until nothing is due, or its time is nearly up."""
    made: list[Poller] = []

    def handle(event: Any, context: Any) -> dict[str, Any]:  # noqa: ARG001 - a tick says nothing but "now"
        if not made:
            opened = queue or JobQueue.from_env()
            configure(opened.settings)
            made.append(Poller(opened, invoke or LambdaInvoke()))
        poller = made[0]
        try:
            return {"ok": True, **_polled(poller, context)}
        finally:
            poller.telemetry.flush()

    return handle


def _polled(poller: Poller, context: Any) -> dict[str, int]:
    """Pass again while the cap holds jobs back, as long as the invocation lasts."""
    left = getattr(context, "get_remaining_time_in_millis", None)
    total = Pass()
    while True:
        done = poller.poll()
        total.claimed += done.claimed
        total.fired += done.fired
        enough = left is None or timedelta(milliseconds=left()) < WINDOW_MARGIN
        if not done.waiting or enough:
            return {"claimed": total.claimed, "fired": total.fired}
        time.sleep(FULL_WAIT)
