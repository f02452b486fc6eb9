"""Why a job is not running: each thing that can be in its way is found, and the first is the reason."""

from datetime import timedelta
from typing import Any

import pytest

from dynajobs import JobNotFound, JobQueue, Registry
from dynajobs.operating import why
from dynajobs.operating.why import explain
from dynajobs.poller import Poller
from dynajobs.testing import Clock, drain
from tests.integration.conftest import MakeQueue, queues_on
from tests.support.commands import running
from tests.support.delivery import Delivery
from tests.support.firing import at


@pytest.fixture
def make(moto_client: Any, table_name: str, clock: Clock) -> MakeQueue:
    return queues_on(moto_client, table_name, clock)


@pytest.fixture
def queue(make: MakeQueue) -> JobQueue:
    """One whose poller has just looked."""
    queue = make()
    queue.store.control.tell_poller()
    queue.store.control.tell_pass(queue.now(), 0)
    return queue


def checks(answer: dict[str, Any]) -> dict[str, bool | None]:
    return {each["name"]: each["ok"] for each in answer["checks"]}


def evidence(answer: dict[str, Any], name: str) -> str:
    (found,) = (each["evidence"] for each in answer["checks"] if each["name"] == name)
    return str(found)


class TestWaiting:
    def test_nothing_is_in_its_way(self, queue: JobQueue) -> None:
        answer = explain(queue, queue.enqueue("work").id)

        assert answer["sentence"] == "Nothing is in its way: it starts with the next look of the poller."
        assert checks(answer) == dict.fromkeys(
            ("due", "handler", "enabled", "reservation", "poller", "capacity", "ahead"), True
        )

    def test_it_is_not_due(self, queue: JobQueue) -> None:
        answer = explain(queue, queue.enqueue("work", delay=180).id)
        assert answer["sentence"] == "It is due in 3m (2026-01-01 00:03:00 UTC)."
        assert evidence(answer, "due") == "is due in 3m (2026-01-01 00:03:00 UTC)"

    def test_it_failed_and_waits_for_its_next_attempt(
        self, queue: JobQueue, jobs: Registry, clock: Clock
    ) -> None:
        job = queue.enqueue("work", {"do": "fail"}, max_attempts=3)
        drain(queue, jobs)
        answer = explain(queue, job.id)
        assert answer["sentence"].startswith("Attempt 1 of 3 failed; it is tried again in 1m (")
        assert checks(answer)["backoff"] is False

        clock.set(queue.get(job).scheduled_for)
        queue.store.control.tell_pass(queue.now(), 0)
        assert evidence(explain(queue, job.id), "backoff").startswith("the wait after attempt 1 of 3 ended")

    def test_an_earlier_run_of_its_schedule_is_not_over(self, queue: JobQueue, clock: Clock) -> None:
        queue.schedules.create("s", "work", cron="* * * * *", overlap="queue_one")
        for minute in (1, 2):
            clock.set(at(0, minute))
            Poller(queue, Delivery()).poll()
            queue.store.control.tell_pass(queue.now(), 0)
        (waiting,) = queue.list(status="pending")

        answer = explain(queue, waiting.id)

        slot = "2026-01-01T00:01:00.000000Z"
        assert answer["sentence"] == f"It waits for an earlier run of schedule s, that of slot {slot}."
        queue.cancel(next(iter(queue.list(status="in_progress"))))
        assert evidence(explain(queue, waiting.id), "earlier_run") == f"the run of slot {slot} is over"

    def test_its_type_has_no_function(self, make: MakeQueue) -> None:
        queue = make(handlers={"other": "f"})
        job = queue.enqueue("work")
        assert checks(explain(queue, job.id))["handler"] is None
        queue.store.control.tell_poller()
        assert "neither 'work' nor a fallback '*'" in explain(queue, job.id)["sentence"]

    def test_the_poller_claims_nothing(self, make: MakeQueue) -> None:
        queue = make(enabled=False)
        queue.store.control.tell_poller()
        answer = explain(queue, queue.enqueue("work").id)
        assert answer["sentence"] == "The poller claims nothing: DYNAJOBS_ENABLED is false."

    def test_the_queue_is_reserved(self, queue: JobQueue) -> None:
        job = queue.enqueue("work")
        with queue.reserve("deploy"):
            answer = explain(queue, job.id)
        assert answer["sentence"] == (
            "The queue is reserved by deploy until 2026-01-01 00:05:00 UTC (5m 00s left); "
            "nothing starts before."
        )
        assert checks(explain(queue, job.id))["reservation"] is True

    def test_no_poller_has_ever_looked(self, make: MakeQueue) -> None:
        queue = make()
        assert explain(queue, queue.enqueue("work").id)["sentence"].startswith("No poller has ever looked:")

    def test_the_poller_fell_silent(self, queue: JobQueue, clock: Clock) -> None:
        job = queue.enqueue("work")
        clock.advance(120)
        assert checks(explain(queue, job.id))["poller"] is True
        clock.advance(1)
        assert explain(queue, job.id)["sentence"] == "The poller is silent: it last looked 2m ago."

    def test_all_places_are_taken(self, make: MakeQueue) -> None:
        queue = make(max_in_flight=2)
        queue.store.control.tell_poller()
        queue.store.control.tell_pass(queue.now(), 2)
        answer = explain(queue, queue.enqueue("work").id)
        assert answer["sentence"] == (
            "All places are taken: 2 of 2 jobs were running when the poller last looked."
        )

    def test_others_go_first(self, queue: JobQueue, clock: Clock) -> None:
        first = queue.enqueue("work")
        mine = queue.enqueue("work")
        assert explain(queue, mine.id)["sentence"] == "1 due job goes first, by priority and time."
        queue.enqueue("work", priority=2)
        queue.enqueue("work", priority=3, delay=1)  # not due yet
        queue.enqueue("work", delay=0)  # after it
        answer = explain(queue, mine.id)
        assert answer["sentence"] == "2 due jobs go first, by priority and time."
        assert evidence(answer, "ahead") == "2 due jobs go first"
        assert explain(queue, first.id)["sentence"].startswith("1 due job goes first")
        clock.advance(1)
        assert evidence(explain(queue, mine.id), "ahead") == "3 due jobs go first"

    def test_jobs_that_run_go_nowhere(self, queue: JobQueue) -> None:
        queue.enqueue("work")
        Poller(queue, Delivery()).poll()
        answer = explain(queue, queue.enqueue("work").id)
        assert evidence(answer, "ahead") == "no due job goes first"

    def test_so_many_are_counted(self, queue: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(why, "LOOKED_AT", 2)
        queue.enqueue_many("work", [{}] * 5)
        assert evidence(explain(queue, queue.enqueue("work").id), "ahead") == "3+ due jobs go first"

    def test_other_lanes_are_counted(self, make: MakeQueue) -> None:
        queue = make(shards=8)
        queue.store.control.tell_pass(queue.now(), 0)
        queue.enqueue_many("work", [{}] * 9)
        assert evidence(explain(queue, queue.enqueue("work").id), "ahead") == "9 due jobs go first"

    def test_the_first_reason_is_the_one_that_is_told(self, make: MakeQueue) -> None:
        queue = make(enabled=False)
        queue.store.control.tell_poller()
        answer = explain(queue, queue.enqueue("work", delay=60).id)
        assert answer["sentence"].startswith("It is due in 1m")
        assert [name for name, ok in checks(answer).items() if ok is False] == ["due", "enabled", "poller"]


class TestHeld:
    def claimed(self, queue: JobQueue) -> str:
        job = queue.enqueue("work")
        Poller(queue, Delivery()).poll()
        return job.id

    def test_claimed_and_not_begun(self, queue: JobQueue, clock: Clock) -> None:
        job_id = self.claimed(queue)
        clock.advance(5)
        answer = explain(queue, job_id)
        assert answer["sentence"] == "It was claimed 5s ago, but its function has not begun."
        assert checks(answer) == {"begun": False, "lease": True, "cancel": True}

    def test_claimed_and_never_begun(self, queue: JobQueue, clock: Clock) -> None:
        job_id = self.claimed(queue)
        clock.advance(timedelta(minutes=5))
        answer = explain(queue, job_id)
        assert answer["sentence"] == (
            "It was claimed, but its function never began, and nobody takes it up. "
            "The poller is silent: it last looked 5m ago."
        )
        queue.store.control.tell_pass(queue.now(), 0)
        answer = explain(queue, job_id)
        assert answer["sentence"] == "It was claimed, but its function never began: the poller takes it up."
        assert checks(answer)["lease"] is False

        Poller(queue, Delivery()).poll()  # claimed anew
        assert evidence(explain(queue, job_id), "begun").endswith("and 1 claim before it never began")

    def test_running(self, queue: JobQueue, clock: Clock) -> None:
        job = running(queue)
        clock.advance(3)
        answer = explain(queue, job.id)
        assert answer["sentence"] == "It is running: attempt 1 began 3s ago on host:1."
        assert checks(answer) == {"begun": True, "lease": True, "cancel": True}

    def test_asked_to_stop(self, queue: JobQueue) -> None:
        job = running(queue)
        queue.cancel(job)
        assert explain(queue, job.id)["sentence"].startswith("It runs, and was asked to stop:")

    def test_its_worker_fell_silent(self, queue: JobQueue, clock: Clock) -> None:
        job = running(queue)
        clock.advance(61)
        assert checks(explain(queue, job.id))["lease"] is True  # clocks may differ
        clock.advance(59)
        answer = explain(queue, job.id)
        assert answer["sentence"] == (
            "Its worker fell silent, its lease ended 1m ago: the poller takes it up."
        )


class TestOver:
    @pytest.mark.parametrize(
        ("payload", "end"),
        [({"do": "ok"}, "completed"), ({"do": "discard", "value": "x"}, "became a dead letter")],
    )
    def test_it_is_over(
        self, queue: JobQueue, jobs: Registry, clock: Clock, payload: dict[str, str], end: str
    ) -> None:
        job = queue.enqueue("work", payload)
        drain(queue, jobs)
        clock.advance(60)
        assert explain(queue, job.id) == {"sentence": f"It is over: it {end} 1m ago.", "checks": []}

    def test_it_was_cancelled_and_runs_again(self, queue: JobQueue) -> None:
        job = queue.enqueue("work")
        queue.cancel(job)
        again = queue.retry(job)
        assert explain(queue, job.id)["sentence"] == (
            f"It is over: it was cancelled now. It runs again as {again.id}."
        )

    def test_there_is_no_such_job(self, queue: JobQueue) -> None:
        for job_id in ("0198f3e0-0000-7000-8000-000000000000", "nonsense"):
            with pytest.raises(JobNotFound):
                explain(queue, job_id)
