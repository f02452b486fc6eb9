"""Five jobs for a newcomer to watch: what is enqueued, and every change of it as it happens."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Thread

from dynajobs import Job, JobNotFound, JobQueue
from tools.local.trouble import Trouble

PATIENCE_SECONDS = 120
LOOK_SECONDS = 0.2


@dataclass
class Watched:
    """A job under a name, and what was last said of it."""

    name: str
    job: Job
    said: set[str] = field(default_factory=set)


class Demonstration:
    """Enqueues the jobs, has the poller look when one falls due, and tells what becomes of them."""

    def __init__(self, queue: JobQueue, tick: Callable[[], object], say: Callable[[str], None]) -> None:
        self.queue = queue
        self.tick = tick
        self.say = say
        self.watched: list[Watched] = []
        self._poll: Thread | None = None
        self._failed: list[Trouble] = []

    def run(self) -> bool:
        """True when every job has ended."""
        self._enqueue()
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < give_up_at:
            for each in self.watched:
                self._look(each)
            live = [each.job for each in self.watched if not each.job.status.finished]
            if not live:
                return True
            if any(_waits_for_the_poller(job) for job in live):
                self._ask_the_poller()
            if self._failed:
                raise self._failed[0]
            time.sleep(LOOK_SECONDS)
        return False

    def _enqueue(self) -> None:
        user = {"user_id": "ada"}
        add = self._add
        add("succeeds", self.queue.enqueue("daily_summary", user))
        add("retried", self.queue.enqueue("demo.fail", {"times": 1}))
        add("scheduled", self.queue.enqueue("demo.slow", {"seconds": 2}, delay=timedelta(seconds=12)))
        add("hopeless", self.queue.enqueue("demo.fail"))
        once = self.queue.enqueue("daily_summary", {"user_id": "grace"}, dedup_key="summary#grace", delay=3)
        add("only once", once)
        again = self.queue.enqueue("daily_summary", {"user_id": "grace"}, dedup_key="summary#grace")
        if again.id == once.id and not again.created:
            self._tell(
                "only once", again, "enqueued again with the same dedup key: no second job, but this one"
            )

    def _add(self, name: str, job: Job) -> None:
        self.watched.append(Watched(name, job))
        wait = (job.scheduled_for - job.created_at).total_seconds()
        self._tell(name, job, "enqueued, due now" if wait <= 0 else f"enqueued, due in {wait:g} s")

    def _look(self, each: Watched) -> None:
        try:
            job = self.queue.get(each.job.id)
        except JobNotFound:
            return  # kept state can be cleared under us by hand
        each.job = job
        for key, sentence in _story(job):
            if key not in each.said:
                each.said.add(key)
                self._tell(each.name, job, sentence)

    def _tell(self, name: str, job: Job, sentence: str) -> None:
        self.say(f"{name:10} {job.job_type:14} {sentence}")

    def _ask_the_poller(self) -> None:
        """EventBridge would do it within the minute; a demonstration need not wait for that."""
        if self._poll is None or not self._poll.is_alive():
            # Beside us: a first start takes seconds, and what happens meanwhile is to be told.
            self._poll = Thread(target=self._ask, daemon=True)
            self._poll.start()

    def _ask(self) -> None:
        try:
            self.tick()
        except Trouble as trouble:
            self._failed.append(trouble)


def _waits_for_the_poller(job: Job) -> bool:
    return job.locked_by is None and job.scheduled_for <= datetime.now(UTC)


def _story(job: Job) -> list[tuple[str, str]]:
    """Everything that has happened to a job so far, oldest first, each with a key that stays the same."""
    told: list[tuple[str, str]] = []
    for run in job.runs:
        told.append((f"{run.run_id} began", f"attempt {run.attempt} runs"))
        if run.status == "completed":
            told.append((f"{run.run_id} ended", f"completed: {run.message or job.result or 'done'}"))
        elif run.status != "running":
            told.append(
                (f"{run.run_id} ended", f"attempt {run.attempt} {run.status}: {_first_line(run.error)}")
            )
    if job.status == "failed":
        told.append((f"waits {job.attempts}", f"tried again at {job.scheduled_for.astimezone():%H:%M:%S}"))
    if job.status == "dead_letter":
        told.append(("dead", f"dead letter after {job.attempts} failed attempts; kept until you look at it"))
    return told


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
