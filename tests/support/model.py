"""A model of a job's life in a few plain rules, against which the library and its table are held."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from dynajobs import Status, keys

MAX_ATTEMPTS = 3
MAX_UNDELIVERED = 20
CLAIM_LEASE = timedelta(seconds=90)
LEASE = timedelta(seconds=60)
SKEW = timedelta(seconds=2)
TICK = timedelta(microseconds=1)
WAITING = (Status.PENDING, Status.FAILED)
Key = tuple[str, str]


def backoff(times: int) -> timedelta:
    """The wait after so many failures, with the default settings but no jitter."""
    return timedelta(seconds=min(3600, 60 * 2 ** (times - 1)))


@dataclass
class Expected:
    """What the table must say of one job."""

    id: str
    scheduled_for: datetime
    priority: int = 0
    shard: int = 0
    max_attempts: int = MAX_ATTEMPTS
    status: Status = Status.PENDING
    attempts: int = 0
    undelivered: int = 0
    token: str | None = None
    begun: bool = False
    lease_end: datetime | None = None
    cancel_requested: bool = False
    runs: list[tuple[str, str]] = field(default_factory=list)
    record: Key | None = None
    retried_by: str | None = None
    indexed: bool = True
    """False for a hand-written item until it is first claimed or put in its place."""
    raw_key: Key | None = None
    """Where a hand-written item is that nobody has put in its place yet."""
    becomes: str = "job"
    """What a poll makes of a hand-written item: a job, a dead letter, or a completed job."""
    twin: bool = False
    """Its id was used by a finished job before it: it cannot end under that id."""
    version: int = 0

    @property
    def live(self) -> bool:
        return not self.status.finished

    @property
    def key(self) -> Key:
        if self.raw_key:
            return self.raw_key
        if self.live:
            return keys.lane(self.priority, self.shard), keys.due_key(self.scheduled_for, self.id)
        return f"job-id#{self.id}", "job"

    def claimable(self, now: datetime) -> bool:
        if self.raw_key or not self.live:
            return False
        if self.status in WAITING:
            return self.scheduled_for <= now
        assert self.lease_end is not None
        return now - self.lease_end > SKEW

    def close_run(self, status: str) -> None:
        assert self.token is not None and self.begun
        self.runs.append((self.token, status))
        self.begun = False

    def wait(self, status: Status, until: datetime) -> None:
        self.status, self.scheduled_for = status, until
        self.token = self.lease_end = None

    def fail(self, now: datetime, run_status: str = "failed") -> None:
        """The attempt failed; whoever asked for a cancellation gets it now."""
        if self.cancel_requested:
            self.close_run("cancelled")
            self.end(Status.CANCELLED)
            return
        self.close_run(run_status)
        self.attempts += 1
        if self.attempts >= self.max_attempts:
            self.end(Status.DEAD_LETTER)
        elif run_status == "failed":
            self.wait(Status.FAILED, now + backoff(self.attempts))

    def not_delivered(self) -> None:
        self.undelivered += 1
        if self.undelivered == MAX_UNDELIVERED:
            self.end(Status.DEAD_LETTER)

    def end(self, status: Status) -> None:
        if self.twin:
            self.id, status, self.twin = keys.derived_id(*self.key), Status.DEAD_LETTER, False
        self.status, self.indexed = status, True
        self.token = self.lease_end = None


@dataclass
class Record:
    """A dedup record."""

    job: Expected
    outcome: Status | None = None
