"""Every storage call of every operation goes wrong once, in every way it can: the promises still hold."""

from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from dynajobs import EnqueueFailed, InvalidJob, Settings, Status, Unavailable
from dynajobs.control import Control
from dynajobs.item import job_key
from dynajobs.lease import Lease, Renewer
from dynajobs.testing import drain
from tests.support.faults import Fault
from tests.support.stories import Operation, Stories, Story, tell_with_faults
from tests.support.world import LAPSE, OWN_KEY, START, World

MINUTE = timedelta(minutes=1)
TOMORROW = START + timedelta(days=1)
FAULTS = [fault for fault in Fault if not fault.deadly]

story = Stories()


@pytest.mark.parametrize("operation", story.operations, ids=lambda each: each.name)
def test_promises_hold_whatever_call_fails(
    operation: Operation,
    engine_client: Any,
    table_name: str,
    monkeypatch: pytest.MonkeyPatch,
    subtests: pytest.Subtests,
) -> None:
    tell_with_faults(operation, FAULTS, engine_client, table_name, monkeypatch, subtests)


@story()
def enqueue(world: World) -> Story:
    job = yield lambda: world.enqueue(delay=60)
    assert job.created
    found = [each.id for each in world.live()]
    assert job.id in found
    assert len(found) == 1 + world.unheard  # only a dedup key makes a second call the same one


@story(shards=4)
def enqueue_into_a_new_lane(world: World) -> Story:
    job = yield world.enqueue
    assert Control(world.queue.store.table, Settings()).read().shards == 4  # what others see
    assert job.id in [each.id for each in world.live()]


@story()
def enqueue_with_an_id(world: World) -> Story:
    job_id = "0197c000-0000-7000-8000-000000000001"

    def act() -> Any:
        try:
            return world.enqueue(job_id=job_id)
        except InvalidJob:
            assert world.repeats, "nobody else has used this id"
            return world.queue.get(job_id)

    job = yield act
    assert job.id == world.one().id == job_id


@story()
def enqueue_with_a_new_dedup_key(world: World) -> Story:
    job = yield lambda: world.enqueue(dedup_key="key")
    assert job.created or world.repeats
    assert world.one() == job


@story()
def enqueue_with_a_live_duplicate(world: World) -> Story:
    first = world.enqueue(dedup_key="key")
    job = yield lambda: world.enqueue(dedup_key="key")
    assert job == first and not job.created
    assert world.one() == first


@story()
def enqueue_with_a_finished_duplicate(world: World) -> Story:
    first = world.run(world.enqueue(dedup_key="key", dedup_window="today"))
    job = yield lambda: world.enqueue(dedup_key="key", dedup_window="today")
    assert (job.id, job.status, job.created) == (first.id, Status.COMPLETED, False)
    assert world.one() == job


@story(retention_days=0)
def enqueue_with_a_forgotten_duplicate(world: World) -> Story:
    first = world.run(world.enqueue(dedup_key="key", dedup_window="today"))
    job = yield lambda: world.enqueue(dedup_key="key", dedup_window="today")
    assert (job.id, job.status, job.payload, job.created) == (first.id, Status.COMPLETED, {}, False)
    assert world.jobs() == []


@story()
def enqueue_over_a_record_whose_job_is_gone(world: World) -> Story:
    gone = world.enqueue(dedup_key="key")
    world.delete(job_key(gone))
    job = yield lambda: world.enqueue(dedup_key="key")
    assert job.id != gone.id
    assert job.created or world.repeats
    assert world.one() == job


@story()
def enqueue_many(world: World) -> Story:
    left = [{"n": n} for n in range(3)]

    def act() -> None:
        try:
            left[: len(world.queue.enqueue_many("work", left))] = []
        except EnqueueFailed as failed:
            world.repeats += 1
            world.line.mend()
            left[: len(failed.jobs)] = []
            world.queue.enqueue_many("work", left)

    yield act
    found = sorted(job.payload["n"] for job in world.live())
    assert set(found) == {0, 1, 2}
    assert len(found) == 3 + world.unheard


@story(shards=2)
def enqueue_actions(world: World) -> Story:
    own = {**OWN_KEY, "order": {"N": "1"}}
    put = {"TableName": world.table, "Item": own, "ConditionExpression": "attribute_not_exists(PK)"}
    actions: list[Any] = []

    def act() -> None:
        if not actions:
            actions.extend([{"Put": put}, *world.queue.enqueue_actions("work", dedup_key="key")])
        try:
            world.line.client.transact_write_items(TransactItems=actions)
        except ClientError as error:
            reasons = {reason["Code"] for reason in error.response["CancellationReasons"]}
            if reasons != {"ConditionalCheckFailed"}:  # else it was written, and the answer lost
                raise Unavailable("try again") from error
        except BotoCoreError as error:
            raise Unavailable("try again") from error

    def until_it_is_written() -> None:
        try:
            act()
        except Unavailable:
            act()

    yield until_it_is_written
    assert world.one().status is Status.PENDING
    assert world.queue.store.table.get(OWN_KEY) == own


@story()
def get_live(world: World) -> Story:
    job = world.enqueue()
    found = yield lambda: world.queue.get(job.id)
    assert found == job


@story()
def get_finished(world: World) -> Story:
    job = world.enqueue()
    finished = world.run(job)
    found = yield lambda: world.queue.get(job)
    assert found == finished


@story()
def list_and_count(world: World) -> Story:
    done = world.run(world.enqueue())
    waiting = world.enqueue(priority=1)
    page, stats = yield lambda: (world.queue.list(), world.queue.stats())
    assert [job.id for job in page] == [waiting.id, done.id]
    assert (stats.by_status["pending"], stats.by_status["completed"]) == (1, 1)


@story()
def cancel_pending(world: World) -> Story:
    job = world.enqueue(dedup_key="key")
    answer = yield lambda: world.queue.cancel(job)
    assert answer.status is Status.CANCELLED
    assert world.one() == answer


@story()
def cancel_failed(world: World) -> Story:
    job = world.run(world.enqueue("fail", dedup_key="key", dedup_window="today"))
    answer = yield lambda: world.queue.cancel(job.id)
    assert (answer.status, answer.attempts) == (Status.CANCELLED, 1)
    assert world.one() == answer


@story()
def cancel_claimed(world: World) -> Story:
    job = world.enqueue(dedup_key="key")
    event = world.claim(job)
    answer = yield lambda: world.queue.cancel(job)
    assert answer.status is Status.CANCELLED
    assert world.one() == answer
    assert world.handle(event) == "stale"
    assert world.ran == []


@story()
def cancel_running(world: World) -> Story:
    begun = world.begin(world.enqueue("fail"))
    answer = yield lambda: world.queue.cancel(begun.job)
    assert (answer.status, answer.cancel_requested) == (Status.IN_PROGRESS, True)
    assert world.one() == answer
    ended = world.executor.run(begun)
    assert ended is not None and ended.status is Status.CANCELLED
    assert world.one() == ended


@story()
def retry_finished(world: World) -> Story:
    old = world.run(world.enqueue(priority=2))
    new = yield lambda: world.queue.retry(old)
    assert (new.retry_of, new.attempts, new.priority) == (old.id, 0, 2)
    assert new.created or world.repeats
    assert world.live() == [new]
    assert world.queue.get(old).retried_by == new.id
    again = world.queue.retry(old)
    assert again == new and not again.created


@story()
def retry_finished_twice(world: World) -> Story:
    old = world.run(world.enqueue())
    new = world.queue.retry(old)
    again = yield lambda: world.queue.retry(old)
    assert again == new and not again.created
    assert world.live() == [new]


@story()
def retry_failed(world: World) -> Story:
    job = world.run(world.enqueue("fail", dedup_key="key"))
    answer = yield lambda: world.queue.retry(job)
    assert (answer.id, answer.status, answer.attempts) == (job.id, Status.FAILED, 1)
    assert answer.scheduled_for <= world.clock()
    assert world.one() == answer


@story()
def reschedule_to_a_time(world: World) -> Story:
    job = world.enqueue(dedup_key="key")
    answer = yield lambda: world.queue.reschedule(job, run_at=TOMORROW)
    assert (answer.id, answer.status, answer.scheduled_for) == (job.id, Status.PENDING, TOMORROW)
    assert world.one() == answer


@story()
def reschedule_to_the_same_time(world: World) -> Story:
    job = world.enqueue(dedup_key="key")
    answer = yield lambda: world.queue.reschedule(job, run_at=START)
    assert (answer.id, answer.status, answer.scheduled_for) == (job.id, Status.PENDING, START)
    assert world.one() == answer


@story()
def reschedule_to_a_priority(world: World) -> Story:
    job = world.run(world.enqueue("fail", dedup_key="key"))
    answer = yield lambda: world.queue.reschedule(job, priority=3)
    assert (answer.status, answer.attempts, answer.priority) == (Status.FAILED, 1, 3)
    assert world.one() == answer


@story()
def reschedule_before_another(world: World) -> Story:
    other = world.enqueue(priority=1, delay=60)
    job = world.enqueue()
    answer = yield lambda: world.queue.reschedule(job, before=other)
    assert (answer.priority, answer.scheduled_for) == (1, START + MINUTE - timedelta(microseconds=1))
    assert world.live() == [answer, other]


@story()
def poll_claims_and_invokes(world: World) -> Story:
    job = world.enqueue()
    yield world.poller.poll
    assert world.events or not world.unnoticed
    lapsed_at_most = 0 if world.events else 1
    world.run_out()
    done = world.queue.get(job)
    assert (done.status, done.attempts) == (Status.COMPLETED, 0)
    assert done.undelivered <= lapsed_at_most
    assert world.ran == [job.id]


@story()
def poll_releases_what_cannot_be_invoked(world: World) -> Story:
    job = world.enqueue("complete", dedup_key="key")
    world.refuse_invocations = 1
    yield world.poller.poll
    world.run_out()
    done = world.queue.get(job)
    assert (done.status, done.attempts) == (Status.COMPLETED, 0)
    assert 1 <= done.undelivered <= (1 if world.unnoticed else 2)
    assert world.ran == [job.id]


@story()
def poll_releases_again_until_later(world: World) -> Story:
    job = world.enqueue("complete", dedup_key="key")
    world.refuse_invocations = 2
    world.poller.poll()
    yield world.poller.poll
    assert world.live()[0].scheduled_for > world.clock() or world.live()[0].undelivered == 1
    world.run_out()
    done = world.queue.get(job)
    assert (done.status, done.attempts) == (Status.COMPLETED, 0)
    assert 2 <= done.undelivered <= (2 if world.unnoticed else 3)
    assert world.ran == [job.id]


@story()
def poll_releases_what_was_invoked_unheard(world: World) -> Story:
    job = world.enqueue()
    world.lose_invocations = 1
    yield world.poller.poll
    world.run_out()
    done = world.queue.get(job)
    assert (done.status, done.attempts) == (Status.COMPLETED, 0)
    assert world.ran == [job.id]


@story(handlers={})
def poll_fails_an_unknown_type(world: World) -> Story:
    job = world.enqueue(dedup_key="key")
    yield world.poller.poll
    if not world.queue.get(job).closed_runs:  # not claimed in this pass
        world.clock.advance(LAPSE)
        world.poller.poll()
    failed = world.one()
    assert (failed.status, failed.attempts, failed.undelivered) == (Status.FAILED, 1, 0)
    assert [run.status for run in failed.runs] == ["failed"]
    assert failed.scheduled_for > START


@story()
def poll_claims_a_lapsed_claim_again(world: World) -> Story:
    job = world.enqueue()
    late = world.claim(job)
    world.clock.advance(LAPSE)
    yield world.poller.poll
    world.run_out()
    done = world.queue.get(job)
    assert (done.status, done.attempts) == (Status.COMPLETED, 0)
    assert 1 <= done.undelivered <= (1 if world.unnoticed else 2)
    assert world.handle(late) == "stale"
    assert world.ran == [job.id]


@story()
def poll_gives_up_what_never_starts(world: World) -> Story:
    job = world.alter(world.enqueue(dedup_key="key", dedup_window="today"), undelivered=19)
    world.claim(job)
    world.clock.advance(LAPSE)
    yield world.poller.poll
    world.run_out()
    dead = world.one()
    assert (dead.id, dead.status, dead.attempts) == (job.id, Status.DEAD_LETTER, 0)
    assert dead.undelivered == 20
    assert world.ran == []


@story()
def poll_claims_a_lapsed_run_again(world: World) -> Story:
    job = world.enqueue()
    world.begin(job)
    world.clock.advance(LAPSE)
    yield world.poller.poll
    world.run_out()
    done = world.queue.get(job)
    assert (done.status, done.attempts) == (Status.COMPLETED, 1)
    assert [run.status for run in done.runs] == ["expired", "completed"]
    assert world.ran == [job.id]


@story()
def poll_claims_a_lapsed_eleventh_run_again(world: World) -> Story:
    job = world.with_ten_runs(world.enqueue())
    world.begin(job)
    world.clock.advance(LAPSE)
    yield world.poller.poll
    world.run_out()
    done = world.queue.get(job)
    assert (done.status, done.attempts, done.runs_closed) == (Status.COMPLETED, 1, 12)
    assert [run.status for run in done.runs[-2:]] == ["expired", "completed"]
    assert world.ran == [job.id]


@story()
def poll_ends_a_lapsed_last_attempt(world: World) -> Story:
    job = world.enqueue(max_attempts=1, dedup_key="key")
    world.begin(job)
    world.clock.advance(LAPSE)
    yield world.poller.poll
    world.run_out()
    dead = world.one()
    assert (dead.id, dead.status, dead.attempts) == (job.id, Status.DEAD_LETTER, 1)
    assert world.ran == []


@story()
def poll_cancels_a_lapsed_run(world: World) -> Story:
    job = world.enqueue(dedup_key="key")
    world.begin(job)
    world.queue.cancel(job)
    world.clock.advance(LAPSE)
    yield world.poller.poll
    world.run_out()
    found = world.one()
    assert (found.status, found.attempts) == (Status.CANCELLED, 0)
    assert world.ran == []


@story()
def poll_buries_malformed_items(world: World) -> Story:
    due = "scheduled#2026-11-18T06:00:00.000000Z#"
    world.put("job", f"{due}0197c000-0000-7000-8000-000000000001", status="pending")
    world.put("job", f"{due}no-uuid", status="pending", job_type="work", payload="{")
    world.put("job", "scheduled#someday", status="pending", job_type="work", payload="{}")
    world.poller._swept_at = None
    yield world.poller.poll
    world.clock.advance(timedelta(hours=2))
    world.poller.poll()
    assert [each.job.status for each in world.jobs()] == [Status.DEAD_LETTER] * 3
    assert {each.job.job_type for each in world.jobs()} == {"invalid"}


@story()
def poll_moves_an_item_to_its_time(world: World) -> Story:
    job_id = "0197c000-0000-7000-8000-000000000001"
    world.put(
        "job",
        f"scheduled#2026-11-18T06:00:00.000000Z#{job_id}",
        status="pending",
        job_type="work",
        payload="{}",
        scheduled_for="2026-11-18T07:30:00+01:00",
    )
    yield world.poller.poll
    world.run_out()
    done = world.one()
    assert (done.id, done.status, done.attempts) == (job_id, Status.COMPLETED, 0)
    assert world.ran == [job_id]


@story()
def poll_moves_a_finished_item_out(world: World) -> Story:
    job_id = "0197c000-0000-7000-8000-000000000001"
    world.put(
        "job",
        f"scheduled#2026-11-18T06:00:00.000000Z#{job_id}",
        status="completed",
        job_type="work",
        payload="{}",
    )
    yield world.poller.poll
    world.poller.poll()
    found = world.one()
    assert (found.id, found.status) == (job_id, Status.COMPLETED)
    assert world.ran == []


def handled(world: World, do: str, expected: Status, **options: Any) -> Story:
    """The handler function gets the event of a claimed job; the job after it."""
    job = world.enqueue(do, **options)
    event = world.claim(job)
    answer = yield lambda: world.handle(event)
    assert answer == expected.value
    assert world.ran == [job.id]
    found = world.one()
    assert (found.id, found.status, found.undelivered) == (job.id, expected, 0)
    assert len(found.runs) == 1
    assert world.handle(event) == "stale"
    assert world.ran == [job.id]
    return found


@story()
def handler_completes(world: World) -> Story:
    job = yield from handled(world, "complete", Status.COMPLETED)
    assert job.attempts == 0


@story()
def handler_completes_with_active_dedup_key(world: World) -> Story:
    yield from handled(world, "complete", Status.COMPLETED, dedup_key="key")
    assert world.enqueue(dedup_key="key").created


@story()
def handler_completes_with_dedup_window(world: World) -> Story:
    yield from handled(world, "complete", Status.COMPLETED, dedup_key="key", dedup_window="today")
    assert not world.enqueue(dedup_key="key", dedup_window="today").created


@story()
def handler_completes_without_its_record(world: World) -> Story:
    record = {"PK": {"S": "scheduled-job#key"}, "SK": {"S": "active"}}
    job = world.enqueue(dedup_key="key")
    event = world.claim(job)
    world.delete(record)
    answer = yield lambda: world.handle(event)
    assert answer == "completed"
    found = world.one()
    assert (found.id, found.status) == (job.id, Status.COMPLETED)
    assert world.ran == [job.id]


@story()
def handler_looks_up_its_limit(world: World) -> Story:
    world.registry.handler("other", max_attempts=2)(another)
    job = yield from handled(world, "fail", Status.FAILED)
    assert job.max_attempts == 5


def another(payload: dict[str, Any]) -> None:
    """A handler of another type."""


@story()
def handler_fails(world: World) -> Story:
    job = yield from handled(world, "fail", Status.FAILED, dedup_key="key")
    assert job.attempts == 1
    assert MINUTE <= job.scheduled_for - START <= 2 * MINUTE


@story()
def handler_fails_for_the_last_time(world: World) -> Story:
    job = yield from handled(world, "fail", Status.DEAD_LETTER, max_attempts=1, dedup_key="key")
    assert job.attempts == 1


@story()
def handler_snoozes(world: World) -> Story:
    job = yield from handled(world, "snooze", Status.PENDING, payload={"seconds": 60}, dedup_key="key")
    assert job.attempts == 0
    assert job.scheduled_for >= START + MINUTE


@story()
def handler_snoozes_for_no_time(world: World) -> Story:
    job = yield from handled(world, "snooze", Status.PENDING, payload={"seconds": 0}, dedup_key="key")
    assert job.attempts == 0


@story()
def handler_discards(world: World) -> Story:
    job = yield from handled(world, "discard", Status.DEAD_LETTER)
    assert job.attempts == 0


@story()
def handler_completes_with_a_write(world: World) -> Story:
    yield from handled(world, "write", Status.COMPLETED, dedup_key="key")
    assert world.effects == 1


@story()
def handler_is_refused_its_write(world: World) -> Story:
    condition = {"condition": "attribute_exists(PK)"}
    job = yield from handled(world, "write", Status.FAILED, payload=condition)
    assert (world.effects, job.attempts) == (0, 1)


@story()
def handler_beats(world: World) -> Story:
    job = yield from handled(world, "beat", Status.COMPLETED)
    assert job.progress == {"done": 1, "total": 2}


@story()
def handler_is_cancelled_while_it_runs(world: World) -> Story:
    job = world.enqueue("fail", dedup_key="key")
    event = world.claim(job)

    def cancel() -> None:
        try:
            world.queue.cancel(job)
        except Unavailable:
            world.queue.cancel(job)

    world.while_running = cancel
    answer = yield lambda: world.handle(event)
    assert answer == "cancelled"
    found = world.one()
    assert (found.status, found.attempts) == (Status.CANCELLED, 0)
    assert [run.status for run in found.runs] == ["cancelled"]


@story(retention_days=0)
def handler_completes_and_is_forgotten(world: World) -> Story:
    job = world.enqueue(dedup_key="key", dedup_window="today")
    event = world.claim(job)
    answer = yield lambda: world.handle(event)
    assert answer == "completed"
    assert world.ran == [job.id]
    assert world.jobs() == []
    assert not world.enqueue(dedup_key="key", dedup_window="today").created


@story(retention_days=0)
def handler_completes_with_a_write_and_is_forgotten(world: World) -> Story:
    job = world.enqueue("write")
    event = world.claim(job)
    answer = yield lambda: world.handle(event)
    assert answer == "completed"
    assert (world.ran, world.effects, world.jobs()) == ([job.id], 1, [])


@story(retention_days=0)
def handler_completes_in_one_delete(world: World) -> Story:
    job = world.enqueue()
    event = world.claim(job)
    answer = yield lambda: world.handle(event)
    assert answer == "completed"
    assert (world.ran, world.jobs()) == ([job.id], [])


def eleventh(world: World, do: str, expected: Status) -> Story:
    job = world.with_ten_runs(world.enqueue(do, dedup_key="key"))
    event = world.claim(job)
    answer = yield lambda: world.handle(event)
    assert answer == expected.value
    assert world.ran == [job.id]
    found = world.one()
    assert (found.status, found.runs_closed, len(found.runs)) == (expected, 11, 10)


@story()
def handler_completes_an_eleventh_run(world: World) -> Story:
    yield from eleventh(world, "complete", Status.COMPLETED)


@story()
def handler_fails_an_eleventh_run(world: World) -> Story:
    yield from eleventh(world, "fail", Status.FAILED)


@story()
def handler_meets_an_id_that_was_used_before(world: World) -> Story:
    first = world.run(world.enqueue())
    world.ran.clear()
    sk = f"scheduled#2026-11-18T06:00:00.000000Z#{first.id}"
    world.put("job", sk, status="pending", job_type="work", payload="{}")
    world.poller.poll()
    event = world.events.pop()
    answer = yield lambda: world.handle(event)
    assert answer == "dead_letter"
    assert world.live() == []
    ended = {each.job.id: each.job.status for each in world.jobs()}
    assert ended.pop(first.id) is Status.COMPLETED
    assert list(ended.values()) == [Status.DEAD_LETTER]
    assert world.ran == [first.id]


@story()
def renewer_renews(world: World) -> Story:
    begun = world.begin(world.enqueue())
    lease, renewer = Lease(world.queue.store, begun, world.queue.now), Renewer(world.settings.lease)
    renewer.add(lease)
    world.clock.advance(20)

    def act() -> None:
        for _ in range(2):
            lease._renew_at = 0  # a third of the lease has passed
            renewer.renew_due()

    yield act
    assert not lease.lost
    held = world.one()
    assert held.version == begun.job.version
    assert held.lock_expires_at is not None
    assert held.lock_expires_at >= START + MINUTE + timedelta(seconds=20)
    ended = world.executor.run(lease.close())
    assert ended is not None and world.one() == ended


@story()
def worker_runs_what_is_due(world: World) -> Story:
    job = world.enqueue("write", dedup_key="key")
    yield lambda: drain(world.queue, world.registry)
    done = world.one()
    assert (done.id, done.status, done.attempts, len(done.runs)) == (job.id, Status.COMPLETED, 0, 1)
    assert (world.ran, world.effects) == ([job.id], 1)


@story()
def worker_fails_what_is_due(world: World) -> Story:
    job = world.enqueue("fail", dedup_key="key")
    yield lambda: drain(world.queue, world.registry)
    found = world.one()
    assert (found.status, found.attempts) == (Status.FAILED, 1)
    assert world.ran == [job.id]


@story()
def worker_takes_over_a_lapsed_run(world: World) -> Story:
    job = world.enqueue(dedup_key="key")
    world.begin(job)
    world.clock.advance(LAPSE)
    yield lambda: drain(world.queue, world.registry)
    found = world.one()
    assert (found.status, found.attempts) == (Status.COMPLETED, 1)
    assert [run.status for run in found.runs] == ["expired", "completed"]
    assert world.ran == [job.id]
