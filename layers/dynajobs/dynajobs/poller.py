"""The poll: find due jobs, claim as many as may run at once, hand each to its Lambda function."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from dynajobs import fault, keys, lifecycle
from dynajobs.claiming import backoff_delay, report_claim
from dynajobs.control import Agreed
from dynajobs.dynamo import Rejected
from dynajobs.errors import DynajobsError, Unavailable
from dynajobs.firing import Scheduler
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

SHARE_LASTS = timedelta(seconds=5)
"""For so long the room that was given to others is theirs."""

SWEEP_EVERY = timedelta(hours=1)


@dataclass(slots=True)
class Pass:
    """What a look at the lanes found and did."""

    claimed: int = 0
    tried: int = 0
    fired: int = 0
    waiting: int = 0
    """Due jobs that were left: at the cap, to another poller, or because the table did not answer."""

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

        self.scheduler = Scheduler(queue, self.telemetry)
        self._turns = Turns()
        self._shared = (datetime.min.replace(tzinfo=UTC), 0)
        self._swept_at: datetime | None = None

    @property
    def settings(self) -> Settings:
        return self.queue.settings

    def poll(
        self,
        agreed: Agreed | None = None,
        *,
        ahead: timedelta = timedelta(0),
        consistent: bool = False,
        sharing: bool = False,
    ) -> Pass:
        """One full pass: claim in rounds until nothing is left to claim or the cap is reached.

        With `sharing`, parts of a great backlog are left to other pollers.
        """
        fired = self.scheduler.look(self.queue.now(), ahead)
        if not self._enabled():
            return Pass(fired=fired, coming=self.scheduler.coming)
        agreed = agreed or self.queue.store.control.read()
        # What was fired a moment ago must be seen.
        consistent = consistent or fired > 0
        walk = self._walk(range(agreed.shards), ahead=ahead, consistent=consistent, page=SURVEY_PAGE)
        self._sweep(walk)
        survey = self._survey(walk)
        self.leases = survey.leases
        due, room = survey.due, self.settings.max_in_flight - self.leases
        if self._reserved(survey):
            room = 0
        elif sharing:
            room = self._share_out(survey, agreed.shards, room)
        shared = due - survey.due
        done = self._hand_out(walk, survey, room)
        done.waiting += shared
        return self._with_slots(done, fired)

    def glance(self, shards: int, *, since: datetime, ahead: timedelta, consistent: bool = False) -> Pass:
        """What fell due since the last look, under the leases known from the last full pass."""
        now, fired = self.queue.now(), 0
        if self.scheduler.awaits(now):
            fired = self.scheduler.look(now, ahead)
            consistent = consistent or fired > 0
        if not self._enabled():
            return Pass(fired=fired, coming=self.scheduler.coming)
        walk = self._walk(range(shards), since=since, ahead=ahead, consistent=consistent)
        survey = self._survey(walk)
        room = self.settings.max_in_flight - self.leases
        if self._reserved(survey):
            room = 0
        return self._with_slots(self._hand_out(walk, survey, room), fired)

    def _with_slots(self, done: Pass, fired: int) -> Pass:
        done.fired += fired
        done.coming = min(filter(None, (done.coming, self.scheduler.coming)), default=None)
        return done

    def share(self, part: int, parts: int, room: int, until: str) -> Pass:
        """Another poller's backlog: every `parts`-th lane is ours, and so many jobs may be started.

        An event that comes late is about room that was given out anew.
        """
        if not self._enabled() or self.queue.now() > keys.parse_time(until):
            return Pass()
        agreed = self.queue.store.control.read()
        walk = self._walk(range(part, agreed.shards, parts))
        survey = self._survey(walk)
        room = 0 if self._reserved(survey) else min(room, self.settings.max_in_flight)
        return self._hand_out(walk, survey, room)

    def start(self, found: Iterable[Stored], room: int) -> Pass:
        """Claim jobs and hand each over, side by side in rounds, as far as there is room."""
        done, rest = Pass(), iter(found)
        if room > 0 and (first := next(rest, None)):
            rest = chain([first], rest)
            with ThreadPoolExecutor(CLAIM_THREADS, thread_name_prefix="dynajobs-claim") as pool:
                while batch := list(islice(rest, min(self.settings.poll_limit, room - done.claimed))):
                    answers = list(pool.map(self._start, batch))
                    done.tried += len(batch)
                    done.claimed += answers.count(True)
                    done.waiting += answers.count(None)
        self.leases += done.claimed
        return done

    def _reserved(self, survey: Survey) -> bool:
        """Asked after all that takes time, right before the first claim."""
        return survey.due > 0 and self.queue.store.control.reserved(self.queue.now(), fresh=True)

    def _enabled(self) -> bool:
        if not self.settings.enabled:
            logger.info("disabled: nothing is claimed (DYNAJOBS_ENABLED is false)")
        return self.settings.enabled

    def _walk(self, lanes: Sequence[int], **options: Any) -> Walk:
        return Walk(self.queue.store, self.queue.now(), lanes, self.telemetry, **options)

    def _hand_out(self, walk: Walk, survey: Survey, room: int) -> Pass:
        scarce = survey.due > room
        candidates = self._turns.order(survey.lanes) if scarce else chain.from_iterable(survey.lanes)
        done = self.start(candidates, room)
        done.waiting += survey.due - done.tried + survey.more
        done.coming = walk.coming
        return done

    def _share_out(self, survey: Survey, shards: int, room: int) -> int:
        """Leave parts of a great backlog to other pollers, lane by lane; the room that is left for ours."""
        now = self.queue.now()
        until, given = self._shared
        if now < until:
            return room - given  # they may be starting still
        busy = {_shard(seen) for lane in survey.lanes for seen in lane}
        parts = min(shards, len(busy), min(survey.due, room) // SHARE)
        if self.wake is None or parts < 2:
            return room
        each = room // parts
        until = now + SHARE_LASTS
        for part in range(1, parts):
            event = {"part": part, "parts": parts, "room": each, "until": keys.timestamp(until)}
            self.wake({"share": event})
        survey.lanes = [[seen for seen in lane if _shard(seen) % parts == 0] for lane in survey.lanes]
        self._shared = (until, each * (parts - 1))
        return room - each * (parts - 1)

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
                elif self.queue.store.held_back(seen.job):
                    continue
                elif len(claimable) < self.settings.max_in_flight:
                    claimable.append(seen)
                else:
                    more = True
            lanes.append(claimable)
        return Survey(lanes, leases, more)

    def _start(self, seen: Stored) -> bool | None:
        """Claim one job and hand it over: True if it is on its way, None if it may be tried again soon."""
        try:
            return self._claim_and_hand_over(seen)
        except DynajobsError as error:
            logger.warning("job not started", extra={"job_id": seen.job.id, "reason": str(error)})
            passing = isinstance(error, Unavailable) and not isinstance(error, Rejected)
            return None if passing else False

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


def _shard(seen: Stored) -> int:
    return keys.parse_lane(seen.key["PK"]["S"])[1]


def _waiting_status(job: Job) -> Status:
    return Status.FAILED if job.attempts else Status.PENDING
