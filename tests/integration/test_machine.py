"""Whatever producers, pollers, workers, crashes and operators do in whatever order, every promise holds.

The machine makes up stories and tells each to the real library and to a model of a few rules. After every
step the whole table is read and must be what the model says.
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dynajobs import (
    Discard,
    InvalidTransition,
    Job,
    JobContext,
    JobNotFound,
    JobQueue,
    JobResult,
    LeaseLost,
    Registry,
    Settings,
    Snooze,
    Status,
    function,
    keys,
    poller,
)
from dynajobs.execution import Executor
from dynajobs.invoke import LambdaInvoke
from dynajobs.item import Item, Stored, decode, decode_run, job_key
from dynajobs.lanes import Walk
from dynajobs.lease import Lease
from dynajobs.poller import SWEEP_EVERY, Poller
from dynajobs.telemetry import Telemetry, logger
from dynajobs.testing import Clock
from dynajobs.worker import begin_here
from tests.support import engines
from tests.support.model import (
    CLAIM_LEASE,
    LEASE,
    MAX_ATTEMPTS,
    SKEW,
    TICK,
    WAITING,
    Expected,
    Key,
    Record,
    backoff,
)
from tests.support.table import create_lasting_table

# So far ahead that no engine's own expiry of items can interfere.
START = datetime(2040, 1, 1, tzinfo=UTC)

Thing = TypeVar("Thing")

picks = st.integers(0, 999)
priorities = st.integers(0, 3)


def latest(things: list[Thing], pick: int) -> Thing:
    """One of these; Hypothesis likes small numbers, and stories go on best where they left off."""
    return things[-1 - pick % len(things)]


def writes(ctx: JobContext, table: str) -> None:
    """A write of the handler's own, joined to the completion of its run."""
    run = ctx.job.open_run
    assert run is not None
    own: Item = {"PK": {"S": f"app#{run.run_id}"}, "SK": {"S": "effect"}}
    put = {"TableName": table, "Item": own, "ConditionExpression": "attribute_not_exists(PK)"}
    ctx.complete_with([{"Put": put}], result="written")


def writes_in_vain(ctx: JobContext, table: str) -> None:
    own: Item = {"PK": {"S": "app#nothing"}, "SK": {"S": "effect"}}
    check = {"TableName": table, "Key": own, "ConditionExpression": "attribute_exists(PK)"}
    ctx.complete_with([{"ConditionCheck": check}])


def raises(ctx: JobContext, _: str) -> None:
    raise RuntimeError(f"attempt {ctx.attempt} failed")


ANSWERS: dict[str, Callable[[JobContext, str], Any]] = {
    "value": lambda ctx, _: {"attempt": ctx.attempt},
    "result": lambda ctx, _: JobResult(message="done", details={"attempt": ctx.attempt}),
    "write": writes,
    "refused write": writes_in_vain,
    "exception": raises,
    "failure": lambda ctx, _: JobResult(success=False, message=f"attempt {ctx.attempt} failed"),
    "snooze": lambda _, __: Snooze(60),
    "snooze 0": lambda _, __: Snooze(0),
    "discard": lambda _, __: Discard("no use"),
}
maybe_answers = st.none() | st.sampled_from(sorted(ANSWERS))
ways_to_work = st.sampled_from(["in one process", "by event", "go on", "go on too late", "renew"])


class Suspending(Executor):
    """Begins jobs and goes no further, like a worker that is slow, or dead."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.begun: list[Stored] = []

    def run(self, seen: Stored, deadline: datetime | None = None) -> Job | None:
        assert deadline is None
        self.begun.append(seen)
        return seen.job


class Lambda:
    """The Lambda client of the poller: keeps the events, or refuses them."""

    def __init__(self) -> None:
        self.events: list[dict[str, str]] = []
        self.refusing = False

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> None:  # noqa: N803
        assert (FunctionName, InvocationType) == ("function", "Event")
        if self.refusing:
            from botocore.exceptions import EndpointConnectionError

            raise EndpointConnectionError(endpoint_url="https://lambda")
        self.events.append(json.loads(Payload))


class Stories(RuleBasedStateMachine):
    """Stories about one table."""

    client: Any
    shards: int

    def __init__(self) -> None:
        super().__init__()
        self.table = f"machine-{uuid4().hex}"
        create_lasting_table(self.client, self.table)
        self.clock = Clock(START)
        self.queue = JobQueue(
            self.table,
            client=self.client,
            clock=self.clock,
            random=Random(0),
            settings=Settings(
                handlers={"*": "function"},
                jitter=0,
                max_attempts=MAX_ATTEMPTS,
                poll_limit=3,
                shards=self.shards,
            ),
        )
        self.queue.store.table.sleep = lambda _: None
        self.registry = Registry()
        self.registry.handler("work")(self.handle)
        telemetry = Telemetry(self.queue.settings)
        self.executor = Executor(self.queue, self.registry, telemetry)
        self.suspending = Suspending(self.queue, self.registry, telemetry)
        self.function = Lambda()
        self.poller = Poller(self.queue, LambdaInvoke(self.function))
        self.swept_at = START - SWEEP_EVERY
        self.answer = "value"

        self.jobs: list[Expected] = []
        self.records: dict[Key, Record] = {}
        self.effects: set[str] = set()
        self.events: list[tuple[dict[str, str], Expected]] = []
        self.runs: list[tuple[Lease, str, Expected]] = []
        self.closed_runs: dict[str, Any] = {}
        self.numbers = count()
        self.patience = 3
        """How often something long may happen in one story."""

    def teardown(self) -> None:
        self.client.delete_table(TableName=self.table)

    @property
    def now(self) -> datetime:
        return self.clock()

    def handle(self, payload: dict[str, Any], ctx: JobContext) -> Any:
        del payload
        return ANSWERS[self.answer](ctx, self.table)

    def pick(self, number: int, of: Callable[[Expected], bool]) -> Expected | None:
        """One of the jobs that an operator can name, or None if there is none such."""
        found = [job for job in self.jobs if not job.twin and not job.raw_key and job.indexed and of(job)]
        return latest(found, number) if found else None

    @initialize()
    def there_is_some_work(self) -> None:
        """Some is done, and its id used again; the rest waits, and somebody is stuck in the first of it."""
        self.enqueue(delay=0, priority=0, max_attempts=None, dedup=None)
        self.work_in_one_process(0, "value")
        self.put_by_hand_with_a_used_id()
        self.enqueue(delay=0, priority=0, max_attempts=1, dedup=None)
        self.enqueue(delay=0, priority=1, max_attempts=None, dedup=("a", "active"))
        self.enqueue(delay=0, priority=1, max_attempts=2, dedup=("a", "monday"))
        self.work_in_one_process(0, None)

    # What producers do.

    @rule(
        delay=st.sampled_from([0, 1, 3600]),
        priority=priorities,
        max_attempts=st.sampled_from([None, 1, 2]),
        dedup=st.none() | st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["active", "monday"])),
    )
    def enqueue(
        self, delay: int, priority: int, max_attempts: int | None, dedup: tuple[str, str] | None
    ) -> None:
        key, window = dedup or (None, "active")
        job = self.queue.enqueue(
            "work",
            {"n": next(self.numbers)},
            delay=delay,
            priority=priority,
            max_attempts=max_attempts,
            dedup_key=key,
            dedup_window=window,
        )
        place = (f"scheduled-job#{key}", window) if key else None
        if place in self.records:
            existing = self.records[place].job
            assert (job.id, job.created, job.status) == (existing.id, False, existing.status)
            return
        assert job.created
        expected = Expected(
            id=job.id,
            scheduled_for=self.now + timedelta(seconds=delay),
            priority=priority,
            shard=keys.shard_of(job.id, self.shards),
            max_attempts=max_attempts or MAX_ATTEMPTS,
            record=place,
        )
        self.jobs.append(expected)
        if place:
            self.records[place] = Record(expected)

    @rule(
        form=st.sampled_from(
            [
                "as documented",
                "short time",
                "no time but the key's",
                "another time than the key's",
                "id in capitals",
                "no id",
                "priority of another lane",
                "key without a time",
                "malformed",
                "finished",
                "used id",
            ]
        ),
        delay=st.sampled_from([0, 60]),
    )
    def put_by_hand(self, form: str, delay: int) -> None:
        if form == "used id":
            self.put_by_hand_with_a_used_id()
            return
        job_id = keys.new_id()
        due = self.now + timedelta(seconds=delay)
        text = keys.timestamp(due)
        sk, priority, becomes = f"scheduled#{text}#{job_id}", 0, "job"
        attributes = {"job_type": "work", "payload": "{}", "scheduled_for": text, "status": "pending"}
        match form:
            case "short time":
                attributes["scheduled_for"] = f"{due:%Y-%m-%dT%H:%M:%S.%f}+00:00"
                sk = f"scheduled#{due:%Y-%m-%dT%H:%M:%S.%f}+00:00#{job_id}"
            case "no time but the key's":
                del attributes["scheduled_for"], attributes["status"], attributes["payload"]
            case "another time than the key's":
                due += timedelta(seconds=5)
                attributes["scheduled_for"] = due.isoformat()
            case "id in capitals":
                sk = sk.replace(job_id, job_id.upper())
            case "no id":
                sk = f"scheduled#{text}#order-{next(self.numbers)}"
                job_id = keys.derived_id("job", sk)
            case "priority of another lane":
                priority = 2
            case "key without a time":
                sk = f"scheduled#whenever#{job_id}"
            case "malformed":
                attributes["status"], becomes = "done", "dead letter"
            case "finished":
                attributes["status"], becomes = "completed", "completed"
        self.put({"PK": "job", "SK": sk, **attributes}, priority)
        expected = Expected(id=job_id, scheduled_for=due, priority=priority, indexed=False, becomes=becomes)
        if becomes != "job" or expected.key != ("job", sk):
            expected.raw_key = ("job", sk)
        self.jobs.append(expected)

    def put_by_hand_with_a_used_id(self) -> None:
        used = self.pick(0, lambda job: not job.live)
        if used is None or any(job.twin and job.id == used.id for job in self.jobs):
            return
        twin = Expected(id=used.id, scheduled_for=self.now, indexed=False, twin=True)
        pk, sk = twin.key
        self.put({"PK": pk, "SK": sk, "job_type": "work", "scheduled_for": keys.timestamp(self.now)})
        self.jobs.append(twin)

    def put(self, texts: dict[str, str], priority: int = 0) -> None:
        item: Item = {name: {"S": text} for name, text in texts.items()}
        if priority:
            item["priority"] = {"N": str(priority)}
        self.client.put_item(TableName=self.table, Item=item)

    # What pollers and workers do.

    @rule(
        how=st.sampled_from(["", "all arrive", "all arrive", "none can be sent", "all are lost for a while"])
    )
    def events_are_sent(self, how: str) -> None:
        match how:
            case "none can be sent":
                self.poll_in_vain()
            case "all are lost for a while" if self.patience:
                self.patience -= 1
                for _ in range(7):
                    self.poll()
                    self.clock.advance(CLAIM_LEASE + SKEW + TICK)
            case _:
                self.poll()
        if how == "all arrive":
            for pick in range(len(self.function.events)):
                self.deliver(pick, None)

    def poll(self) -> None:
        """Claim all that is due and hand it over; whether it arrives is another story."""
        expected = self.claim_expected()
        self.function.events.clear()
        self.poller.poll()
        events = {event["token"]: event for event in self.function.events}
        assert sorted(event["job_id"] for event in events.values()) == sorted(job.id for job in expected)
        for event in events.values():
            (job,) = [job for job in expected if job.key == (event["pk"], event["sk"])]
            job.token, job.lease_end = event["token"], self.now + CLAIM_LEASE
            self.events.append((event, job))

    def poll_in_vain(self) -> None:
        """No function can be invoked: every claim is given back."""
        before = {id(job): job.status for job in self.jobs}
        for job in self.claim_expected():
            was = before[id(job)]
            job.token = job.lease_end = None
            job.not_delivered()
            if job.live:
                tried = Status.FAILED if job.attempts else Status.PENDING
                later = job.scheduled_for if job.undelivered < 2 else self.now + backoff(job.undelivered)
                job.wait(was if was in WAITING else tried, later)
            self.settle_record(job)
        self.function.refusing = True
        self.poller.poll()
        self.function.refusing = False

    @rule(pick=picks, how=ways_to_work, answer=maybe_answers)
    def one_worker(self, pick: int, how: str, answer: str | None) -> None:
        self.work(pick, how, answer)

    @rule(pick=picks, how=ways_to_work, answer=maybe_answers)
    def another_worker(self, pick: int, how: str, answer: str | None) -> None:
        self.work(pick, how, answer)

    @rule(pick=picks, how=ways_to_work, answer=maybe_answers)
    def a_third_worker(self, pick: int, how: str, answer: str | None) -> None:
        self.work(pick, how, answer)

    def work(self, pick: int, how: str, answer: str | None) -> None:
        """A worker begins a job, ends it at once or later or too late, or gets stuck in it for ever."""
        idle = not any(job.token == token for _, token, job in self.runs)
        if how == "in one process" or (idle and pick % 4):
            self.work_in_one_process(pick, answer)
        elif how == "by event" and self.events:
            self.deliver(pick, answer)
        elif how == "renew" and self.runs:
            self.renew(pick)
        elif self.runs:
            self.finish(pick, answer or "value", late=how == "go on too late")

    def work_in_one_process(self, pick: int, answer: str | None) -> None:
        """Claim and begin one job in one write, as the worker does; without an answer, get stuck in it."""
        moved = self.put_right()
        candidates = self.walk()
        expected = sorted(
            (job for job in self.jobs if job.claimable(self.now)),
            key=lambda job: (-job.priority, job.scheduled_for, job.id),
        )
        if not moved:
            assert [each.job.id for each in candidates] == [job.id for job in expected]
        if candidates and self.begin_here(candidates[pick % len(candidates)]) and answer:
            self.end(self.runs[-1], answer)

    @rule(pick=picks)
    @precondition(lambda self: self.patience and any(job.claimable(self.now) for job in self.jobs))
    def snooze_again_and_again(self, pick: int) -> None:
        """More runs than fit into a job's item."""
        self.patience -= 1
        self.put_right()
        candidates = self.walk()
        chosen = candidates[pick % len(candidates)].job.id
        self.answer = "snooze 0"
        for _ in range(6):
            again = [each for each in self.walk() if each.job.id == chosen]
            job = self.begin_here(again[0]) if again else None
            if job is None or job.twin:
                return
            lease, *_ = self.runs.pop()
            self.executor.run(lease.seen)
            self.snooze(job, 0)

    def begin_here(self, seen: Stored) -> Expected | None:
        (job,) = [
            job for job in self.jobs if job.live and job.key == (seen.key["PK"]["S"], seen.key["SK"]["S"])
        ]
        self.expect_claim(job)
        begun = begin_here(self.executor, seen, "worker")
        if not job.live:
            assert begun is None
            return None
        assert begun is not None and begun.job.locked_by is not None
        self.expect_begun(job, begun)
        return job

    def walk(self) -> list[Stored]:
        walk = Walk(self.queue.store, self.now, range(self.shards), self.executor.telemetry)
        return [each for priority in keys.PRIORITIES for each in walk.claimable(priority)]

    def deliver(self, pick: int, answer: str | None) -> None:
        """An event arrives: now, late, or once more. Only the first of a claim in force begins the job."""
        event, job = latest(self.events, pick)
        fresh = job.token == event["token"] and not job.begun
        self.suspending.begun.clear()
        said = function._run(self.suspending, event, None)
        assert said == {"job_id": event["job_id"], "status": "in_progress" if fresh else "stale"}
        assert len(self.suspending.begun) == fresh
        for begun in self.suspending.begun:
            self.expect_begun(job, begun)
            if answer:
                self.end(self.runs[-1], answer)

    def runs_to_end(self) -> list[tuple[Lease, str, Expected]]:
        """All that ever began, those that still hold their job last."""
        return sorted(self.runs, key=lambda run: run[2].token == run[1])

    def renew(self, pick: int) -> None:
        lease, token, job = latest(self.runs_to_end(), pick)
        if job.token != token:
            with pytest.raises(LeaseLost):
                lease.renew()
            return
        lease.renew()
        job.lease_end = self.now + LEASE
        assert lease.seen.job.cancel_requested == job.cancel_requested

    def finish(self, pick: int, answer: str, *, late: bool) -> None:
        """A worker comes to an end, perhaps after its job was given to another."""
        run = latest(self.runs_to_end(), pick)
        _, token, job = run
        if late and job.token == token and job.lease_end is not None:
            self.clock.set(max(self.now, job.lease_end + SKEW + TICK))
            self.poll()
        self.end(run, answer)

    def end(self, run: tuple[Lease, str, Expected], answer: str) -> None:
        lease, token, job = run
        held = job.token == token
        if held and job.twin and len(job.runs) >= 10:
            return
        self.answer = answer
        recorded = self.executor.run(lease.seen)
        if not held:
            # The worker itself may have said so before; nothing was written now, as the invariants see.
            assert recorded is None or (token, "expired") not in job.runs
            return
        match answer:
            case "value" | "result" | "write":
                job.close_run("completed")
                job.end(Status.COMPLETED)
                if answer == "write" and job.status is Status.COMPLETED:
                    self.effects.add(token)
            case "snooze":
                self.snooze(job, 60)
            case "snooze 0":
                self.snooze(job, 0)
            case "discard":
                job.close_run("discarded")
                job.end(Status.DEAD_LETTER)
            case _:
                job.fail(self.now)
        self.settle_record(job)
        assert recorded is not None
        assert (recorded.id, recorded.status) == (job.id, job.status)

    # What operators do.

    @rule(
        pick=picks,
        other=picks,
        change=st.sampled_from(["cancel", "retry", "reschedule", "reorder", "look"]),
        delay=st.sampled_from([None, 0, 90]),
        priority=priorities,
    )
    def operate(self, pick: int, other: int, change: str, delay: int | None, priority: int) -> None:
        job, another = self.pick(pick, lambda _: True), self.pick(other, lambda _: True)
        if job is None or another is None:
            return
        match change:
            case "cancel":
                self.cancel(job)
            case "retry":
                self.retry(job)
            case "reschedule":
                self.reschedule(job, delay, priority)
            case "reorder":
                self.reorder(job, another)
            case _:
                self.look(job)

    def cancel(self, job: Expected) -> None:
        if job.status in (Status.COMPLETED, Status.DEAD_LETTER):
            self.refuse(job, lambda: self.queue.cancel(job.id))
            return
        cancelled = self.queue.cancel(job.id)
        if job.begun:
            job.cancel_requested = True
        elif job.live:
            job.end(Status.CANCELLED)
            self.settle_record(job)
        assert (cancelled.status, cancelled.cancel_requested) == (job.status, job.cancel_requested)

    def retry(self, job: Expected) -> None:
        if job.status in (Status.PENDING, Status.IN_PROGRESS):
            self.refuse(job, lambda: self.queue.retry(job.id))
            return
        new = self.queue.retry(job.id)
        if job.status is Status.FAILED:
            job.scheduled_for = self.now
            assert new.id == job.id
        elif job.retried_by:
            assert (new.id, new.created) == (job.retried_by, False)
        else:
            assert new.created
            job.retried_by = new.id
            self.jobs.append(
                Expected(
                    id=new.id,
                    scheduled_for=self.now,
                    priority=job.priority,
                    shard=keys.shard_of(new.id, self.shards),
                    max_attempts=new.max_attempts or MAX_ATTEMPTS,
                )
            )

    def reschedule(self, job: Expected, delay: int | None, priority: int) -> None:
        if job.status not in WAITING:
            self.refuse(job, lambda: self.queue.reschedule(job.id, delay=delay, priority=priority))
            return
        self.queue.reschedule(job.id, delay=delay, priority=priority)
        job.priority = priority
        if delay is not None:
            job.scheduled_for = self.now + timedelta(seconds=delay)

    def reorder(self, job: Expected, before: Expected) -> None:
        if before.status not in WAITING:
            self.refuse(before, lambda: self.queue.reschedule(job.id, before=before.id))
        elif job.status not in WAITING:
            self.refuse(job, lambda: self.queue.reschedule(job.id, before=before.id))
        else:
            self.queue.reschedule(job.id, before=before.id)
            job.priority, job.scheduled_for = before.priority, before.scheduled_for - TICK

    def look(self, job: Expected) -> None:
        found = self.queue.get(job.id)
        assert (found.status, len(found.runs) - job.begun) == (job.status, min(len(job.runs), 10))
        for unknown in self.jobs:
            if not unknown.indexed and not unknown.twin:
                with pytest.raises(JobNotFound):
                    self.queue.get(unknown.id)

    def refuse(self, job: Expected, call: Callable[[], Any]) -> None:
        with pytest.raises(InvalidTransition) as refused:
            call()
        assert (refused.value.job.id, refused.value.job.status) == (job.id, job.status)

    @rule(by=st.sampled_from([TICK, timedelta(seconds=1), timedelta(seconds=30), timedelta(hours=2)]))
    def time_passes(self, by: timedelta) -> None:
        self.clock.advance(by)

    @rule(pick=picks, over=st.sampled_from([timedelta(0), TICK]))
    @precondition(lambda self: any(job.token for job in self.jobs))
    def a_lease_runs_out(self, pick: int, over: timedelta) -> None:
        """To the last moment at which it still holds, or to the first at which it does not; then a poll."""
        ends_at = latest([job.lease_end for job in self.jobs if job.lease_end], pick)
        self.clock.set(max(self.now, ends_at + SKEW + over))
        self.poll()

    # What the model says.

    def put_right(self, *, sweeping: bool = False) -> bool:
        """What a walk makes of the hand-written items it meets; True if it met any."""
        due, absurd = f"scheduled#{keys.timestamp(self.now)}$", f"scheduled#{self.now.year + 100}"
        met = [
            job
            for job in self.jobs
            if job.raw_key and (job.raw_key[1] <= due or (sweeping and job.raw_key[1] >= absurd))
        ]
        for job in met:
            job.raw_key, job.indexed = None, True
            if job.becomes != "job":
                job.end(Status.COMPLETED if job.becomes == "completed" else Status.DEAD_LETTER)
        return bool(met)

    def claim_expected(self) -> list[Expected]:
        """The jobs that a poll claims now; the lapsed leases that it settles."""
        sweeping = self.now - self.swept_at >= SWEEP_EVERY
        if sweeping:
            self.swept_at = self.now
        self.put_right(sweeping=sweeping)
        due = [job for job in self.jobs if job.claimable(self.now)]
        for job in due:
            self.expect_claim(job)
        return [job for job in due if job.live]

    def expect_claim(self, job: Expected) -> None:
        if job.status is Status.IN_PROGRESS:
            if job.begun:
                job.fail(self.now, "expired")
            else:
                job.not_delivered()
            self.settle_record(job)
        if job.live:
            job.status, job.indexed = Status.IN_PROGRESS, True

    def expect_begun(self, job: Expected, begun: Stored) -> None:
        job.token, job.begun, job.lease_end = begun.job.locked_by, True, self.now + LEASE
        assert begun.job.open_run is not None and begun.job.open_run.attempt == job.attempts + 1
        assert job.token is not None
        self.runs.append((Lease(self.queue.store, begun, self.queue.now), job.token, job))

    def snooze(self, job: Expected, seconds: int) -> None:
        if job.cancel_requested:
            job.close_run("cancelled")
            job.end(Status.CANCELLED)
        else:
            job.close_run("snoozed")
            job.wait(Status.PENDING, self.now + timedelta(seconds=seconds))

    def settle_record(self, job: Expected) -> None:
        if job.live or job.record is None:
            return
        if job.record[1] == "active":
            del self.records[job.record]
            job.record = None
        else:
            self.records[job.record].outcome = job.status

    # What must hold after every step.

    @invariant()
    def the_table_is_what_the_model_says(self) -> None:
        items = {(item["PK"]["S"], item["SK"]["S"]): item for item in self.scan()}
        jobs = {key: item for key, item in items.items() if key[0].startswith("job") and key[1][:4] != "run#"}
        assert sorted(jobs) == sorted(job.key for job in self.jobs)
        for job in self.jobs:
            if not job.raw_key:
                self.check_job(job, jobs[job.key], items)
        moved_runs = {key for key in items if key[1].startswith("run#")}
        owners = {f"job-id#{job.id}" for job in self.jobs}
        assert {pk for pk, _ in moved_runs} <= owners, "a run without its job"
        records = {key: item for key, item in items.items() if key[0].startswith("scheduled-job#")}
        assert records.keys() == self.records.keys()
        for key, record in self.records.items():
            self.check_record(record, records[key])
        assert {pk.removeprefix("app#") for pk, _ in items if pk.startswith("app#")} == self.effects

    def check_job(self, expected: Expected, item: Item, items: dict[Key, Item]) -> None:
        job = decode(item, self.queue.settings)
        assert (job.id, job.status, job.priority) == (expected.id, expected.status, expected.priority)
        assert job_key(job) == {"PK": item["PK"], "SK": item["SK"]}
        assert (job.attempts, job.undelivered) == (expected.attempts, expected.undelivered)
        assert (job.locked_by, job.lock_expires_at) == (expected.token, expected.lease_end)
        assert (job.cancel_requested, job.retried_by) == (expected.cancel_requested, expected.retried_by)
        assert (job.finished_at is not None) == (not expected.live)
        assert ("run" in item) == (job.status is Status.IN_PROGRESS)
        assert (job.open_run is not None) == expected.begun
        if "run" in item:
            assert item["run"]["M"]["run_id"] == {"S": expected.token}
        assert ("expires_at" in item) == (job.status in (Status.COMPLETED, Status.CANCELLED))
        if expected.live:
            assert job.scheduled_for == expected.scheduled_for
            assert ("GSI1PK" in item) == expected.indexed
        assert job.version >= expected.version
        expected.version = job.version
        self.check_runs(expected, job, item, items)

    def check_runs(self, expected: Expected, job: Job, item: Item, items: dict[Key, Item]) -> None:
        assert job.runs_closed == len(expected.runs)
        places = [(f"job-id#{expected.id}", keys.run_key(n)) for n in range(1, job.runs_closed - 10 + 1)]
        maps = [
            *({name: value for name, value in items[place].items() if name in RUN} for place in places),
            *(each["M"] for each in item.get("runs", {}).get("L", ())),
        ]
        assert [(each["run_id"]["S"], each["status"]["S"]) for each in maps] == expected.runs
        for each in maps:
            assert self.closed_runs.setdefault(each["run_id"]["S"], each) == each, "a closed run changed"
            run = decode_run({"M": each})
            assert run.started_at is not None and run.finished_at is not None
            assert run.started_at <= run.finished_at <= self.now

    def check_record(self, expected: Record, item: Item) -> None:
        assert item["job_id"] == {"S": expected.job.id}
        assert item.get("outcome", {}).get("S") == expected.outcome
        if expected.outcome is None:
            assert expected.job.live
            assert (item["job_pk"]["S"], item["job_sk"]["S"]) == expected.job.key

    def scan(self) -> Iterator[Item]:
        for page in self.client.get_paginator("scan").paginate(TableName=self.table, ConsistentRead=True):
            yield from page["Items"]


RUN = {
    "run_id",
    "attempt",
    "status",
    "worker",
    "log",
    "started_at",
    "finished_at",
    "message",
    "details",
    "error",
}


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of jobs need no log, and moto is right in one thread only."""
    monkeypatch.setattr(logger, "disabled", True, raising=False)
    monkeypatch.setattr(poller, "CLAIM_THREADS", 1)


def tell_stories(client: Any, shards: int, stories: int) -> None:
    run_state_machine_as_test(
        type("StoriesTold", (Stories,), {"client": client, "shards": shards}),
        settings=settings(
            max_examples=stories,
            stateful_step_count=40,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.usefixtures("quiet")
def test_every_story_keeps_the_promises(moto_client: Any) -> None:
    tell_stories(moto_client, shards=1, stories=10)


@pytest.mark.engine
@pytest.mark.xdist_group("dynoxide")
@pytest.mark.usefixtures("quiet")
def test_every_story_keeps_the_promises_on_dynoxide(dynoxide: engines.RunningEngine) -> None:
    tell_stories(engines.client(dynoxide), shards=2, stories=30)
