"""The poll: find due jobs, claim as many as may run at once, hand each to its Lambda function."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from dynajobs import fault, keys, lifecycle
from dynajobs.claiming import backoff_delay, report_claim
from dynajobs.control import Agreed
from dynajobs.errors import DynajobsError, Unavailable
from dynajobs.item import Stored
from dynajobs.job import Job, Status
from dynajobs.lanes import Turns, Walk
from dynajobs.queue import JobQueue
from dynajobs.settings import Settings
from dynajobs.store import Changed
from dynajobs.telemetry import Telemetry, logger

if TYPE_CHECKING:
    Invoke = Callable[[str, Job], None]
    Wake = Callable[[dict[str, Any]], None]
    """Invokes another poller with an event, and does not fail."""

MIN_CLAIM_LEASE = timedelta(seconds=90)
"""A claim waits for its function to begin: longer than Lambda may hold the event (60 s) and start cold."""

CLAIM_THREADS = 8
LEASE_SEARCH = 1000
"""Live items per priority that are looked at to count the leases in force."""

SURVEY_PAGE = 250
"""Items that one query of a full pass reads: it looks at all that is due, so few queries do it sooner."""

SHARE = 100
"""Jobs that a poller hands over in less than a second, and for which another one is worth waking."""

SWEEP_EVERY = timedelta(hours=1)


@dataclass(slots=True)
class Pass:
    """What a look at the lanes found and did."""

    claimed: int = 0
    fired: int = 0
    waiting: int = 0
    """Due jobs that were left: the cap was reached, or another poller was asked to take them."""

    coming: datetime | None = None
    """When the next job falls due, if that is as near as was asked."""


@dataclass(slots=True)
class Survey:
    """The lanes at one moment: what can be claimed, by priority, and how many leases are in force."""

    lanes: list[list[Stored]]
    leases: int
    more: bool
    """There is more to claim than could be claimed at once."""

    @property
    def due(self) -> int:
        """How many can be claimed."""
        return sum(map(len, self.lanes))


class Poller:
    """Hands due jobs to Lambda functions. Several may run at once: every claim has one winner."""

    def __init__(
        self, queue: JobQueue, invoke: Invoke, telemetry: Telemetry | None = None, wake: Wake | None = None
    ) -> None:
        self.queue = queue
        self.invoke = invoke
        self.wake = wake
        self.telemetry = telemetry or Telemetry(queue.settings)
        self.leases = 0
        """In force when all lanes were last read, and those taken since."""

        self._turns = Turns()
        self._swept_at: datetime | None = None

    @property
    def settings(self) -> Settings:
        return self.queue.settings

    def poll(
        self, agreed: Agreed | None = None, *, ahead: timedelta = timedelta(0), consistent: bool = False
    ) -> Pass:
        """One full pass: claim in rounds until nothing is left to claim or the cap is reached."""
        if not self._enabled():
            return Pass()
        agreed = agreed or self.queue.store.control.read()
        walk = self._walk(range(agreed.shards), ahead=ahead, consistent=consistent, page=SURVEY_PAGE)
        self._sweep(walk)
        survey = self._survey(walk)
        self.leases = survey.leases
        due = survey.due
        room = self._share_out(survey, agreed.shards, self.settings.max_in_flight - self.leases)
        shared = due - survey.due
        done = self._hand_out(walk, survey, room)
        done.waiting += shared
        return done

    def glance(self, shards: int, *, since: datetime, ahead: timedelta, consistent: bool = False) -> Pass:
        """What fell due since the last look, under the leases known from the last full pass."""
        walk = self._walk(range(shards), since=since, ahead=ahead, consistent=consistent)
        return self._hand_out(walk, self._survey(walk), self.settings.max_in_flight - self.leases)

    def share(self, shards: int, part: int, parts: int, room: int) -> Pass:
        """Another poller's backlog: every `parts`-th lane is ours, and so many jobs may be started."""
        if not self._enabled():
            return Pass()
        walk = self._walk(range(part, shards, parts))
        return self._hand_out(walk, self._survey(walk), room)

    def start(self, found: Iterator[Stored], room: int) -> int:
        """Claim jobs and hand each over, side by side in rounds; how many are on their way.

        Jobs for which there is no room stay in `found`.
        """
        started = 0
        if room > 0 and (first := next(found, None)):
            rest = chain([first], found)
            with ThreadPoolExecutor(CLAIM_THREADS, thread_name_prefix="dynajobs-claim") as pool:
                while batch := list(islice(rest, min(self.settings.poll_limit, room - started))):
                    started += sum(pool.map(self._start, batch))
        self.leases += started
        return started

    def _enabled(self) -> bool:
        if not self.settings.enabled:
            logger.info("disabled: nothing is claimed (DYNAJOBS_ENABLED is false)")
        return self.settings.enabled

    def _walk(self, lanes: Sequence[int], **options: Any) -> Walk:
        return Walk(self.queue.store, self.queue.now(), lanes, self.telemetry, **options)

    def _hand_out(self, walk: Walk, survey: Survey, room: int) -> Pass:
        scarce = survey.due > room
        candidates = self._turns.order(survey.lanes) if scarce else chain.from_iterable(survey.lanes)
        claimed = self.start(candidates, room)
        waiting = sum(1 for _ in candidates) + survey.more
        return Pass(claimed=claimed, waiting=waiting, coming=walk.coming)

    def _share_out(self, survey: Survey, shards: int, room: int) -> int:
        """Leave parts of a great backlog to other pollers, lane by lane; the room that is left for ours."""
        backlog = min(survey.due, room)
        parts = min(shards, backlog // SHARE)
        if self.wake is None or parts < 2:
            return room
        for part in range(1, parts):
            self.wake({"share": {"shards": shards, "part": part, "parts": parts, "room": room // parts}})
        survey.lanes = [
            [seen for seen in lane if keys.parse_lane(seen.key["PK"]["S"])[1] % parts == 0]
            for lane in survey.lanes
        ]
        return room - room // parts * (parts - 1)

    def _sweep(self, walk: Walk) -> None:
        if self._swept_at is None or walk.now - self._swept_at >= SWEEP_EVERY:
            self._swept_at = walk.now
            walk.sweep()

    def _survey(self, walk: Walk) -> Survey:
        lanes: list[list[Stored]] = []
        leases, more = 0, False
        for priority in keys.PRIORITIES:
            claimable: list[Stored] = []
            for seen in islice(walk.priority(priority), LEASE_SEARCH + self.settings.max_in_flight):
                if not lifecycle.claimable(seen.job, walk.now):
                    leases += 1
                elif len(claimable) < self.settings.max_in_flight:
                    claimable.append(seen)
                else:
                    more = True
            lanes.append(claimable)
        return Survey(lanes, leases, more)

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
