"""Why a job is not running: everything that can be in its way, in order, each with what was seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from dynajobs import keys, words
from dynajobs.control import Agreed
from dynajobs.item import Item
from dynajobs.job import Job, Status
from dynajobs.lifecycle import claimable
from dynajobs.settings import SKEW

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

TICK_EVERY = timedelta(minutes=1)
SILENT_AFTER = 2 * TICK_EVERY
"""A poller that has not passed for so long is not just late."""

LOOKED_AT = 200
"""Live items of a priority that are looked at for those that go first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that can keep a job waiting. `ok` is None where it cannot be known."""

    name: str
    ok: bool | None
    evidence: str
    verdict: str = ""
    """What to say if this is what it waits for; else the evidence."""


def explain(queue: JobQueue, job_id: str) -> dict[str, Any]:
    """One sentence, and the checks it comes from: what is in the way first, by how final it is."""
    job, now = queue.get(job_id), queue.now()
    if job.status.finished:
        return _answer(_ending(job, now), [])
    if job.status is Status.IN_PROGRESS:
        return _held(queue, job, now)
    checks = list(_waiting(queue, job, now))
    blocker = next((check for check in checks if check.ok is False), None)
    if blocker is None:
        return _answer("Nothing is in its way: it starts with the next look of the poller.", checks)
    return _answer(blocker.verdict or blocker.evidence, checks)


def _answer(sentence: str, checks: list[Check]) -> dict[str, Any]:
    told = [asdict(check) for check in checks]
    for each in told:
        del each["verdict"]
    return {"sentence": sentence, "checks": told}


def _ending(job: Job, now: datetime) -> str:
    finished_at = job.finished_at or now
    end = {Status.DEAD_LETTER: "became a dead letter", Status.CANCELLED: "was cancelled"}
    sentence = f"It is over: it {end.get(job.status, 'completed')} {_when(finished_at, now)}."
    return sentence + (f" It runs again as {job.retried_by}." if job.retried_by else "")


def _held(queue: JobQueue, job: Job, now: datetime) -> dict[str, Any]:
    """A job that somebody has claimed."""
    run, until = job.open_run, job.lock_expires_at or now
    lapsed = claimable(job, now)
    checks = []
    if run is None:
        before = f", and {words.plural(job.undelivered, 'claim')} before it never began" * bool(
            job.undelivered
        )
        since = _when(job.updated_at or now, now)
        checks.append(
            Check(
                name="begun",
                ok=False,
                evidence=f"claimed {since}; its function has not begun{before}",
                verdict=f"It was claimed {since}, but its function has not begun.",
            )
        )
    else:
        began = _when(run.started_at or now, now)
        checks.append(
            Check(name="begun", ok=True, evidence=f"attempt {run.attempt} began {began} on {run.worker}")
        )
    lease = Check(
        name="lease",
        ok=not lapsed,
        evidence=f"held by {(run and run.worker) or job.locked_by} {_until(until, now)}",
        verdict=f"Its worker fell silent, its lease ended {_when(until, now)}",
    )
    asked = Check(
        name="cancel",
        ok=not job.cancel_requested,
        evidence="somebody asked it to stop" if job.cancel_requested else "nobody asked it to stop",
        verdict="It runs, and was asked to stop: its handler learns of that when its lease is renewed.",
    )
    checks += [lease, asked]
    if lapsed:
        checks += _taking_up(queue, now, queue.store.control.read())
        nobody = next((check for check in checks[3:] if check.ok is False), None)
        sentence = "It was claimed, but its function never began" if run is None else lease.verdict
        sentence += f", and nobody takes it up. {nobody.verdict}" if nobody else ": the poller takes it up."
    elif run is None:
        sentence = checks[0].verdict
    elif job.cancel_requested:
        sentence = asked.verdict
    else:
        sentence = f"It is running: {checks[0].evidence}."
    return _answer(sentence, checks)


def _waiting(queue: JobQueue, job: Job, now: datetime) -> Iterator[Check]:
    """A pending or failed job, from what only time can change to what is the queue's state."""
    agreed = queue.store.control.read()
    yield _due(job, now)
    if job.waits_for is not None:
        yield _predecessor(queue, job)
    yield _handler(agreed, job)
    yield from _taking_up(queue, now, agreed)
    yield _capacity(queue, agreed)
    yield _ahead(queue, agreed, job, now)


def _taking_up(queue: JobQueue, now: datetime, agreed: Agreed) -> Iterator[Check]:
    """Whether anybody takes up what is due."""
    if agreed.poller is not None:
        enabled = agreed.poller.enabled
        yield Check(
            name="enabled",
            ok=enabled,
            evidence="the poller may claim"
            if enabled
            else "the poller claims nothing: DYNAJOBS_ENABLED is false",
            verdict="The poller claims nothing: DYNAJOBS_ENABLED is false.",
        )
    yield _reservation(queue, now)
    yield _poller(agreed, now)


def _due(job: Job, now: datetime) -> Check:
    when = f"{_when(job.scheduled_for, now)} ({words.clock(job.scheduled_for)})"
    late = job.scheduled_for <= now
    if job.status is Status.FAILED:
        of = f" of {job.max_attempts}" if job.max_attempts else ""
        verdict = f"Attempt {job.attempts}{of} failed; it is tried again {when}."
        evidence = f"the wait after attempt {job.attempts}{of} {'ended' if late else 'ends'} {when}"
        return Check(name="backoff", ok=late, evidence=evidence, verdict=verdict)
    return Check(
        name="due", ok=late, evidence=f"{'was' if late else 'is'} due {when}", verdict=f"It is due {when}."
    )


def _predecessor(queue: JobQueue, job: Job) -> Check:
    held = queue.store.held_back(job)
    slot = (job.waits_for or "").partition("#")[0]
    return Check(
        name="earlier_run",
        ok=not held,
        evidence=f"the run of slot {slot} is {'not over' if held else 'over'}",
        verdict=f"It waits for an earlier run of schedule {job.schedule_name}, that of slot {slot}.",
    )


def _handler(agreed: Agreed, job: Job) -> Check:
    if agreed.poller is None:
        return Check(
            name="handler", ok=None, evidence="no poller function has said which types it has functions for"
        )
    if agreed.poller.handles(job.job_type):
        return Check(name="handler", ok=True, evidence=f"the poller has a function for {job.job_type}")
    missing = f"DYNAJOBS_HANDLERS has neither {job.job_type!r} nor a fallback '*'"
    return Check(
        name="handler",
        ok=False,
        evidence=missing,
        verdict=f"The poller has no function for it: {missing}, so each attempt fails.",
    )


def _reservation(queue: JobQueue, now: datetime) -> Check:
    held = queue.store.control.reservation(now)
    if held is None or held.status != "active":
        return Check(name="reservation", ok=True, evidence="nobody has the queue to themselves")
    return Check(
        name="reservation",
        ok=False,
        evidence=f"reserved by {held.by} {_until(held.until, now)}",
        verdict=f"The queue is reserved by {held.by} {_until(held.until, now)}; nothing starts before.",
    )


def _poller(agreed: Agreed, now: datetime) -> Check:
    if agreed.looked_at is None:
        return Check(
            name="poller",
            ok=False,
            evidence="no poller has ever looked",
            verdict="No poller has ever looked: is the poller's schedule switched on, or a worker running?",
        )
    silent = silent_for(agreed, now) is not None
    return Check(
        name="poller",
        ok=not silent,
        evidence=f"last looked {_when(agreed.looked_at, now)}",
        verdict=f"The poller is silent: it last looked {_when(agreed.looked_at, now)}.",
    )


def silent_for(agreed: Agreed, now: datetime) -> timedelta | None:
    """How long the poller has been silent, if that is longer than it should be."""
    silence = None if agreed.looked_at is None else now - agreed.looked_at
    return silence if silence is not None and silence > SILENT_AFTER else None


def _capacity(queue: JobQueue, agreed: Agreed) -> Check:
    most = agreed.poller.max_in_flight if agreed.poller else queue.settings.max_in_flight
    share = f"{agreed.leases:,} of {most:,} jobs were running when the poller last looked"
    return Check(
        name="capacity",
        ok=agreed.leases < most,
        evidence=share,
        verdict=f"All places are taken: {share}.",
    )


def _ahead(queue: JobQueue, agreed: Agreed, job: Job, now: datetime) -> Check:
    ahead, more = 0, False
    mine = (job.scheduled_for, job.id)
    for priority in (each for each in keys.PRIORITIES if each >= job.priority):
        until = now if priority > job.priority else min(now, job.scheduled_for)
        for shard in range(agreed.shards):
            lane = queue.store.lane(priority, shard, keys.DUE_PREFIX, keys.due_until(until), limit=LOOKED_AT)
            items = list(islice(lane, LOOKED_AT + 1))
            more = more or len(items) > LOOKED_AT
            ahead += sum(_goes_first(item, mine if priority == job.priority else None) for item in items)
    number, go = f"{ahead:,}{'+' * more}", "job goes" if ahead == 1 and not more else "jobs go"
    return Check(
        name="ahead",
        ok=not ahead,
        evidence=f"{number} due {go} first" if ahead else "no due job goes first",
        verdict=f"{number} due {go} first, by priority and time.",
    )


def _goes_first(item: Item, mine: tuple[datetime, str] | None) -> bool:
    """Whether an item waits and is before ours in the order of a poll, which is that of the keys."""
    if item.get("status", {}).get("S") not in ("pending", "failed"):
        return False
    return mine is None or item["SK"]["S"] < keys.due_key(*mine)


def _when(moment: datetime, now: datetime) -> str:
    return words.relative(moment, now)


def _until(moment: datetime, now: datetime) -> str:
    left = moment - now
    return (
        f"until {words.clock(moment)} ({words.length(left)} left)"
        if left > -SKEW
        else f"until {words.clock(moment)}"
    )
