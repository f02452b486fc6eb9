"""One action on many jobs: what is previewed is what is done, and nothing else."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dynajobs import InvalidCursor, InvalidJob, Job, JobQueue, Registry, Status, Unavailable
from dynajobs.operating import bulk
from dynajobs.operating.audit import Actor
from dynajobs.operating.bulk import Request, carry_out, preview
from dynajobs.operating.operator import Operator
from dynajobs.testing import Clock, drain
from tests.support.commands import running
from tests.support.work import working

UNKNOWN = "0198f3e0-0000-7000-8000-000000000000"


@pytest.fixture
def queue(moto_queue: JobQueue) -> JobQueue:
    return moto_queue


def dead(queue: JobQueue, jobs: Registry, number: int = 1) -> list[str]:
    """The ids of so many dead letters, the oldest first."""
    for n in range(number):
        queue.enqueue("work", {"do": "discard", "value": "no", "n": n})
    return [job.id for job in drain(queue, jobs)]


class TestRequest:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({"action": "delete", "filter": {}}, "action is 'delete'"),
            ({"action": "retry"}, "give one of them"),
            ({"action": "retry", "filter": {}}, "name at least a state or a type"),
            ({"action": "retry", "filter": {}, "ids": ["x"]}, "give one of them"),
            ({"action": "retry", "ids": []}, "ids has 0 entries"),
            ({"action": "retry", "ids": ["x"] * 1001}, "ids has 1001 entries"),
        ],
    )
    def test_what_is_wrong_with_it(self, arguments: dict[str, object], said: str) -> None:
        with pytest.raises(InvalidJob, match=said):
            Request(**arguments)  # type: ignore[arg-type]


class TestPreview:
    def test_it_counts_and_changes_nothing(self, queue: JobQueue, jobs: Registry) -> None:
        ids = dead(queue, jobs, 3)
        queue.enqueue("work")
        queue.enqueue("other", delay=60)
        before = queue.stats()

        seen = preview(queue, Request(action="retry", filter={"job_type": "work"}, dry_run=True))

        assert (seen["eligible"], seen["skipped"]) == (3, {"it is pending": 1})
        assert (seen["by_status"], seen["by_type"]) == ({"dead_letter": 3}, {"work": 3})
        assert sorted(each["id"] for each in seen["samples"]) == sorted(ids)
        assert seen["oldest"] == seen["newest"] == seen["before"] == "2026-01-01T00:00:00.000000Z"
        assert seen["truncated"] is False
        assert queue.stats() == before

    def test_what_was_done_already_is_not_counted(self, queue: JobQueue, jobs: Registry) -> None:
        first, _ = dead(queue, jobs, 2)
        queue.retry(first)
        seen = preview(queue, Request(action="retry", filter={"status": "dead_letter"}))
        assert (seen["eligible"], seen["skipped"]) == (1, {"it was retried already": 1})

    def test_ids_that_are_gone(self, queue: JobQueue) -> None:
        job = queue.enqueue("work")
        seen = preview(queue, Request(action="cancel", ids=[job.id, UNKNOWN, "nonsense"]))
        assert (seen["eligible"], seen["skipped"]) == (1, {"it is gone": 2})

    def test_it_looks_at_so_many_and_says_that_there_are_more(
        self, queue: JobQueue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bulk, "A_PREVIEW", 200)
        queue.enqueue_many("work", [{}] * 201)
        seen = preview(queue, Request(action="cancel", filter={"job_type": "work"}))
        assert (seen["eligible"], seen["truncated"], len(seen["samples"])) == (200, True, bulk.SAMPLES)


class TestCarryingOut:
    def test_retry(self, queue: JobQueue, jobs: Registry) -> None:
        ids = dead(queue, jobs, 2)

        done = carry_out(queue, Request(action="retry", filter={"status": "dead_letter"}))

        assert (done["done"], done["already"], done["skipped"], done["cursor"]) == (2, 0, {}, None)
        assert {each["id"]: each["outcome"] for each in done["results"]} == dict.fromkeys(ids, "done")
        assert {queue.get(each["job_id"]).retry_of for each in done["results"]} == set(ids)

    def test_retry_of_failed_jobs_makes_them_due(self, queue: JobQueue, jobs: Registry) -> None:
        job = queue.enqueue("work", {"do": "fail"})
        drain(queue, jobs)

        done = carry_out(queue, Request(action="retry", filter={"status": "failed"}))

        assert done["done"] == 1
        assert queue.get(job).scheduled_for == queue.now()

    def test_cancel(self, queue: JobQueue) -> None:
        job = queue.enqueue("work")
        done = carry_out(queue, Request(action="cancel", ids=[job.id, UNKNOWN]))
        assert (done["done"], done["skipped"]) == (1, {"it is gone": 1})
        assert queue.get(job).status is Status.CANCELLED

    def test_what_its_state_forbids_is_left_alone(self, queue: JobQueue, jobs: Registry) -> None:
        (gone,) = dead(queue, jobs)
        waiting = queue.enqueue("work")
        assert carry_out(queue, Request(action="cancel", ids=[gone]))["skipped"] == {"it is dead_letter": 1}
        assert carry_out(queue, Request(action="retry", ids=[waiting.id]))["skipped"] == {"it is pending": 1}

    @pytest.mark.parametrize("action", ["retry", "cancel"])
    def test_sent_again_it_does_nothing_more(self, queue: JobQueue, jobs: Registry, action: str) -> None:
        ids = dead(queue, jobs, 2) if action == "retry" else [queue.enqueue("work").id for _ in range(2)]
        request = Request(action=action, ids=ids, before=queue.now())

        first, again = carry_out(queue, request), carry_out(queue, request)

        assert (first["done"], again["done"], again["already"]) == (2, 0, 2)
        assert [each["job_id"] for each in again["results"]] == [each["job_id"] for each in first["results"]]
        assert sum(queue.stats().by_status.values()) == (4 if action == "retry" else 2)

    def test_failed_jobs_are_not_retried_twice(self, queue: JobQueue, jobs: Registry, clock: Clock) -> None:
        job = queue.enqueue("work", {"do": "fail"})
        drain(queue, jobs)
        request = Request(action="retry", ids=[job.id], before=queue.now())
        clock.advance(1)
        assert carry_out(queue, request)["done"] == 1
        drain(queue, jobs)  # it fails once more

        assert carry_out(queue, request)["skipped"] == {"it is newer": 1}

    def test_what_came_or_changed_after_the_moment_is_left_alone(
        self, queue: JobQueue, jobs: Registry, clock: Clock
    ) -> None:
        old, moved = queue.enqueue("work", delay=60), queue.enqueue("work", delay=60)
        moment = queue.now()
        clock.advance(1)
        new = queue.enqueue("work", delay=60)
        queue.reschedule(moved, delay=90)

        done = carry_out(queue, Request(action="cancel", filter={"job_type": "work"}, before=moment))

        assert (done["done"], done["skipped"]) == (1, {"it is newer": 2})
        assert queue.get(old).status is Status.CANCELLED
        assert {queue.get(each).status for each in (new, moved)} == {Status.PENDING}
        (died,) = dead(queue, jobs)
        assert carry_out(queue, Request(action="retry", ids=[died], before=moment))["skipped"] == {
            "it is newer": 1
        }

    def test_a_running_job_is_asked_once(self, queue: JobQueue) -> None:
        job = running(queue)
        request = Request(action="cancel", filter={"status": "in_progress"})
        assert carry_out(queue, request)["done"] == 1
        assert queue.get(job).cancel_requested
        assert carry_out(queue, request)["already"] == 1
        assert preview(queue, request)["skipped"] == {"it was asked to stop already": 1}

    @pytest.mark.parametrize("named", [True, False])
    def test_call_after_call_reaches_every_job_once(
        self, queue: JobQueue, monkeypatch: pytest.MonkeyPatch, named: bool
    ) -> None:
        monkeypatch.setattr(bulk, "A_CALL", 3)
        jobs = queue.enqueue_many("work", [{}] * 8, delay=timedelta(minutes=1))
        ids = [job.id for job in jobs]
        which: dict[str, object] = {"ids": ids} if named else {"filter": {"status": "pending"}}
        cursor, done = None, []
        for _ in range(3):
            answer = carry_out(queue, Request(action="cancel", cursor=cursor, before=queue.now(), **which))  # type: ignore[arg-type]
            done += [each["id"] for each in answer["results"] if each["outcome"] == "done"]
            cursor = answer["cursor"]
        assert cursor is None
        assert sorted(done) == sorted(ids)

    @pytest.mark.parametrize("cursor", ["x", "-1", "0", "2", "²"])
    def test_a_cursor_of_nobody_s(self, queue: JobQueue, cursor: str) -> None:
        with pytest.raises(InvalidCursor):
            carry_out(queue, Request(action="cancel", ids=[UNKNOWN, UNKNOWN], cursor=cursor))

    def test_a_job_that_changes_between_look_and_change(
        self, queue: JobQueue, jobs: Registry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen = queue.enqueue("work")
        drain(queue, jobs)
        monkeypatch.setattr(bulk, "_page", lambda *_: ([seen], 0, None))

        done = carry_out(queue, Request(action="cancel", filter={"job_type": "work"}))

        assert (done["done"], done["skipped"]) == (0, {"it is completed": 1})

    def test_a_job_that_is_no_longer_what_was_listed(
        self, queue: JobQueue, jobs: Registry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It failed when it was listed, and has succeeded since: it is not run again."""
        failed = queue.enqueue("work", {"do": "fail_once"})
        drain(queue, jobs)
        seen = queue.get(failed)
        assert seen.status is Status.FAILED
        drain(queue, jobs, advance=True)
        assert queue.get(failed).status is Status.COMPLETED
        monkeypatch.setattr(bulk, "_page", lambda *_: ([seen], 0, None))

        for chosen in ({"status": "failed"}, {"job_type": "work"}):
            done = carry_out(queue, Request(action="retry", filter=chosen))
            assert (done["done"], done["skipped"]) == (0, {"it is completed": 1})
        assert queue.get(failed).retried_by is None

    def test_what_succeeded_is_retried_only_where_it_is_asked_for(
        self, queue: JobQueue, jobs: Registry
    ) -> None:
        queue.enqueue("work")
        (done,) = drain(queue, jobs)
        (dead_one,) = dead(queue, jobs)

        asked = carry_out(queue, Request(action="retry", filter={"job_type": "work"}))
        assert [each["id"] for each in asked["results"] if each["outcome"] == "done"] == [dead_one]
        named = carry_out(queue, Request(action="retry", filter={"status": "completed"}))
        assert [each["id"] for each in named["results"]] == [done.id]

    def test_a_job_that_began_after_the_moment_is_not_asked_to_stop(
        self, queue: JobQueue, clock: Clock
    ) -> None:
        moment = queue.now()
        clock.advance(1)
        job = running(queue)

        done = carry_out(queue, Request(action="cancel", filter={"status": "in_progress"}, before=moment))

        assert (done["done"], done["skipped"]) == (0, {"it is newer": 1})
        assert not queue.get(job).cancel_requested

    def test_a_call_with_a_key_means_the_same_moment_when_it_is_sent_again(
        self, queue: JobQueue, jobs: Registry, clock: Clock
    ) -> None:
        dead(queue, jobs)
        request = Request(action="retry", filter={"status": "dead_letter"}, idempotency_key="k")
        first = carry_out(queue, request)
        clock.advance(60)
        drain(queue, jobs)  # the successor dies, too

        again = carry_out(queue, request)

        assert (first["done"], again["done"], again["already"]) == (1, 0, 1)
        assert again["skipped"] == {"it is newer": 1}
        assert again["before"] == first["before"]
        other = carry_out(
            queue, Request(action="retry", filter={"status": "dead_letter"}, idempotency_key="l")
        )
        assert other["done"] == 1

    def test_the_moment_goes_with_the_cursor_so_there_is_an_end(
        self, queue: JobQueue, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A failed job that is made due now comes behind the cursor, but it is newer."""
        monkeypatch.setattr(bulk, "A_CALL", 2)
        registry = working(max_attempts=3)
        for _ in range(3):
            queue.enqueue("work", {"do": "fail"})
        drain(queue, registry)
        clock.advance(timedelta(days=1))
        request = Request(action="retry", filter={"status": "failed"}, before=queue.now())
        clock.advance(1)

        calls, done = 0, 0
        while calls < 10:
            answer = carry_out(queue, request)
            calls, done = calls + 1, done + answer["done"]
            if answer["cursor"] is None:
                break
            clock.advance(1)
            request = replace(request, cursor=answer["cursor"], before=None)

        assert (done, calls < 5) == (3, True)

    def test_a_cursor_of_other_jobs(self, queue: JobQueue) -> None:
        ids = [queue.enqueue("work", delay=60).id for _ in range(101)]
        cursor = carry_out(queue, Request(action="cancel", ids=ids))["cursor"]
        for wrong in (
            Request(action="cancel", ids=ids[::-1], cursor=cursor),
            Request(action="cancel", filter={"job_type": "work"}, cursor=cursor),
            Request(action="cancel", ids=ids, cursor="9" * 5000),
            Request(action="cancel", ids=ids, cursor="100"),
        ):
            with pytest.raises(InvalidCursor):
                carry_out(queue, wrong)

    def test_a_fault_in_the_middle_leaves_what_was_done_before_it(self, queue: JobQueue) -> None:
        ids = [queue.enqueue("work", delay=60).id for _ in range(3)]
        cancel, calls = queue.cancel, list[str]()

        def faulty(job: Job, **options: Any) -> Job:
            calls.append(job.id)
            if len(calls) == 3:
                raise Unavailable("no answer")
            return cancel(job, **options)

        queue.cancel = faulty  # type: ignore[method-assign, assignment]
        operator = Operator(queue, Actor("ada", "cli"))
        with pytest.raises(Unavailable):
            operator.jobs.bulk(Request(action="cancel", ids=ids))

        (entry,) = operator.audit()["entries"]
        assert (entry["outcome"], entry["details"]["changed"]) == ("Unavailable", ids[:2])
