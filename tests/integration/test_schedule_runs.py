"""A schedule's history: triggered runs, pages, figures, and what a handler learns from it."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from dynajobs import (
    InvalidCursor,
    InvalidJob,
    Job,
    JobContext,
    JobQueue,
    Registry,
    ScheduleRun,
    Status,
    TemplateNotFound,
)
from dynajobs.testing import Clock, assert_enqueued, drain
from tests.integration.conftest import MakeQueue
from tests.support.firing import at, fire, history, slot_records
from tests.support.table import all_items
from tests.support.work import working

HOURLY = "0 * * * *"


def result(**values: Any) -> dict[str, Any]:
    return {"do": "result", "value": values}


def test_a_trigger_makes_a_job_now(queue: JobQueue, clock: Clock, jobs: Registry) -> None:
    queue.schedules.create("s", "work", cron=HOURLY, payload={"n": 4}, priority=2, max_attempts=3)
    clock.set(at(0, 20))

    job = queue.schedules.trigger("s")

    assert isinstance(job, Job)
    assert (job.schedule_name, job.triggered_by, job.status) == ("s", "manual", Status.PENDING)
    assert (job.job_type, job.payload, job.priority, job.max_attempts) == ("work", {"n": 4}, 2, 3)
    assert (job.scheduled_for, job.created, job.template) == (at(0, 20), True, None)
    assert queue.get(job) == job
    assert history(queue) == [(at(0, 20), "queued", "manual", 1)]
    seen = queue.schedules.get("s")
    assert (seen.next_run_at, seen.total_runs, seen.last_run_at) == (at(1), 1, at(0, 20))
    assert [done.id for done in drain(queue, jobs)] == [job.id]


def test_every_trigger_is_a_run_of_its_own(queue: JobQueue, clock: Clock, jobs: Registry) -> None:
    queue.schedules.create("s", "work", cron=HOURLY, overlap="skip")
    clock.set(at(1))  # also the instant of a slot

    made = {queue.schedules.trigger("s").id for _ in range(3)}

    assert len(made) == 3
    assert len(history(queue)) == 3
    assert {job.id for job in drain(queue, jobs)} >= made


def test_a_trigger_never_takes_the_slot(queue: JobQueue, clock: Clock) -> None:
    queue.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(1))
    queue.schedules.trigger("s")

    assert fire(queue) == 1

    assert sorted(history(queue)) == [(at(1), "queued", "manual", 1), (at(1), "queued", "scheduler", 1)]
    assert queue.schedules.get("s").total_runs == 2


def test_a_disabled_schedule_can_be_triggered(queue: JobQueue, jobs: Registry) -> None:
    queue.schedules.create("s", "work", cron=HOURLY, enabled=False)

    job = queue.schedules.trigger("s")

    assert [done.id for done in drain(queue, jobs)] == [job.id]
    seen = queue.schedules.get("s")
    assert (seen.enabled, seen.next_run_at, seen.total_runs) == (False, None, 1)


def test_a_trigger_resolves_the_template(queue: JobQueue) -> None:
    queue.templates.create("t", "work", payload={"a": 1, "b": {"x": 1}}, priority=3, max_attempts=9)
    queue.schedules.create("s", template="t", param_overrides={"b": {"y": 2}}, cron=HOURLY)
    queue.templates.update("t", payload={"a": 5, "b": 0})

    job = queue.schedules.trigger("s")

    assert (job.job_type, job.payload, job.template) == ("work", {"a": 5, "b": {"y": 2}}, "t")
    assert (job.priority, job.max_attempts) == (3, 9)


def test_a_trigger_without_its_template_says_so(moto_queue: JobQueue) -> None:
    moto_queue.templates.create("t", "work")
    moto_queue.schedules.create("s", template="t", cron=HOURLY)
    [item] = all_items(moto_queue, "template")
    table = moto_queue.store.table
    table.client.delete_item(TableName=table.name, Key={name: item[name] for name in ("PK", "SK")})

    with pytest.raises(TemplateNotFound):
        moto_queue.schedules.trigger("s")
    assert history(moto_queue) == []


def test_the_jobs_of_a_schedule_can_be_listed(moto_queue: JobQueue, clock: Clock) -> None:
    for name in ("s", "other"):
        moto_queue.schedules.create(name, "work", cron=HOURLY)
    clock.set(at(1))
    fire(moto_queue)

    [job] = moto_queue.list(schedule_name="s").jobs

    assert (job.schedule_name, job.scheduled_for) == ("s", at(1))


def test_runs_tell_what_became_of_a_job(make_queue: MakeQueue, clock: Clock) -> None:
    def work_for(_: JobContext) -> None:
        clock.advance(90)
        raise RuntimeError("no luck")

    queue = make_queue(base_delay_seconds=60, jitter=0)
    queue.schedules.create("s", "work", cron=HOURLY, payload={"do": "call"}, max_attempts=2)
    job = queue.schedules.trigger("s")

    def only() -> ScheduleRun:
        run: ScheduleRun
        [run] = queue.schedules.runs("s").runs
        assert run.job_id == job.id
        return run

    assert (only().outcome, only().success, only().duration) == ("queued", None, None)
    drain(queue, working(work_for))
    assert (only().outcome, only().success, only().finished_at) == ("failed", False, None)
    clock.advance(60)
    drain(queue, working(work_for))
    dead = only()
    assert (dead.outcome, dead.success) == ("dead_letter", False)
    assert (dead.started_at, dead.finished_at) == (at(0, 2, 30), at(0, 4))
    assert dead.duration == timedelta(seconds=90)
    assert "no luck" in (dead.message or "")


def test_a_running_job_shows_in_the_history(moto_queue: JobQueue) -> None:
    seen: list[str] = []
    moto_queue.schedules.create("s", "work", cron=HOURLY, payload={"do": "call"})
    moto_queue.schedules.trigger("s")

    drain(moto_queue, working(lambda _: seen.append(moto_queue.schedules.runs("s").runs[0].outcome)))

    assert seen == ["running"]


def test_message_and_details_of_the_handler_are_kept(make_queue: MakeQueue) -> None:
    queue = make_queue(retention_days=0)
    payload = result(success=True, message="sent", details={"rows": 3})
    queue.schedules.create("s", "work", cron=HOURLY, payload=payload)
    queue.schedules.trigger("s")

    drain(queue, working())

    [run] = queue.schedules.runs("s").runs
    assert (run.outcome, run.success, run.message, run.details) == ("completed", True, "sent", {"rows": 3})
    assert all_items(queue, "job") == []  # the job itself is gone


def test_a_cancelled_run_is_told(moto_queue: JobQueue) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY)
    moto_queue.cancel(moto_queue.schedules.trigger("s"))

    [run] = moto_queue.schedules.runs("s").runs

    assert (run.outcome, run.success, run.duration) == ("cancelled", False, None)


@pytest.mark.parametrize("limit", [1, 3, 7, 50])
def test_pages_of_runs_tell_each_run_once_newest_first(queue: JobQueue, clock: Clock, limit: int) -> None:
    queue.schedules.create("s", "work", cron=HOURLY, catchup="all")
    clock.set(at(7))
    fire(queue)
    found: list[datetime] = []
    cursor: str | None = None
    pages = 0
    while pages == 0 or cursor:
        page = queue.schedules.runs("s", limit=limit, cursor=cursor)
        assert 0 < len(page.runs) <= limit
        assert list(page) == list(page.runs)
        found += [run.scheduled_for for run in page]
        cursor, pages = page.cursor, pages + 1

    assert found == [at(hour) for hour in range(7, 0, -1)]
    assert pages == -(-7 // limit)


def test_a_page_goes_on_where_it_ended_although_new_runs_came(moto_queue: JobQueue, clock: Clock) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY, catchup="all")
    clock.set(at(4))
    fire(moto_queue)
    first = moto_queue.schedules.runs("s", limit=2)
    clock.set(at(6))
    fire(moto_queue)

    second = moto_queue.schedules.runs("s", 2, first.cursor)

    assert [run.scheduled_for for run in second] == [at(2), at(1)]
    assert second.cursor is None


@pytest.mark.parametrize("cursor", ["", "nonsense", "e30", 7, "W10", "é"])
def test_a_bad_cursor_of_runs_is_refused(moto_queue: JobQueue, cursor: Any) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY)
    with pytest.raises(InvalidCursor):
        moto_queue.schedules.runs("s", cursor=cursor)


def test_a_cursor_belongs_to_its_list(moto_queue: JobQueue) -> None:
    for name in ("s", "other"):
        moto_queue.schedules.create(name, "work", cron=HOURLY)
        for _ in range(2):
            moto_queue.schedules.trigger(name)
    of_runs, of_jobs = moto_queue.schedules.runs("s", limit=1).cursor, moto_queue.list(limit=1).cursor
    assert of_runs and of_jobs

    for name, cursor in (("other", of_runs), ("s", of_jobs)):
        with pytest.raises(InvalidCursor):
            moto_queue.schedules.runs(name, cursor=cursor)
    with pytest.raises(InvalidCursor):
        moto_queue.list(cursor=of_runs)


@pytest.mark.parametrize("limit", [0, 201, True, None, "5"])
def test_a_bad_limit_of_runs_is_refused(moto_queue: JobQueue, limit: Any) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY)
    with pytest.raises(InvalidJob, match="limit"):
        moto_queue.schedules.runs("s", limit=limit)


def test_figures_are_over_finished_runs(moto_queue: JobQueue, clock: Clock) -> None:
    queue = moto_queue
    outcomes = iter([(10, None), (30, RuntimeError("no")), (20, None)])

    def work_for(_: JobContext) -> None:
        seconds, error = next(outcomes)
        clock.advance(seconds)
        if error:
            raise error

    queue.schedules.create("s", "work", cron=HOURLY, payload={"do": "call"}, max_attempts=1)
    for hour in (1, 2, 3):
        clock.set(at(hour))
        drain(queue, working(work_for))
    clock.set(at(4))
    fire(queue)  # waits, and counts in no rate

    seen = queue.schedules.get("s")

    assert (seen.total_runs, seen.success_rate) == (4, 2 / 3)
    assert (seen.average_duration, seen.max_duration) == (timedelta(seconds=20), timedelta(seconds=30))
    assert (seen.last_run_at, seen.last_success_at, seen.next_run_at) == (at(4), at(3, 0, 20), at(5))
    assert queue.schedules.list() == (seen,)


def test_figures_look_at_the_last_fifty(moto_queue: JobQueue, clock: Clock, jobs: Registry) -> None:
    queue = moto_queue
    queue.schedules.create("s", "work", cron=HOURLY, catchup="all", catchup_window=timedelta(days=9))
    clock.set(at(4))
    drain(queue, jobs)
    queue.schedules.update("s", payload={"do": "discard", "value": "no"})
    clock.set(at(5, day=3))
    drain(queue, jobs)

    assert (queue.schedules.get("s").success_rate, queue.schedules.get("s").total_runs) == (1 / 50, 53)
    clock.set(at(6, day=3))
    drain(queue, jobs)

    seen = queue.schedules.get("s")
    assert (seen.success_rate, seen.last_success_at) == (0, at(4))


def test_missed_and_skipped_slots_count_in_no_figure(moto_queue: JobQueue, clock: Clock) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY, catchup="none")
    clock.set(at(5, 30))
    fire(moto_queue)

    seen = moto_queue.schedules.get("s")

    assert (seen.total_runs, seen.success_rate, seen.last_run_at) == (0, None, None)
    assert history(moto_queue) == [(at(5), "missed", "scheduler", 5)]


def test_a_handler_sees_its_slot_on_every_attempt(make_queue: MakeQueue, clock: Clock) -> None:
    seen: list[tuple[int, datetime, timedelta]] = []

    def note(ctx: JobContext) -> None:
        seen.append((ctx.attempt, ctx.scheduled_for, ctx.late_by))
        if ctx.attempt < 3:
            raise RuntimeError("again")

    queue = make_queue()
    queue.schedules.create("s", "work", cron=HOURLY, payload={"do": "call"})
    clock.set(at(1, 0, 2))
    fire(queue)
    queue.schedules.disable("s")

    drain(queue, working(note), advance=True)

    assert [(attempt, slot) for attempt, slot, _ in seen] == [(1, at(1)), (2, at(1)), (3, at(1))]
    assert seen[0][2] == timedelta(seconds=2)


def test_a_moved_job_still_sees_its_slot(moto_queue: JobQueue, clock: Clock) -> None:
    slots: list[datetime] = []
    moto_queue.schedules.create("s", "work", cron=HOURLY, payload={"do": "call"})
    clock.set(at(1))
    fire(moto_queue)
    [job] = assert_enqueued(moto_queue, "work", count=1)
    moto_queue.reschedule(job, delay=600)
    clock.advance(600)

    drain(moto_queue, working(lambda ctx: slots.append(ctx.scheduled_for)))

    assert slots == [at(1)]
    assert history(moto_queue) == [(at(1), "completed", "scheduler", 1)]


def test_a_handler_sees_when_its_schedule_last_succeeded(queue: JobQueue, clock: Clock) -> None:
    seen: list[datetime | None] = []
    fails = iter([False, True, False, False])

    def note(ctx: JobContext) -> None:
        seen.append(ctx.previous_success)
        clock.advance(5)
        if next(fails):
            raise RuntimeError("no")

    queue.schedules.create("s", "work", cron=HOURLY, payload={"do": "call"}, max_attempts=1)
    for hour in (1, 2, 3):
        clock.set(at(hour))
        drain(queue, working(note))
    queue.schedules.delete("s")
    queue.enqueue("work", {"do": "call"})
    drain(queue, working(note))

    assert seen == [None, at(1, 0, 5), at(1, 0, 5), None]


def test_records_expire_with_the_history(moto_queue: JobQueue, clock: Clock, jobs: Registry) -> None:
    moto_queue.schedules.create("s", "work", cron=HOURLY)
    clock.set(at(5))
    fire(moto_queue)
    open_, missed = sorted(slot_records(moto_queue), key=lambda item: "outcome" in item)
    assert "expires_at" not in open_
    assert missed["expires_at"] == {"N": str(int((at(5) + timedelta(days=30)).timestamp()))}

    drain(moto_queue, jobs)

    assert all("expires_at" in item for item in slot_records(moto_queue))


def test_a_run_that_is_cancelled_while_it_waits_took_no_time(make_queue: MakeQueue, clock: Clock) -> None:
    queue = make_queue(base_delay_seconds=86400)
    queue.schedules.create("s", "work", cron=HOURLY, payload={"do": "fail"})
    clock.set(at(1))
    drain(queue, working())
    clock.set(at(9))
    [waiting] = queue.list(status="failed")
    queue.cancel(waiting)

    [run] = [run for run in queue.schedules.runs("s") if run.scheduled_for == at(1)]
    assert (run.outcome, run.started_at, run.duration, run.message) == ("cancelled", None, None, None)


def test_a_dead_run_that_is_retried_knows_its_slot(moto_queue: JobQueue, clock: Clock) -> None:
    seen: list[datetime] = []
    moto_queue.schedules.create("s", "work", cron=HOURLY, payload={"do": "discard"})
    clock.set(at(1))
    [dead] = drain(moto_queue, working())
    moto_queue.schedules.disable("s")
    clock.set(at(3, 20))
    new = moto_queue.retry(dead)
    for _ in range(2):  # and the retry of a retry
        registry = Registry()

        @registry.handler("work")
        def work(_: dict[str, Any], ctx: JobContext) -> None:
            seen.append(ctx.scheduled_for)

        [done] = drain(moto_queue, registry)
        assert done.id == new.id
        new = moto_queue.retry(done)

    assert seen == [at(1), at(1)]


def test_runs_that_are_not_over_hide_no_success(
    moto_queue: JobQueue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynajobs.history.SEARCHED", 3)
    moto_queue.schedules.create("s", "work", cron=HOURLY, catchup="all")
    clock.set(at(1))
    drain(moto_queue, working())
    clock.set(at(12))
    fire(moto_queue)

    assert len(moto_queue.list(status="pending")) == 11
    assert moto_queue.schedules.get("s").last_success_at == at(1)
