"""A queue, its handlers and a clock on one table, and the promises every state of that table must keep."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from dynajobs import (
    Discard,
    Job,
    JobContext,
    JobQueue,
    JobResult,
    Registry,
    Run,
    Settings,
    Snooze,
    Status,
    keys,
    lifecycle,
)
from dynajobs.dynamo import CONFLICT_PATIENCE
from dynajobs.errors import Unavailable
from dynajobs.execution import Executor
from dynajobs.item import Item, Stored, decode, decode_run, job_key, key_of
from dynajobs.poller import Poller
from dynajobs.telemetry import Telemetry
from dynajobs.testing import Clock
from dynajobs.worker import begin_here
from tests.support.faults import Fault, Line
from tests.support.table import event_of

START = datetime(2026, 11, 18, 7, tzinfo=UTC)
LAPSE = timedelta(seconds=100)
"""Longer than the lease of a claim (90 s) and the allowance for skew together."""

STEP = 0.25
"""Every sleep takes at least this long here, so that patience ends after a few tries."""

HOLD = CONFLICT_PATIENCE + 0.5
OWN_KEY: Item = {"PK": {"S": "app#1"}, "SK": {"S": "effect"}}


class Context:
    """As much of a Lambda context as a handler function looks at."""

    log_stream_name = "stream"
    log_group_name = "group"
    aws_request_id = "request"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


class World:
    """One queue with one job type, `work`, whose payload says what it does, and the events of its poller."""

    def __init__(self, line: Line, table: str, **settings: Any) -> None:
        self.line = line
        self.table = table
        self.clock = Clock(START)
        self.settings = Settings(**{"handlers": {"*": "function"}, **settings})
        self.queue = JobQueue(
            table, client=line.client, clock=self.clock, settings=self.settings, random=random.Random(7)
        )
        self.queue.store.table.sleep = self.sleep
        self.registry = Registry()
        self.registry.handler("work")(self._work)
        self.executor = Executor(self.queue, self.registry, Telemetry(self.settings))
        self.poller = Poller(self.queue, self._invoke)
        self.poller._swept_at = START  # the hourly sweep has been
        self.function = self.registry.lambda_handler(self.queue)
        self.slept = 0.0
        self.fault: Fault | None = None
        self.repeats = 0
        self.ran: list[str] = []
        self.events: list[dict[str, str]] = []
        self.refuse_invocations = 0
        self.lose_invocations = 0
        self.while_running: Callable[[], Any] = lambda: None

    @property
    def unheard(self) -> int:
        """How many writes arrived whose caller was told of a failure and called again."""
        return self.repeats if self.fault and self.fault.lost else 0

    @property
    def unnoticed(self) -> bool:
        """botocore alone copes with the fault: all is as it would be without."""
        return self.fault in (None, Fault.REFUSED, Fault.LOST)

    def monotonic(self) -> float:
        return self.slept

    def sleep(self, seconds: float) -> None:
        """Nobody waits: the clocks move on, and what held an item lets go of it in the end."""
        self.slept += max(seconds, STEP)
        self.clock.advance(max(seconds, STEP))
        if self.slept >= HOLD:
            self.line.mend()

    def _work(self, payload: dict[str, Any], ctx: JobContext) -> Any:
        self.ran.append(ctx.job.id)
        self.while_running()
        match payload:
            case {"do": "fail"}:
                raise RuntimeError("as asked for")
            case {"do": "snooze", "seconds": seconds}:
                return Snooze(seconds)
            case {"do": "discard"}:
                return Discard("as asked for")
            case {"do": "write", **rest}:
                ctx.complete_with([self._effect(rest.get("condition"))])
            case {"do": "beat"}:
                ctx.progress(1, 2)
                try:
                    ctx.heartbeat()
                except Unavailable:
                    ctx.heartbeat()
        return JobResult(message="done")

    def _effect(self, condition: str | None) -> dict[str, Any]:
        update: dict[str, Any] = {
            "TableName": self.table,
            "Key": OWN_KEY,
            "UpdateExpression": "ADD times :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        if condition:
            update["ConditionExpression"] = condition
        return {"Update": update}

    @property
    def effects(self) -> int:
        """How often the handler's own write happened."""
        item = self.queue.store.table.get(OWN_KEY) or {}
        return int(item.get("times", {}).get("N", "0"))

    def _invoke(self, function: str, job: Job) -> None:
        assert function == "function"
        if self.refuse_invocations:
            self.refuse_invocations -= 1
            raise Unavailable("the function could not be invoked")
        self.events.append(event_of(job))
        if self.lose_invocations:
            self.lose_invocations -= 1
            raise Unavailable("the function gave no answer")

    def enqueue(self, do: str = "complete", **options: Any) -> Job:
        payload = {"do": do} | options.pop("payload", {})
        return self.queue.enqueue("work", payload, **options)

    def claim(self, job: Job) -> dict[str, str]:
        """Claim a job as the poller does; the event it would send."""
        seen = self.queue.store.find(job)
        lease = timedelta(seconds=90)
        new = lifecycle.claim(seen.job, self.clock(), token=keys.new_id(), lease=lease, max_attempts=5)
        claimed = self.queue.store.claim(seen, new)
        assert claimed is not None
        return event_of(claimed)

    def begin(self, job: Job) -> Stored:
        """Claim and begin a job, as a worker does."""
        begun = begin_here(self.executor, self.queue.store.find(job), "worker")
        assert begun is not None
        return begun

    def run(self, job: Job) -> Job:
        """Run a waiting job, as a worker does."""
        ended = self.executor.run(self.begin(job))
        assert ended is not None
        self.ran.clear()
        return ended

    def handle(self, event: dict[str, str]) -> str:
        """What the handler function says of an event."""
        return self.function(event, Context())["status"]

    def alter(self, job: Job, **changes: Any) -> Job:
        """The waiting job as it would be after a longer life."""
        altered = replace(job, **changes)
        item = self.queue.store.as_stored(altered).item
        self.line.client.put_item(TableName=self.table, Item=item)
        return altered

    def with_ten_runs(self, job: Job) -> Job:
        """As many closed runs as fit in a job."""
        snoozed = Run(run_id="", attempt=1, status="snoozed", started_at=START, finished_at=START)
        runs = tuple(replace(snoozed, run_id=f"run {number}") for number in range(10))
        return self.alter(job, runs=runs, runs_closed=10, version=30)

    def run_out(self) -> None:
        """Let time pass, poll and deliver until nothing is live."""
        for _ in range(10):
            while self.events:
                self.handle(self.events.pop(0))
            if not self.live():
                return
            self.clock.advance(LAPSE)
            self.poller.poll()
        raise AssertionError(f"still live: {self.live()}")

    def put(self, pk: str, sk: str, **attributes: str) -> None:
        """A hand-written item."""
        item: Item = {name: {"S": text} for name, text in {"PK": pk, "SK": sk, **attributes}.items()}
        self.line.client.put_item(TableName=self.table, Item=item)

    def delete(self, key: Item) -> None:
        self.line.client.delete_item(TableName=self.table, Key=key)

    def items(self) -> list[Item]:
        """The whole table."""
        found: list[Item] = self.line.client.scan(TableName=self.table, ConsistentRead=True)["Items"]
        return found

    def jobs(self) -> list[Stored]:
        return self._jobs_of(self.items())

    def _jobs_of(self, items: list[Item]) -> list[Stored]:
        return [
            Stored(decode(item, self.settings), item)
            for item in items
            if item["PK"]["S"].startswith("job") and not item["SK"]["S"].startswith("run#")
        ]

    def live(self) -> list[Job]:
        return [each.job for each in self.jobs() if not each.job.status.finished]

    def one(self) -> Job:
        """The only job there is."""
        (stored,) = self.jobs()
        return stored.job

    def empty(self) -> None:
        """An empty table again."""
        requests = [{"DeleteRequest": {"Key": key_of(item)}} for item in self.items()]
        for start in range(0, len(requests), 25):
            self.line.client.batch_write_item(RequestItems={self.table: requests[start : start + 25]})

    def assert_healthy(self) -> None:
        """Each job once, where it belongs, its attempts and runs counted, its record at its side."""
        items = self.items()
        jobs = self._jobs_of(items)
        twice = [job_id for job_id, times in Counter(each.job.id for each in jobs).items() if times > 1]
        assert not twice, f"stored twice: {twice}"
        for each in jobs:
            assert job_key(each.job) == each.key, f"{each.key} holds {each.job}"
            _assert_lock_fits(each)
            _assert_runs_fit(each.job, items)
        _assert_records_fit([each.job for each in jobs], items)


def _assert_lock_fits(stored: Stored) -> None:
    job, run = stored.job, stored.item.get("run", {}).get("M")
    if job.status is Status.IN_PROGRESS:
        assert job.locked_by is not None and job.lock_expires_at is not None and run is not None
        assert run["run_id"] == {"S": job.locked_by}
    else:
        assert job.locked_by is None and job.lock_expires_at is None and run is None, f"locked: {job}"


def _assert_runs_fit(job: Job, items: list[Item]) -> None:
    moved = {
        item["SK"]["S"]: decode_run({"M": item})
        for item in items
        if item["PK"]["S"] == f"job-id#{job.id}" and item["SK"]["S"].startswith("run#")
    }
    assert sorted(moved) == [f"run#{number:06d}" for number in range(1, len(moved) + 1)]
    runs = [*(moved[name] for name in sorted(moved)), *job.closed_runs]
    assert len({run.run_id for run in runs}) == len(runs), f"a run was closed twice: {runs}"
    assert len(runs) == job.runs_closed
    assert len(job.closed_runs) <= 10
    failed = [run for run in runs if run.status in ("failed", "expired")]
    assert job.attempts == len(failed), f"{job.attempts} attempts, but {len(failed)} runs failed"


def _assert_records_fit(jobs: list[Job], items: list[Item]) -> None:
    by_id = {job.id: job for job in jobs}
    records = {
        (item["PK"]["S"], item["SK"]["S"]): item
        for item in items
        if item["PK"]["S"].startswith("scheduled-job#") and "job_id" in item
    }
    for record in records.values():
        job = by_id.get(record["job_id"]["S"])
        if "outcome" in record:
            assert job is None or record["outcome"] == {"S": job.status.value}, f"{record} of {job}"
            continue
        assert job is not None, f"{record} points at nothing"
        assert job_key(job) == {"PK": record["job_pk"], "SK": record["job_sk"]}, f"{record} of {job}"
        assert not job.status.finished, f"{record} of {job}"
    for job in jobs:
        if job.dedup_pk is not None and job.dedup_sk is not None:
            found = records.get((job.dedup_pk, job.dedup_sk))
            gone = job.status.finished and job.dedup_sk == "active"
            if not gone:
                assert found is not None and found["job_id"] == {"S": job.id}, f"{job} has no record"
            else:
                assert found is None or found["job_id"] != {"S": job.id}, f"{found} outlives {job}"
