"""What requests and answers look like: the source of validation and of the OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel, WithJsonSchema, model_validator

from dynajobs import keys

State = Literal["pending", "in_progress", "completed", "failed", "dead_letter", "cancelled"]
States = Literal[State, "live"]
"""In a filter: `live` is pending, in_progress or failed, so that no finished job is read."""

MAX_SECONDS = 300 * 366 * 86400
"""No wait ends beyond the year 9999, and no schedule looks back further."""


def _instant(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("must be a time such as 2026-11-18T07:00:00Z")
    try:
        return keys.parse_time(value)
    except ValueError:
        raise ValueError("must be a time with its offset from UTC, such as 2026-11-18T07:00:00Z") from None


def _length(value: object) -> float:
    # A bool is an int to Python, not to people.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_SECONDS:
        raise ValueError(f"must be a number of seconds from 0 to {MAX_SECONDS}")
    return value


def _whole(value: object) -> int:
    # To JSON 2.0 is a whole number; to Python a bool is one, but not to people.
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise ValueError("must be a whole number")
    return int(value)


def _id(value: object) -> str:
    found = keys.canonical_id(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("must be a UUID")
    return found


def _text(value: object) -> object:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("has half of a character, which UTF-8 cannot hold") from None
    return value


Instant = Annotated[
    datetime, BeforeValidator(_instant), WithJsonSchema({"type": "string", "format": "date-time"})
]
Seconds = Annotated[
    float,
    BeforeValidator(_length),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": MAX_SECONDS}),
]
# What checks a text comes last: constraints that follow a validator are not in the document.
_Whole = BeforeValidator(_text)
Text = Annotated[str, Field(strict=True), _Whole]
Whole = Annotated[int, BeforeValidator(_whole), WithJsonSchema({"type": "integer"})]
Flag = Annotated[bool, Field(strict=True)]
JobType = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9_.:-]{1,128}$"), _Whole]
Name = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9_.-]{1,64}$"), _Whole]
JobId = Annotated[str, BeforeValidator(_id), WithJsonSchema({"type": "string", "format": "uuid"})]
Priority = Annotated[
    Whole, Field(ge=0, le=3), WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 3})
]
Attempts = Annotated[
    Whole, Field(ge=1, le=100), WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 100})
]
Object = dict[str, Any]
Label = Annotated[str, Field(strict=True, min_length=1, max_length=256), _Whole]
Description = Annotated[str, Field(strict=True, max_length=1000), _Whole]
DedupKey = Annotated[
    str,
    Field(
        strict=True,
        min_length=1,
        max_length=1024,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        json_schema_extra={"not": {"type": "string", "pattern": "^schedule#"}},
    ),
    _Whole,
]
Window = Annotated[
    str, Field(strict=True, min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$"), _Whole
]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


def _given(name: str) -> Any:
    """A schema for bodies in which a field is there and not null."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def _not_both(one: str, other: str) -> Any:
    return {"not": {"allOf": [_given(one), _given(other)]}}


_WINDOW_NEEDS_KEY: Any = {
    "anyOf": [
        _given("dedup_key"),
        {"not": {"required": ["dedup_window"]}},
        {"properties": {"dedup_window": {"const": "active"}}},
    ]
}


class Body(BaseModel):
    """A request's body: what it does not know it refuses."""

    model_config = ConfigDict(extra="forbid")

    def given(self) -> dict[str, Any]:
        """The arguments that were sent."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class Answer(BaseModel):
    """An answer's body: these fields, no others."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """What every refusal says."""

    error: str = Field(description="What kind of problem it is, for programs.")
    message: str = Field(description="What is wrong and what would be right, for people.")
    details: Any = None


class EnqueueOptions(Body):
    """What may be said of a job besides what it does."""

    model_config = ConfigDict(json_schema_extra={"allOf": [_not_both("run_at", "delay"), _WINDOW_NEEDS_KEY]})

    run_at: Instant | None = None
    delay: Seconds | None = Field(None, description="Seconds from now, instead of run_at.")
    priority: Priority = 0
    max_attempts: Attempts | None = None
    org_id: Label | None = None
    group_id: Label | None = None
    dedup_key: DedupKey | None = Field(None, description="One job per key and window.")
    dedup_window: Window = Field("active", description="`active`, or any label; only with a dedup_key.")
    job_id: JobId | None = Field(None, description="Its id, a UUID; a new one if left out.")


class Enqueue(EnqueueOptions):
    """A new job."""

    job_type: JobType
    payload: Object | None = None


class EnqueueFromTemplate(EnqueueOptions):
    """A new job from a template, whose priority and attempts it has unless others are given."""

    param_overrides: Object | None = Field(None, description="Instead of the template's, at the top level.")


class Reschedule(Body):
    """Where a waiting job is to go."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                _not_both("run_at", "delay"),
                *(_not_both("before", name) for name in ("run_at", "delay", "priority")),
                {"anyOf": [_given(name) for name in ("run_at", "delay", "priority", "before")]},
            ]
        },
    )

    run_at: Instant | None = None
    delay: Seconds | None = None
    priority: Priority | None = None
    before: JobId | None = Field(None, description="Right ahead of this job; then nothing else is given.")


class BulkFilter(Body):
    """Which jobs; all of it must fit."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    state: States | None = None
    type: JobType | None = None
    org_id: Label | None = None
    schedule_name: Name | None = None
    fingerprint: Label | None = None

    @model_validator(mode="before")
    @classmethod
    def something(cls, value: object) -> object:
        """A variable that was not set must not mean every job."""
        if isinstance(value, dict) and (not value or None in value.values()):
            raise ValueError("must name something, and null names nothing")
        return value


class Bulk(Body):
    """One action on many jobs."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [_given("ids"), _given("filter")]})

    action: Literal["retry", "cancel"]
    ids: Annotated[list[JobId], Field(min_length=1, max_length=1000)] | None = None
    filter: BulkFilter | None = Field(None, description="Instead of ids.")
    before: Instant | None = Field(None, description="What was made or changed later is left alone.")
    dry_run: Flag = Field(False, description="Only count and show what would be changed.")
    cursor: Text | None = Field(None, description="Where the answer before said to go on.")
    idempotency_key: Label | None = None


class ScheduleFields(Body):
    """What a schedule is made of, except its name and when it runs."""

    job_type: JobType | None = None
    template: Name | None = None
    param_overrides: Object | None = None
    payload: Object | None = None
    timezone: Text = "UTC"
    description: Description = ""
    enabled: Flag = True
    priority: Priority = 0
    max_attempts: Attempts | None = None
    catchup: Literal["latest", "all", "none"] = "latest"
    catchup_window: Seconds = 86400
    overlap: Literal["allow", "skip", "queue_one"] = "allow"


class CreateSchedule(ScheduleFields):
    """A new schedule."""

    name: Name
    cron: Text


class UpdateSchedule(ScheduleFields):
    """Changes of a schedule; what is left out stays."""

    cron: Text | None = None

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in super().given().items() if name != "cron" or value is not None}


class Preview(Body):
    """An expression to be tried."""

    cron: Text
    timezone: Text = "UTC"
    n: Attempts = 10


class Backfill(Body):
    """Slots of the past: from start on, before end."""

    start: Instant
    end: Instant


class TemplateFields(Body):
    """What a template is made of, except its name."""

    payload: Object | None = None
    priority: Priority = 0
    max_attempts: Attempts | None = None
    description: Description = ""


class CreateTemplate(TemplateFields):
    """A new template."""

    name: Name
    job_type: JobType


class UpdateTemplate(TemplateFields):
    """Changes of a template; what is left out stays."""

    job_type: JobType | None = None

    def given(self) -> dict[str, Any]:
        return {
            name: value for name, value in super().given().items() if name != "job_type" or value is not None
        }


class Reserve(Body):
    """Have the queue to yourself."""

    by: Label
    ttl: Annotated[Seconds, WithJsonSchema({"type": "number", "minimum": 1, "maximum": MAX_SECONDS})] = 300


class RunOut(Answer):
    """One execution of a job."""

    run_id: str
    attempt: int
    worker: str | None
    log: dict[str, str] | None
    started_at: Time | None
    finished_at: Time | None
    status: str
    message: str | None
    details: Any
    error: str | None


class JobOut(Answer):
    """A job."""

    id: str
    job_type: str
    payload: Object
    status: str
    scheduled_for: Time
    priority: int
    attempts: int
    max_attempts: int | None
    created_at: Time
    updated_at: Time | None
    finished_at: Time | None
    completed_at: Time | None
    locked_by: str | None
    lock_expires_at: Time | None
    last_error: str | None
    result: Any
    progress: Any
    cancel_requested: bool
    org_id: str | None
    group_id: str | None
    schedule_name: str | None
    triggered_by: str | None
    template: str | None
    retry_of: str | None
    retried_by: str | None
    undelivered: int
    version: int
    runs: list[RunOut]
    created: bool
    fingerprint: str | None
    dedup_key: str | None
    dedup_window: str | None


class JobDetail(JobOut):
    """A job with its payload as it is stored, byte for byte."""

    payload_json: str


class JobPage(Answer):
    """One page of jobs; `cursor` asks for the next."""

    jobs: list[JobOut]
    cursor: str | None


class StatsOut(Answer):
    """Counts; `truncated` says that counting stopped before the end to save reads."""

    by_status: dict[str, int]
    by_type: dict[str, int]
    oldest_due_age: float | None
    truncated: bool


class CheckOut(Answer):
    """One thing that can keep a job waiting; `ok` is null where it cannot be known."""

    name: str
    ok: bool | None
    evidence: str


class WhyOut(Answer):
    """Why a job is not running."""

    sentence: str
    checks: list[CheckOut]


class GroupOut(Answer):
    """Jobs that failed alike."""

    fingerprint: str
    title: str
    job_types: list[str]
    dead_letters: int
    failed: int
    retried: int
    hour: int
    day: int
    week: int
    bars: list[int]
    first_seen: Time
    last_seen: Time
    job_id: str


class GroupsOut(Answer):
    """Errors by fingerprint, the latest first."""

    groups: list[GroupOut]
    examined: int
    truncated: bool


class BulkResult(Answer):
    """What came of one job."""

    id: str
    outcome: str
    job_id: str | None


class BulkPreview(Answer):
    """What a bulk call would do."""

    action: str
    dry_run: Literal[True]
    before: Time
    eligible: int
    skipped: dict[str, int]
    by_status: dict[str, int]
    by_type: dict[str, int]
    samples: list[JobOut]
    oldest: Time | None
    newest: Time | None
    truncated: bool


class BulkDone(Answer):
    """What a bulk call did; `cursor` is for the next one."""

    action: str
    dry_run: Literal[False]
    before: Time
    done: int
    already: int
    skipped: dict[str, int]
    results: list[BulkResult]
    cursor: str | None


class BulkOut(RootModel[BulkPreview | BulkDone]):
    """What a bulk call did, or would do."""


class ShortRun(Answer):
    """A run of a schedule, as its strip shows it."""

    scheduled_for: Time
    outcome: str
    triggered_by: str
    count: int
    job_id: str | None
    duration: float | None


class ScheduleOut(Answer):
    """A schedule; lengths of time are seconds."""

    name: str
    description: str
    enabled: bool
    cron: str
    cron_words: str | None
    timezone: str
    job_type: str | None
    payload: Object
    template: str | None
    param_overrides: Object | None
    priority: int
    max_attempts: int | None
    catchup: str
    catchup_window: float
    overlap: str
    next_run_at: Time | None
    last_run_at: Time | None
    last_success_at: Time | None
    total_runs: int
    success_rate: float | None
    average_duration: float | None
    max_duration: float | None
    warnings: list[str]


class ListedSchedule(ScheduleOut):
    """A schedule with its latest runs, newest first, if they were asked for."""

    recent: list[ShortRun] = []


class SchedulesOut(Answer):
    """All schedules, by name."""

    schedules: list[ListedSchedule]


class ScheduleRunOut(ShortRun):
    """A slot of a schedule, or several in a row that were not run."""

    started_at: Time | None
    finished_at: Time | None
    success: bool | None
    message: str | None
    details: Any


class RunPage(Answer):
    """One page of a schedule's history, newest first."""

    runs: list[ScheduleRunOut]
    cursor: str | None


class NextOut(Answer):
    """Coming slots."""

    next: list[Time]


class Slot(Answer):
    """A slot by two clocks."""

    utc: Time
    local: str


class PreviewOut(Answer):
    """What an expression would do; `cron_words` is null where words might mislead."""

    cron_words: str | None
    next: list[Slot]
    per_day: float
    warnings: list[str]


class Triggered(Answer):
    """The job that was made."""

    job_id: str


class Backfilled(Answer):
    """The jobs that were made, oldest slot first."""

    job_ids: list[str]


class TemplateOut(Answer):
    """A template."""

    name: str
    job_type: str
    payload: Object
    priority: int
    max_attempts: int | None
    description: str
    used_by: list[str]


class TemplatesOut(Answer):
    """All templates, by name."""

    templates: list[TemplateOut]


class ReservationOut(Answer):
    """The last reservation; all null if there never was one."""

    by: str | None
    status: str | None
    since: Time | None
    until: Time | None
    released_at: Time | None
    in_flight: int | None


class ReservedOut(ReservationOut):
    """A new reservation, and what ends it."""

    token: str


class AuditEntry(Answer):
    """Who did what, when, on what, and what came of it."""

    at: Time
    who: str
    via: str
    action: str
    target: str
    outcome: str
    details: Any


class AuditPage(Answer):
    """One page of changes, newest first; it may be short and still have a cursor."""

    entries: list[AuditEntry]
    cursor: str | None


class About(Answer):
    """Where this is, and what the token may do."""

    table: str
    region: str
    environment: str
    version: str
    role: str
    actor: str
    now: Time
    job_types: list[str]
    handled: list[str] | None
    last_tick_at: Time | None
    settings: dict[str, int | float | bool]


class Ticked(Answer):
    """What a poll did."""

    ok: bool
    claimed: int
    fired: int


class Health(Answer):
    """Whether the poller ticked lately, and how long the oldest due job has waited."""

    ok: bool
    last_tick_at: Time | None
    oldest_due_age: float | None
