"""Jobs in the table: reads, and the guarded writes that carry out a transition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from dynajobs import dedup, fault, keys
from dynajobs.control import Control
from dynajobs.dynamo import NEW, Busy, Conflict, Expression, Table
from dynajobs.errors import DynajobsError, JobNotFound, LeaseLost, Unavailable
from dynajobs.item import (
    Item,
    Malformed,
    Stored,
    buried,
    decode,
    encode,
    encode_run,
    expires_at,
    job_key,
    key_of,
    own_attributes,
)
from dynajobs.job import MAX_STORED_RUNS, Job, Status
from dynajobs.settings import Settings

LAG_WAITS = (0.05, 0.1, 0.2)
"""Seconds for which a read by id waits, three times, for the index to learn of a new job."""

MAX_TRIES = 20
MAX_ACTIONS = 100
"""DynamoDB's limit for a transaction."""

GUARD = ("status", "version", "locked_by")
CLAIM_GUARD = (*GUARD, "lock_expires_at", "scheduled_for", "job_type")


Plan = list[tuple[str | int, dict[str, Any]]]
"""The writes of a change, each with its role; the handler's own actions have their index."""


class Changed(DynajobsError):
    """The job is not as it was seen; `item` is what stands there now, if anything."""

    def __init__(self, item: Item | None) -> None:
        super().__init__("the job changed meanwhile")
        self.item = item


class ActionRefused(DynajobsError):
    """A condition of the handler's own actions failed; `index` says which."""

    def __init__(self, index: int) -> None:
        super().__init__(f"the condition of complete_with action {index} failed")
        self.index = index


class Store:
    """The jobs of one table. A guard that fails raises `Changed`: nothing is overwritten unseen."""

    def __init__(self, table: Table, settings: Settings) -> None:
        self.table = table
        self.settings = settings
        self._own = own_attributes(settings)
        self.control = Control(table, settings)

    def find(self, job: Job | str) -> Stored:
        """The job as it is now, wherever it lives; waits a little for the index to know a new one."""
        job_id = job.id if isinstance(job, Job) else keys.canonical_id(str(job))
        if job_id is None:
            raise JobNotFound(f"{job!r} is no job id: it must be a UUID")
        hint = job_key(job) if isinstance(job, Job) and not job.status.finished else None
        for wait in (*LAG_WAITS, None):
            if found := self.look(job_id, hint):
                return found
            if wait is not None:
                self.table.sleep(wait)
        raise JobNotFound(f"no job {job_id} is stored: it never was, or it has expired")

    def look(self, job_id: str, hint: Item | None = None) -> Stored | None:
        """One look at every place a job can be, without waiting for the index."""
        for key in self._places(job_id, hint):
            if (found := self.read(key)) and found.job.id == job_id:
                return found
        return None

    def _places(self, job_id: str, hint: Item | None) -> Iterator[Item]:
        finished = {"PK": {"S": keys.job_partition(job_id)}, "SK": {"S": "job"}}
        if hint:
            yield hint
        yield finished
        expression = Expression()
        index_pk = expression.name(f"{self.settings.index}PK")
        for page in self.table.query(
            IndexName=self.settings.index,
            KeyConditionExpression=f"{index_pk} = {expression.value({'S': keys.job_partition(job_id)})}",
            **expression.parameters(),
        ):
            yield from map(key_of, page["Items"])
        yield finished  # it may have finished between the two reads

    def read(self, key: Item) -> Stored | None:
        """The job at a key, consistently; None if there is none or it cannot be understood."""
        item = self.table.get(key)
        if item is None:
            return None
        try:
            return Stored(decode(item, self.settings), item)
        except Malformed:
            return None

    def lane(
        self, priority: int, shard: int, low: str, high: str, *, limit: int, consistent: bool = False
    ) -> Iterator[Item]:
        """The items of a lane between two sort keys, read page by page as they are consumed."""
        expression = Expression()
        partition = expression.value({"S": keys.lane(priority, shard)})
        span = f"{expression.value({'S': low})} AND {expression.value({'S': high})}"
        for page in self.table.query(
            KeyConditionExpression=f"PK = {partition} AND SK BETWEEN {span}",
            Limit=limit,
            ConsistentRead=consistent,
            **expression.parameters(),
        ):
            yield from page["Items"]

    def as_stored(self, job: Job) -> Stored:
        """A job together with the item it was just written as."""
        return Stored(job, encode(job, self.settings))

    def put(self, job: Job) -> None:
        """A new job. If its fresh id is taken, an earlier try of ours arrived: success."""
        try:
            self.table.put(encode(job, self.settings))
        except Conflict:
            return

    def claim(self, seen: Stored, new: Job) -> Job | None:
        """Carry out a claim; None if somebody was faster. A lost answer is recognised by the token."""
        take = partial(self.replace, seen, new, guard=CLAIM_GUARD, patient=False)
        try:
            return self.table.insist(take, new.id) if new.open_run else take()
        except Busy:
            return None
        except Changed as changed:
            mine = new.locked_by is not None and (changed.item or {}).get("locked_by") == {"S": new.locked_by}
            return new if mine else None

    def held_back(self, job: Job) -> bool:
        """A job that is to start after an earlier run of its schedule, while that one is not over."""
        if job.waits_for is None or job.dedup_pk is None:
            return False
        record = self.table.get({"PK": {"S": job.dedup_pk}, "SK": {"S": job.waits_for}})
        return record is not None and self.is_live(record)

    def is_live(self, record: Item) -> bool:
        """Whether the job of a record is yet to end: the record has no outcome, and the job is there."""
        while "outcome" not in record and "job_pk" in record and "job_sk" in record:
            target = {"PK": record["job_pk"], "SK": record["job_sk"]}
            if self.table.get(target) is not None:
                return True
            # It may have moved or finished in between.
            fresh = self.table.get(key_of(record))
            if fresh is None or {"PK": fresh.get("job_pk"), "SK": fresh.get("job_sk")} == target:
                return False
            record = fresh
        return False

    def begin(
        self,
        key: Item,
        token: str,
        now: datetime,
        *,
        nonce: str,
        worker: str,
        log: dict[str, str] | None,
        max_attempts: int,
        until: datetime,
    ) -> Stored | None:
        """Open the run of a claim made elsewhere, once; None if the claim is stale or was begun already."""
        expression = Expression()
        run, version, most = (expression.name(name) for name in ("run", "version", "max_attempts"))
        started_at = f"{run}.{expression.name('started_at')}"
        changes: dict[str, dict[str, Any]] = {
            started_at: {"S": keys.timestamp(now)},
            f"{run}.{expression.name('status')}": {"S": "running"},
            f"{run}.{expression.name('worker')}": {"S": worker},
            expression.name("nonce"): {"S": nonce},
            expression.name("updated_at"): {"S": keys.timestamp(now)},
            expression.name("lock_expires_at"): {"S": keys.timestamp(until)},
        }
        if log:
            changes[f"{run}.{expression.name('log')}"] = {
                "M": {part: {"S": text} for part, text in log.items()}
            }
        assignments = [f"{path} = {expression.value(value)}" for path, value in changes.items()]
        assignments.append(f"{most} = if_not_exists({most}, {expression.value({'N': str(max_attempts)})})")
        assignments.append(f"{version} = {version} + {expression.value({'N': '1'})}")
        held = f"{expression.name('locked_by')} = {expression.value({'S': token})}"
        open_run = partial(
            self.table.update,
            key,
            "SET " + ", ".join(assignments),
            f"{held} AND attribute_not_exists({started_at})",
            expression,
            ReturnValues="ALL_NEW",
        )
        try:
            item = self.table.insist(open_run, keys.parse_due_key(key["SK"]["S"])[1])
        except Conflict as conflict:
            item = conflict.item or {}
            if item.get("locked_by") != {"S": token} or item.get("nonce") != {"S": nonce}:
                return None
        return Stored(decode(item, self.settings), item)

    def renew(self, seen: Stored, new: Job) -> Stored:
        """Extend the lease and carry progress out; the answer carries cancel requests in."""
        expression = Expression()
        encoded = encode(new, self.settings)
        carried: Item = {
            name: encoded[name] for name in ("lock_expires_at", "updated_at", "progress") if name in encoded
        }
        change = expression.difference({}, carried)
        condition = expression.as_seen(seen.item, "locked_by")
        try:
            item = self.table.update(seen.key, change, condition, expression, ReturnValues="ALL_NEW")
        except Conflict:
            raise LeaseLost(f"job {new.id} is no longer held by this worker") from None
        return Stored(decode(item, self.settings), item)

    def settle(
        self, seen: Stored, decide: Callable[[Job], Job], actions: list[dict[str, Any]] | None = None
    ) -> Job:
        """Record the outcome of a run. `decide` makes the next state, again if a request came from outside.

        `LeaseLost` if another worker owns the job by now; `ActionRefused` if an own condition failed.
        """
        for _ in range(MAX_TRIES):
            new = decide(seen.job)
            ended = self.table.insist(partial(self._end_run, seen, new, actions), new.id)
            if isinstance(ended, Job):
                return ended
            seen = ended
        raise Unavailable(f"job {seen.job.id} changed {MAX_TRIES} times while its outcome was being recorded")

    def settle_together(self, changes: list[tuple[Stored, Job]]) -> list[Job | None]:
        """Record several outcomes in one transaction; None for each that has to be recorded by itself."""
        recorded: list[Job | None] = []
        together: Plan = []
        touched: set[tuple[str, str]] = set()
        for seen, new in changes:
            if new.status.finished:
                self._prepare_finish(new)
            plan = self._plan(seen, new, GUARD, with_record=True, actions=[])
            places = {_place(action) for _, action in plan}
            # A single write costs half as much outside a transaction, which must not touch an item twice.
            if len(plan) == 1 or touched & places or len(together) + len(plan) > MAX_ACTIONS:
                recorded.append(None)
                continue
            touched |= places
            together += plan
            recorded.append(new)
        try:
            if together:
                self._carry_out(together, patient=False)
        except DynajobsError:
            return [None] * len(changes)
        return recorded

    def _end_run(self, seen: Stored, new: Job, actions: list[dict[str, Any]] | None) -> Job | Stored:
        """The job as its run ended; or as a request from outside left it, to decide anew."""
        try:
            return self.replace(seen, new, actions=actions if new.status is Status.COMPLETED else None)
        except Changed:
            for place in (new, _second_of_its_id(new, next(_other_ids(seen)))):
                recorded = self.read(job_key(place))
                if recorded and _ended_alike(recorded.job, new):
                    return recorded.job  # our own write, whose answer was lost
            fresh = self.read(seen.key)
            if fresh is None and self._forgets(new) and self.look(new.id) is None:
                return new  # our own delete: had another worker taken the job, it would be somewhere
            if fresh is None or fresh.job.locked_by != seen.job.locked_by or not fresh.job.open_run:
                raise LeaseLost(f"job {new.id} is no longer held by this worker") from None
            return fresh

    def replace(
        self,
        seen: Stored,
        new: Job,
        *,
        actions: list[dict[str, Any]] | None = None,
        guard: tuple[str, ...] = GUARD,
        patient: bool = True,
    ) -> Job:
        """Make the stored job into `new`, on condition that it still is as it was seen.

        One write where the job stays in place, else one transaction: the old key goes, the new one comes, the
        dedup record and a run that no longer fits follow, the handler's own actions join.
        """
        if new.status.finished:
            self._prepare_finish(new)
        with_record, other_ids = True, _other_ids(seen)
        while True:
            plan = self._plan(seen, new, guard, with_record=with_record, actions=actions or [])
            try:
                self._carry_out(plan, patient=patient)
                return new
            except Conflict as conflict:
                refused = [plan[position][0] for position in conflict.failed]
                if "old" in refused:
                    raise Changed(conflict.item) from None
                if "record" in refused:  # missing or somebody else's: it never blocks the job
                    with_record = False
                elif own := [role for role in refused if isinstance(role, int)]:
                    raise ActionRefused(own[0]) from None
                else:  # the id was used before: tell of it under another one, never loop
                    new, actions = _second_of_its_id(new, next(other_ids)), None
                    self._prepare_finish(new)

    def bury(self, item: Item, reason: str, now: datetime) -> Job | None:
        """Make an item nobody can understand into a dead letter; None if it changed meanwhile."""
        cause = fault.from_message(keys.INVALID_TYPE, "Malformed", reason)
        dead = buried(item, reason, cause.fingerprint, now)
        try:
            return self.replace(Stored(dead, item), dead, guard=CLAIM_GUARD)
        except Changed:
            return None

    def _plan(
        self,
        seen: Stored,
        new: Job,
        guard: tuple[str, ...],
        *,
        with_record: bool,
        actions: list[dict[str, Any]],
    ) -> Plan:
        """The writes of a change, each with its role."""
        item, expression = encode(new, self.settings), Expression()
        condition = "attribute_exists(PK) AND " + expression.as_seen(seen.item, *guard)
        plan: Plan = []
        if key_of(item) == seen.key:
            change = expression.difference(seen.item, item, self._own)
            plan.append(
                ("old", self._guarded("Update", seen.key, condition, expression, UpdateExpression=change))
            )
        else:
            plan.append(("old", self._guarded("Delete", seen.key, condition, expression)))
            if not self._forgets(new):
                plan.append(("new", self.table.action("Put", Item=item, ConditionExpression=NEW)))
        if with_record and (action := dedup.on_change(self.table, seen, new, self.settings)):
            plan.append(("record", action))
        if new.runs_closed > seen.job.runs_closed and len(seen.job.closed_runs) >= MAX_STORED_RUNS:
            plan.append(("run", self._moved_out(seen.job, new)))
        plan.extend(enumerate(actions))
        return plan

    def _guarded(
        self, verb: str, key: Item, condition: str, expression: Expression, **parameters: Any
    ) -> dict[str, Any]:
        return self.table.action(
            verb, Key=key, ConditionExpression=condition, **parameters, **expression.parameters()
        )

    def _moved_out(self, seen: Job, new: Job) -> dict[str, Any]:
        """The oldest closed run leaves the job's item: ten stay there."""
        sequence = seen.runs_closed - MAX_STORED_RUNS + 1
        item: Item = {
            "PK": {"S": keys.job_partition(new.id)},
            "SK": {"S": keys.run_key(sequence)},
            **encode_run(seen.closed_runs[0])["M"],
        }
        if (expiry := expires_at(new, self.settings)) is not None:
            item[self.settings.ttl_attribute] = {"N": str(expiry)}
        return self.table.action("Put", Item=item, ConditionExpression=NEW)

    def _carry_out(self, plan: Plan, *, patient: bool) -> None:
        actions = [action for _, action in plan]
        if len(actions) == 1:
            self.table.write(actions[0], patient=patient)
        else:
            self.table.transact(actions, patient=patient)

    def _forgets(self, job: Job) -> bool:
        return job.status is Status.COMPLETED and self.settings.retention_days == 0

    def _prepare_finish(self, job: Job) -> None:
        """A type becomes known before its first finish; runs that were moved out get the job's expiry."""
        if not self._forgets(job):
            self.control.learn_type(job.job_type)
        expiry = expires_at(job, self.settings)
        if expiry is None or job.runs_closed <= MAX_STORED_RUNS:
            return
        for key in self.older_runs(job.id):
            expression = Expression()
            ttl, value = expression.name(self.settings.ttl_attribute), expression.value({"N": str(expiry)})
            with suppress(Conflict):
                self.table.update(key, f"SET {ttl} = {value}", "attribute_exists(PK)", expression)

    def older_runs(self, job_id: str) -> Iterator[Item]:
        """The keys of a job's older runs, as stored: a count written by hand proves nothing."""
        expression = Expression()
        partition = expression.value({"S": keys.job_partition(job_id)})
        prefix = expression.value({"S": keys.RUN_PREFIX})
        for page in self.table.query(
            KeyConditionExpression=f"PK = {partition} AND begins_with(SK, {prefix})",
            ProjectionExpression="PK, SK",
            ConsistentRead=True,
            **expression.parameters(),
        ):
            yield from page["Items"]


def _place(action: dict[str, Any]) -> tuple[str, str]:
    """The key of the item an action is about."""
    ((_, parameters),) = action.items()
    key = parameters.get("Key") or parameters["Item"]
    return key["PK"]["S"], key["SK"]["S"]


def _other_ids(seen: Stored) -> Iterator[str]:
    """Ids for a job whose own is taken: the one its key gives, then new ones."""
    yield keys.derived_id(seen.item["PK"]["S"], seen.item["SK"]["S"])
    while True:
        yield keys.new_id()


def _ended_alike(one: Job, other: Job) -> bool:
    """The last run of both is the same and ended with the same words; a lapsed lease ends it with others."""
    ends = [replace(job.closed_runs[-1], finished_at=None) for job in (one, other) if job.closed_runs]
    return len(ends) == 2 and ends[0] == ends[1]


def _second_of_its_id(job: Job, other_id: str) -> Job:
    """A job whose id another job had before it ends as a dead letter that says so."""
    cause = fault.from_message(job.job_type, "IdUsed", f"job id already used by another job: {job.id}")
    return replace(
        job,
        id=other_id,
        status=Status.DEAD_LETTER,
        locked_by=None,
        lock_expires_at=None,
        finished_at=job.updated_at,
        completed_at=None,
        last_error=cause.last_error,
        fingerprint=cause.fingerprint,
    )
