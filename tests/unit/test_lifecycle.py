"""Every transition from every state: the exact job that follows, or the refusal that names the job."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynajobs import fault, lifecycle
from dynajobs.errors import InvalidTransition
from dynajobs.job import FINISHED, Job, Run, Status

NOW = datetime(2026, 11, 18, 7, tzinfo=UTC)
EARLIER = NOW - timedelta(hours=1)
LEASE = timedelta(seconds=90)
DELAY = timedelta(minutes=4)
SKEW = timedelta(seconds=2)
TICK = timedelta(microseconds=1)
CAUSE = fault.from_message("mail", "SMTPError", "connection refused")
EXPIRY = fault.from_message("mail", "LeaseExpired", "lease expired: the worker stopped without a word")
WORKER, LOG = "worker-1", {"stream": "s"}

CLOSED = Run(run_id="token-0", attempt=1, status="failed", started_at=EARLIER, finished_at=EARLIER, error="x")
OPEN = Run(run_id="token-1", attempt=2, started_at=NOW - timedelta(minutes=1), worker="worker-0")

PENDING = Job(
    id="019a9000-0000-7000-8000-000000000001",
    job_type="mail",
    payload={"to": "ada"},
    payload_json='{"to": "ada"}',
    scheduled_for=EARLIER,
    priority=2,
    max_attempts=5,
    created_at=EARLIER,
    updated_at=EARLIER,
    org_id="org",
    group_id="group",
    schedule_name="daily",
    triggered_by="scheduler",
    template="letter",
    undelivered=1,
    version=7,
    dedup_pk="scheduled-job#k",
    dedup_sk="active",
    shard=3,
)
FAILED = replace(
    PENDING, status=Status.FAILED, attempts=1, runs=(CLOSED,), runs_closed=1, last_error="x", fingerprint="f"
)
CLAIMED = replace(
    FAILED,
    status=Status.IN_PROGRESS,
    locked_by="token-1",
    lock_expires_at=NOW + timedelta(seconds=30),
    progress={"done": 1},
)
RUNNING = replace(CLAIMED, runs=(CLOSED, OPEN))
DONE = replace(RUNNING, locked_by=None, lock_expires_at=None, runs=(CLOSED,), finished_at=NOW)
LONG_AGO: dict[str, Any] = {"lock_expires_at": NOW - timedelta(minutes=1)}

STATES = {
    "pending": PENDING,
    "failed": FAILED,
    "claimed": CLAIMED,
    "running": RUNNING,
    "running, cancel requested": replace(RUNNING, cancel_requested=True),
    "lapsed claimed": replace(CLAIMED, **LONG_AGO),
    "lapsed running": replace(RUNNING, **LONG_AGO),
    "lapsed running, cancel requested": replace(RUNNING, cancel_requested=True, **LONG_AGO),
    "completed": replace(DONE, status=Status.COMPLETED, completed_at=NOW),
    "cancelled": replace(DONE, status=Status.CANCELLED),
    "dead_letter": replace(DONE, status=Status.DEAD_LETTER),
}


def claim(job: Job, now: datetime = NOW) -> Job:
    return lifecycle.claim(job, now, token="token-2", lease=LEASE, max_attempts=5)


def begin(job: Job, max_attempts: int = 9) -> Job:
    return lifecycle.begin(
        job, NOW, worker=WORKER, log=LOG, max_attempts=max_attempts, until=NOW + timedelta(seconds=60)
    )


def extend(job: Job) -> Job:
    return lifecycle.extend(job, NOW, until=NOW + LEASE, progress={"done": 2})


def release(job: Job, status: Status = Status.FAILED) -> Job:
    return lifecycle.release(job, NOW, status=status, reason="throttled", delay=DELAY)


def complete(job: Job) -> Job:
    return lifecycle.complete(job, NOW, result=[1], message="sent", details={"n": 1})


def fail(job: Job) -> Job:
    return lifecycle.fail(job, NOW, CAUSE, delay=DELAY, message="no", details={"n": 0})


def last_try(job: Job) -> Job:
    return replace(job, attempts=4)


def snooze(job: Job) -> Job:
    return lifecycle.snooze(job, NOW, delay=DELAY)


def discard(job: Job) -> Job:
    return lifecycle.discard(job, NOW, CAUSE)


def cancel(job: Job) -> Job:
    return lifecycle.cancel(job, NOW)


def retry(job: Job) -> Job:
    return lifecycle.retry(job, NOW, new_id="019a9000-0000-7000-8000-000000000002", shard=1)


def reschedule(job: Job) -> Job:
    return lifecycle.reschedule(job, NOW, run_at=NOW + DELAY, priority=3)


TRANSITIONS: dict[str, Callable[[Job], Job]] = {
    "claim": claim,
    "begin": begin,
    "extend": extend,
    "release": release,
    "complete": complete,
    "fail": fail,
    "fail at max": lambda job: fail(last_try(job)),
    "snooze": snooze,
    "discard": discard,
    "cancel": cancel,
    "retry": retry,
    "reschedule": reschedule,
}

# What follows, as a function of the state before: only what is named changes.
Outcome = Callable[[Job], Job]


def step(job: Job, **changes: Any) -> Job:
    return replace(job, version=job.version + 1, updated_at=NOW, **changes)


def let_go(job: Job, **changes: Any) -> Job:
    return step(job, locked_by=None, lock_expires_at=None, **changes)


def ended(job: Job, status: Status, **changes: Any) -> Job:
    return let_go(job, status=status, finished_at=NOW, **changes)


def closed(job: Job, status: str, **values: Any) -> Job:
    run = replace(OPEN, status=status, finished_at=NOW, **values)
    return replace(job, runs=(CLOSED, run), runs_closed=2)


def noted(job: Job, cause: fault.Fault) -> Job:
    return replace(job, last_error=cause.last_error, fingerprint=cause.fingerprint)


def claimed(job: Job) -> Job:
    return step(job, status=Status.IN_PROGRESS, locked_by="token-2", lock_expires_at=NOW + LEASE)


def claimed_again(job: Job) -> Job:
    return claimed(replace(job, undelivered=2))


def expired_and_claimed(job: Job) -> Job:
    return claimed(noted(replace(closed(job, "expired", error=EXPIRY.error), attempts=2), EXPIRY))


def expired_and_cancelled(job: Job) -> Job:
    return ended(noted(closed(job, "cancelled", error=EXPIRY.error), EXPIRY), Status.CANCELLED)


def begun(job: Job) -> Job:
    run = Run(run_id="token-1", attempt=2, worker=WORKER, log=LOG, started_at=NOW)
    return step(job, runs=(CLOSED, run), lock_expires_at=NOW + timedelta(seconds=60))


def extended(job: Job) -> Job:
    return replace(job, lock_expires_at=NOW + LEASE, updated_at=NOW, progress={"done": 2})


def released(job: Job) -> Job:
    return let_go(job, status=Status.FAILED, undelivered=2, scheduled_for=NOW + DELAY)


def completed(job: Job) -> Job:
    job = closed(job, "completed", message="sent", details={"n": 1})
    return ended(job, Status.COMPLETED, result=[1], completed_at=NOW)


def failed_run(job: Job) -> Job:
    return noted(closed(job, "failed", message="no", details={"n": 0}, error=CAUSE.error), CAUSE)


def failed(job: Job) -> Job:
    return let_go(failed_run(job), status=Status.FAILED, attempts=2, scheduled_for=NOW + DELAY)


def failed_at_max(job: Job) -> Job:
    return ended(failed_run(job), Status.DEAD_LETTER, attempts=5)


def failed_cancelled(job: Job) -> Job:
    job = closed(job, "cancelled", message="no", details={"n": 0}, error=CAUSE.error)
    return ended(noted(job, CAUSE), Status.CANCELLED)


def failed_cancelled_at_max(job: Job) -> Job:
    return failed_cancelled(last_try(job))


def snoozed(job: Job) -> Job:
    return let_go(closed(job, "snoozed"), status=Status.PENDING, scheduled_for=NOW + DELAY)


def snoozed_cancelled(job: Job) -> Job:
    return ended(closed(job, "cancelled", message="snoozed"), Status.CANCELLED)


def discarded(job: Job) -> Job:
    return ended(noted(closed(job, "discarded", error=CAUSE.error), CAUSE), Status.DEAD_LETTER)


def cancelled(job: Job) -> Job:
    return ended(job, Status.CANCELLED)


def asked_to_stop(job: Job) -> Job:
    return step(job, cancel_requested=True)


def unchanged(job: Job) -> Job:
    return job


def successor(job: Job) -> Job:
    return Job(
        id="019a9000-0000-7000-8000-000000000002",
        job_type="mail",
        payload={"to": "ada"},
        scheduled_for=NOW,
        priority=2,
        max_attempts=5,
        created_at=NOW,
        org_id="org",
        group_id="group",
        schedule_name="daily",
        triggered_by="retry",
        slot="active",
        template="letter",
        retry_of=job.id,
        shard=1,
    )


def moved(job: Job) -> Job:
    return step(job, scheduled_for=NOW + DELAY, priority=3)


# What is not named is refused.
waiting: dict[str, Outcome] = {"claim": claimed, "cancel": cancelled, "reschedule": moved}
held: dict[str, Outcome] = {"begin": begun, "extend": extended, "release": released, "cancel": cancelled}
running: dict[str, Outcome] = {
    "extend": extended,
    "complete": completed,
    "fail": failed,
    "fail at max": failed_at_max,
    "snooze": snoozed,
    "discard": discarded,
    "cancel": asked_to_stop,
}
stopping: dict[str, Outcome] = {
    **running,
    "fail": failed_cancelled,
    "fail at max": failed_cancelled_at_max,
    "snooze": snoozed_cancelled,
    "cancel": unchanged,
}
ALLOWED: dict[str, dict[str, Outcome]] = {
    "pending": waiting,
    "failed": waiting,
    "claimed": held,
    "running": running,
    "running, cancel requested": stopping,
    # Begin and finish look at the token, never at the time: a late worker that nobody replaced may go on.
    "lapsed claimed": {**held, "claim": claimed_again},
    "lapsed running": {**running, "claim": expired_and_claimed},
    "lapsed running, cancel requested": {**stopping, "claim": expired_and_cancelled},
    "completed": {"retry": successor},
    "cancelled": {"retry": successor, "cancel": unchanged},
    "dead_letter": {"retry": successor},
}


@pytest.mark.parametrize("transition", TRANSITIONS)
@pytest.mark.parametrize("state", STATES)
def test_every_transition_from_every_state(state: str, transition: str) -> None:
    before = STATES[state]
    outcome = ALLOWED[state].get(transition)
    if outcome is None:
        with pytest.raises(InvalidTransition) as refused:
            TRANSITIONS[transition](before)
        assert refused.value.job in (before, last_try(before))
        assert before.id in str(refused.value)
    else:
        assert TRANSITIONS[transition](before) == outcome(before)


def test_the_refusal_says_what_the_job_is_and_what_it_cannot_be() -> None:
    with pytest.raises(InvalidTransition, match=rf"job {RUNNING.id} is running: it cannot be rescheduled"):
        reschedule(RUNNING)
    with pytest.raises(InvalidTransition, match=r"is claimed: it cannot be claimed"):
        claim(CLAIMED)
    with pytest.raises(InvalidTransition, match=r"is dead_letter: it cannot be cancelled"):
        cancel(STATES["dead_letter"])


@pytest.mark.parametrize("job", [PENDING, FAILED])
def test_a_job_due_exactly_now_can_be_claimed_and_one_due_later_cannot(job: Job) -> None:
    assert lifecycle.claimable(replace(job, scheduled_for=NOW), NOW)
    later = replace(job, scheduled_for=NOW + TICK)
    assert not lifecycle.claimable(later, NOW)
    with pytest.raises(InvalidTransition):
        claim(later)


@pytest.mark.parametrize("job", [CLAIMED, RUNNING])
def test_a_lease_lapses_when_more_than_two_seconds_have_passed_since_its_end(job: Job) -> None:
    ends_at = job.lock_expires_at
    assert ends_at is not None
    assert not lifecycle.lapsed(job, ends_at)
    assert not lifecycle.lapsed(job, ends_at + SKEW)
    assert lifecycle.lapsed(job, ends_at + SKEW + TICK)
    with pytest.raises(InvalidTransition):
        claim(job, ends_at + SKEW)
    assert claim(job, ends_at + SKEW + TICK).locked_by == "token-2"


def test_a_job_in_progress_without_a_lease_has_lapsed() -> None:
    assert lifecycle.claimable(replace(CLAIMED, lock_expires_at=None), NOW)


def test_a_lease_at_the_end_of_time_has_not_lapsed() -> None:
    forever = replace(CLAIMED, lock_expires_at=datetime.max.replace(tzinfo=UTC))
    assert not lifecycle.claimable(forever, NOW)


@pytest.mark.parametrize("status", sorted(FINISHED))
def test_a_finished_job_is_never_claimable(status: Status) -> None:
    assert not lifecycle.claimable(replace(PENDING, status=status), NOW)


def test_attempts_count_failures_until_the_last_one_ends_the_job() -> None:
    job = replace(PENDING, max_attempts=3)
    for attempt in (1, 2, 3):
        job = begin(claim(replace(job, scheduled_for=NOW)))
        assert job.open_run and job.open_run.attempt == attempt
        job = fail(job)
        assert job.attempts == attempt
    assert job.status is Status.DEAD_LETTER
    assert [run.status for run in job.runs] == ["failed"] * 3


def test_a_job_that_kills_its_worker_ends_after_its_last_attempt() -> None:
    job = begin(claim(replace(PENDING, max_attempts=2)))
    job = claim(job, NOW + timedelta(minutes=5))
    assert (job.status, job.attempts, job.locked_by) == (Status.IN_PROGRESS, 1, "token-2")
    job = claim(begin(job), NOW + timedelta(minutes=10))
    assert (job.status, job.attempts) == (Status.DEAD_LETTER, 2)
    assert [run.status for run in job.runs] == ["expired", "expired"]
    assert (job.locked_by, job.lock_expires_at) == (None, None)
    assert job.last_error is not None and "lease expired" in job.last_error


def test_success_snooze_discard_and_cancellation_count_no_attempt() -> None:
    stopping = replace(RUNNING, cancel_requested=True)
    after = [complete(RUNNING), snooze(RUNNING), discard(RUNNING), fail(stopping), snooze(stopping)]
    assert {job.attempts for job in after} == {RUNNING.attempts}


def test_begin_stamps_the_maximum_only_where_the_job_has_none() -> None:
    unstamped = replace(CLAIMED, max_attempts=None)
    assert begin(unstamped, max_attempts=9).max_attempts == 9
    assert begin(CLAIMED, max_attempts=9).max_attempts == 5


def test_a_lapsed_run_without_a_stamped_maximum_ends_at_the_claimers_limit() -> None:
    job = replace(STATES["lapsed running"], max_attempts=None, attempts=4)
    assert claim(job).status is Status.DEAD_LETTER
    assert claim(replace(job, attempts=3)).status is Status.IN_PROGRESS


def test_a_claim_that_lapses_before_it_began_is_no_attempt_and_leaves_no_run() -> None:
    job = claim(STATES["lapsed claimed"])
    assert (job.attempts, job.undelivered, job.runs) == (CLAIMED.attempts, 2, CLAIMED.runs)


def test_the_twentieth_undelivered_claim_is_a_dead_letter_that_says_never_started() -> None:
    lapsed = STATES["lapsed claimed"]
    assert claim(replace(lapsed, undelivered=18)).status is Status.IN_PROGRESS
    dead = claim(replace(lapsed, undelivered=19))
    assert (dead.status, dead.undelivered, dead.attempts) == (Status.DEAD_LETTER, 20, lapsed.attempts)
    assert (dead.locked_by, dead.lock_expires_at, dead.finished_at) == (None, None, NOW)
    assert dead.last_error is not None and "never started" in dead.last_error

    dead = release(replace(CLAIMED, undelivered=19))
    assert (dead.status, dead.undelivered) == (Status.DEAD_LETTER, 20)
    assert dead.last_error is not None
    assert "never started" in dead.last_error and "throttled" in dead.last_error


@pytest.mark.parametrize("status", [Status.PENDING, Status.FAILED])
def test_a_release_keeps_the_status_and_from_the_second_time_on_waits(status: Status) -> None:
    first = release(replace(CLAIMED, undelivered=0), status)
    assert (first.status, first.undelivered, first.scheduled_for) == (status, 1, EARLIER)
    second = release(claim(first), status)
    assert (second.status, second.undelivered, second.scheduled_for) == (status, 2, NOW + DELAY)
    assert (second.locked_by, second.lock_expires_at, second.attempts) == (None, None, CLAIMED.attempts)


@pytest.mark.parametrize(
    ("transition", "status", "run_status"),
    [
        (complete, Status.COMPLETED, "completed"),
        (discard, Status.DEAD_LETTER, "discarded"),
        (fail, Status.CANCELLED, "cancelled"),
        (snooze, Status.CANCELLED, "cancelled"),
        (lambda job: claim(job, NOW + LEASE), Status.CANCELLED, "cancelled"),
    ],
)
def test_what_becomes_of_a_running_job_that_was_asked_to_stop(
    transition: Callable[[Job], Job], status: Status, run_status: str
) -> None:
    job = transition(cancel(RUNNING))
    assert (job.status, job.runs[-1].status) == (status, run_status)
    assert job.finished_at is not None and job.locked_by is None


def test_a_second_request_to_cancel_changes_nothing() -> None:
    asked = cancel(RUNNING)
    assert cancel(asked) is asked
    done = cancel(PENDING)
    assert cancel(done) is done


@pytest.mark.parametrize(
    ("transition", "run_status"),
    [
        (complete, "completed"),
        (fail, "failed"),
        (snooze, "snoozed"),
        (discard, "discarded"),
        (lambda job: lifecycle.discard(job, NOW, CAUSE, run_status="failed"), "failed"),
        (lambda job: claim(job, NOW + LEASE), "expired"),
    ],
)
def test_a_run_is_closed_with_the_status_of_its_end(
    transition: Callable[[Job], Job], run_status: str
) -> None:
    assert RUNNING.open_run is not None and RUNNING.open_run.status == "running"
    job = transition(RUNNING)
    assert job.open_run is None
    assert job.runs[-1].status == run_status
    assert job.runs[-1].finished_at is not None


def test_the_last_ten_closed_runs_stay_and_none_of_them_ever_changes() -> None:
    job = replace(PENDING, max_attempts=100)
    first_seen: dict[str, Run] = {}
    for number in range(25):
        job = lifecycle.claim(job, NOW, token=f"token-{number}", lease=LEASE, max_attempts=5)
        assert job.open_run is None
        job = begin(job)
        assert len(job.runs) == min(number, 10) + 1
        job = replace([fail, snooze][number % 2](job), scheduled_for=NOW)
        for run in job.runs:
            assert first_seen.setdefault(run.run_id, run) == run
    assert [run.run_id for run in job.runs] == [f"token-{number}" for number in range(15, 25)]
    assert job.runs_closed == 25


def test_every_change_raises_the_version_by_one_except_a_renewal() -> None:
    for state, outcomes in ALLOWED.items():
        before = STATES[state]
        for transition in outcomes.keys() - {"retry"}:
            after = TRANSITIONS[transition](before)
            steps = 0 if transition == "extend" or after is before else 1
            assert after.version == before.version + steps, (state, transition)


def test_only_the_call_that_created_a_job_returns_it_as_created() -> None:
    assert claim(replace(PENDING, created=True)).created is False
    assert retry(STATES["completed"]).created is True


def test_a_renewal_without_progress_keeps_what_was_reported_before() -> None:
    assert lifecycle.extend(RUNNING, NOW, until=NOW).progress == {"done": 1}


def test_a_reschedule_changes_what_it_is_given_and_nothing_else() -> None:
    assert lifecycle.reschedule(FAILED, NOW, priority=0) == step(FAILED, priority=0)
    assert lifecycle.reschedule(FAILED, NOW, run_at=NOW) == step(FAILED, scheduled_for=NOW)


def test_a_successor_has_the_work_of_its_predecessor_and_none_of_its_history() -> None:
    job = retry(replace(STATES["dead_letter"], attempts=5, undelivered=3, result=[1]))
    assert job.status is Status.PENDING
    assert (job.attempts, job.undelivered, job.version, job.runs, job.result) == (0, 0, 0, (), None)
    assert (job.dedup_pk, job.dedup_sk) == (None, None)
    assert job.payload_json == PENDING.payload_json
