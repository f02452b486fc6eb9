"""The runs of a schedule, each made by one guarded transaction: record, job, and the schedule's advance."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dynajobs import history, keys, producing
from dynajobs.dynamo import NEW, Conflict, Expression
from dynajobs.errors import DynajobsError, InvalidJob, ScheduleNotFound, TemplateNotFound
from dynajobs.item import Item, key_of
from dynajobs.job import Job
from dynajobs.schedule_item import Entry, index_key
from dynajobs.slots import Step

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

Plan = list[tuple[str, dict[str, Any]]]
"""The writes of a transaction, each with its role."""


class ScheduleChanged(DynajobsError):
    """The schedule is not as it was seen; `item` is what stands there now, if anything."""

    def __init__(self, item: Item | None) -> None:
        super().__init__("the schedule changed meanwhile")
        self.item = item


def fire(queue: JobQueue, entry: Entry, seen: datetime, step: Step, now: datetime) -> Job | None:
    """Carry out one step of a schedule whose next slot was seen as `seen`; the job it made, if any.

    `ScheduleChanged` if the schedule was edited, disabled or fired by somebody else: nothing is written then.
    """
    table, name = queue.store.table, entry.schedule.name
    job, writes = (None, []) if step.slot is None else _slot(queue, entry, step, step.slot, now)
    if step.missed:
        missed = history.gap_record(
            queue.store, name, step.missed.last, "missed", now, count=step.missed.count
        )
        writes.append(("missed", table.action("Put", Item=missed, ConditionExpression=NEW)))
    while True:
        plan = [("schedule", _advance(queue, entry, seen, step.next_run_at, now, job)), *writes]
        try:
            _carry_out(queue, plan)
            return job
        except Conflict as conflict:
            refused = {plan[position][0]: conflict.items.get(position) for position in conflict.failed}
        if job is not None and _is_ours(refused, job):
            return job
        if "schedule" in refused:
            raise ScheduleChanged(refused["schedule"])
        if {"slot", "job"} & refused.keys():
            # The slot has a job already, by a backfill or before the cron was edited: go on without.
            refused |= {"slot": None, "job": None}
            job = None
        if {"merged", "skipped"} & refused.keys():
            refused |= {"merged": None}  # what it told must not go with a record that is not put
        writes = [(role, action) for role, action in writes if role not in refused]


def trigger(queue: JobQueue, entry: Entry, now: datetime) -> Job:
    """A run between slots; the schedule's own slots stay as they are."""
    job = _job(queue, entry, now, now, "manual")
    made = _add(queue, entry, replace(job, dedup_sk=keys.slot_key(now, job.id)), now)
    assert made is not None  # its key has its id in it
    return made


def backfill(queue: JobQueue, entry: Entry, slot: datetime, now: datetime) -> Job | None:
    """Run a slot of the past; None if it has a job already."""
    return _add(queue, entry, _job(queue, entry, slot, now, "backfill"), now)


def _add(queue: JobQueue, entry: Entry, job: Job, now: datetime) -> Job | None:
    """A run beside what the schedule fires: it counts, but the next slot stays."""
    expression = Expression()
    change = expression.difference({}, {"last_run_at": {"S": keys.timestamp(now)}})
    counted = queue.store.table.action(
        "Update",
        Key=entry.key,
        UpdateExpression=f"{change} ADD {expression.name('total_runs')} {expression.value({'N': '1'})}",
        ConditionExpression="attribute_exists(PK)",
        **expression.parameters(),
    )
    plan: Plan = [("schedule", counted), *_put(queue, job)]
    try:
        _carry_out(queue, plan)
    except Conflict as conflict:
        refused = {plan[position][0]: conflict.items.get(position) for position in conflict.failed}
        if _is_ours(refused, job):
            return job
        if "schedule" in refused:
            raise ScheduleNotFound(f"there is no schedule {entry.schedule.name!r} any more") from None
        return None
    return job


def _is_ours(refused: dict[str, Item | None], job: Job) -> bool:
    """An earlier try of this transaction arrived, and its answer was lost."""
    return (refused.get("slot") or {}).get("job_id") == {"S": job.id}


def _slot(
    queue: JobQueue, entry: Entry, step: Step, slot: datetime, now: datetime
) -> tuple[Job | None, Plan]:
    """What a slot becomes: a job with its record, or a record that it was skipped, and why."""
    newest: Item | None = None
    try:
        job = _job(queue, entry, slot, now, step.triggered_by)
        if entry.schedule.overlap == "allow":
            return job, _put(queue, job)
        newest, live = history.recent(queue.store, entry.schedule.name)
        if not live:
            return job, _put(queue, job)
        if entry.schedule.overlap == "queue_one" and len(live) == 1:
            job = replace(job, waits_for=live[0]["SK"]["S"])
            return job, _put(queue, job)
        reason = "the run before was not over"
    except (InvalidJob, TemplateNotFound) as error:
        reason = str(error)
        newest, _ = history.recent(queue.store, entry.schedule.name)
    return None, _skip(queue, entry, slot, now, reason, newest)


def _skip(
    queue: JobQueue, entry: Entry, slot: datetime, now: datetime, reason: str, newest: Item | None
) -> Plan:
    """One record tells of all slots skipped in a row: the last one's takes the place of the one before."""
    table, count = queue.store.table, 1
    plan: Plan = []
    if newest and _is_before(entry, newest, slot, reason):
        expression = Expression()
        count += int(newest.get("count", {}).get("N", "1"))
        condition = expression.as_seen(newest, "outcome", "count")
        action = table.action(
            "Delete", Key=key_of(newest), ConditionExpression=condition, **expression.parameters()
        )
        plan.append(("merged", action))
    skipped = history.gap_record(
        queue.store, entry.schedule.name, slot, "skipped", now, count=count, message=reason
    )
    return [*plan, ("skipped", table.action("Put", Item=skipped, ConditionExpression=NEW))]


def _is_before(entry: Entry, newest: Item, slot: datetime, reason: str) -> bool:
    """Whether a record is that of the slot right before this one, skipped for the same reason."""
    if newest.get("outcome") != {"S": "skipped"} or newest.get("message") != {"S": reason}:
        return False
    try:
        return entry.cron.after(keys.parse_slot_key(newest["SK"]["S"])) == slot
    except (ValueError, DynajobsError):
        return False


def _job(queue: JobQueue, entry: Entry, slot: datetime, now: datetime, triggered_by: str) -> Job:
    """The job of a slot; a template is taken as it is now."""
    schedule = entry.schedule
    job_type, payload = schedule.job_type, dict(schedule.payload)
    priority, max_attempts = schedule.priority, schedule.max_attempts
    if schedule.template is not None:
        template = queue.templates.get(schedule.template)
        job_type, payload = template.job_type, template.with_overrides(schedule.param_overrides)
        priority, max_attempts = priority or template.priority, max_attempts or template.max_attempts
    job = producing.build(
        job_type or "",
        payload,
        now=now,
        shards=queue.settings.shards,
        run_at=slot,
        priority=priority,
        max_attempts=max_attempts,
    )
    return replace(
        job,
        schedule_name=schedule.name,
        triggered_by=triggered_by,
        template=schedule.template,
        dedup_pk=keys.slots_partition(schedule.name),
        dedup_sk=keys.slot_key(slot),
    )


def _put(queue: JobQueue, job: Job) -> Plan:
    record, put = producing.put_actions(queue.store, job)
    return [("slot", record), ("job", put)]


def _advance(
    queue: JobQueue, entry: Entry, seen: datetime, next_run_at: datetime, now: datetime, job: Job | None
) -> dict[str, Any]:
    """To the next slot, if the schedule still is enabled, as it was read, and waiting for this one."""
    expression = Expression()
    moved: Item = {
        "next_run_at": {"S": keys.timestamp(next_run_at)},
        **index_key(entry.schedule.name, next_run_at, queue.settings.index),
    }
    if job is not None:
        moved["last_run_at"] = {"S": keys.timestamp(now)}
    change = expression.difference({}, moved)
    if job is not None:
        change += f" ADD {expression.name('total_runs')} {expression.value({'N': '1'})}"
    as_seen: Item = {"enabled": {"BOOL": True}, "next_run_at": {"S": keys.timestamp(seen)}}
    condition = f"{expression.as_seen(as_seen, *as_seen)} AND {expression.as_seen(entry.item, 'version')}"
    return queue.store.table.action(
        "Update",
        Key=entry.key,
        UpdateExpression=change,
        ConditionExpression=condition,
        **expression.parameters(),
    )


def _carry_out(queue: JobQueue, plan: Plan) -> None:
    actions = [action for _, action in plan]
    if len(actions) == 1:
        queue.store.table.write(actions[0])
    else:
        queue.store.table.transact(actions)
