"""A schedule's arguments, checked, and how a schedule is written as an item."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from dynajobs import keys
from dynajobs.cron import Cron
from dynajobs.errors import InvalidJob, InvalidSchedule
from dynajobs.item import Item, Malformed, key_of
from dynajobs.jsons import load_json
from dynajobs.producing import checked_type, checked_whole, duration, payload_text
from dynajobs.schedule import Schedule
from dynajobs.settings import Settings

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
CATCHUPS = ("latest", "all", "none")
OVERLAPS = ("allow", "skip", "queue_one")
MAX_DESCRIPTION = 1000
ARGUMENTS = (
    "job_type",
    "template",
    "param_overrides",
    "cron",
    "timezone",
    "payload",
    "description",
    "enabled",
    "priority",
    "max_attempts",
    "catchup",
    "catchup_window",
    "overlap",
)
"""What `create` takes beside the name, and `update` may change."""

_TEXTS = ("cron", "timezone", "job_type", "template", "description", "catchup", "overlap")
_TIMES = ("next_run_at", "last_run_at")
_JSONS = ("payload", "param_overrides")

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Entry:
    """A schedule together with the item it was read from."""

    schedule: Schedule
    item: Item

    @property
    def key(self) -> Item:
        return key_of(self.item)

    @property
    def cron(self) -> Cron:
        return Cron.parse(self.schedule.cron, self.schedule.timezone)


def schedule_key(name: str) -> Item:
    """Where a schedule lives."""
    return {"PK": {"S": keys.SCHEDULE}, "SK": {"S": name}}


def checked_name(name: object) -> str:
    """A name that a schedule can have, or `InvalidSchedule`."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidSchedule(f"name is {name!r}: it must match {NAME.pattern}", field="name")
    return name


def checked_schedule(name: str, arguments: Mapping[str, Any]) -> Schedule:
    """The schedule that these arguments describe; `InvalidSchedule` names the one that is wrong."""
    for unknown in arguments.keys() - set(ARGUMENTS):
        raise InvalidSchedule(
            f"{unknown} is no argument of a schedule: there are {', '.join(ARGUMENTS)}", field=unknown
        )
    if "cron" not in arguments:
        raise InvalidSchedule("cron is missing: give an expression such as '0 8 * * *'", field="cron")
    found = Schedule(name=checked_name(name), **arguments)
    Cron.parse(found.cron, found.timezone)
    if (found.job_type is None) == (found.template is None):
        raise InvalidSchedule(
            f"job_type is {found.job_type!r} and template is {found.template!r}: give one of them",
            field="job_type",
        )
    payload, overrides = _checked_work(found)
    _refuse_unless(isinstance(found.enabled, bool), found, "enabled", "True or False")
    _refuse_unless(_is_description(found.description), found, "description", "a text of at most 1,000 bytes")
    _refuse_unless(found.catchup in CATCHUPS, found, "catchup", f"one of {', '.join(CATCHUPS)}")
    _refuse_unless(found.overlap in OVERLAPS, found, "overlap", f"one of {', '.join(OVERLAPS)}")
    attempts = found.max_attempts
    return replace(
        found,
        payload=payload,
        param_overrides=overrides,
        priority=_of("priority", lambda: checked_whole("priority", found.priority, 0, 3)),
        max_attempts=None
        if attempts is None
        else _of("max_attempts", lambda: checked_whole("max_attempts", attempts, 1, 100)),
        catchup_window=_of("catchup_window", lambda: duration("catchup_window", found.catchup_window)),
    )


def _checked_work(found: Schedule) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    """Payload and overrides as JSON values: a type has the one, a template the other."""
    if found.template is None:
        _of("job_type", lambda: checked_type(found.job_type))
        _refuse_unless(found.param_overrides is None, found, "param_overrides", "given with a template only")
        return load_json(_of("payload", lambda: payload_text(found.payload))), None
    _refuse_unless(
        isinstance(found.template, str) and NAME.fullmatch(found.template), found, "template", NAME.pattern
    )
    _refuse_unless(not found.payload, found, "payload", "left out with a template: use param_overrides")
    return {}, load_json(_of("param_overrides", lambda: payload_text(found.param_overrides)))


def _is_description(value: object) -> bool:
    try:
        return isinstance(value, str) and len(value.encode()) <= MAX_DESCRIPTION
    except UnicodeEncodeError:
        return False


def _refuse_unless(right: object, found: Schedule, name: str, wanted: str) -> None:
    if not right:
        # Contents may be secret.
        seen = "" if name in _JSONS else f"is {getattr(found, name)!r}: it "
        raise InvalidSchedule(f"{name} {seen}must be {wanted}", field=name)


def _of(name: str, check: Callable[[], Value]) -> Value:
    """A check that jobs have as well, told as one of a schedule's argument."""
    try:
        return check()
    except InvalidJob as error:
        raise InvalidSchedule(str(error).replace("payload", name, 1), field=name) from None


def encode_schedule(schedule: Schedule, settings: Settings) -> Item:
    """The item of a schedule; while it is enabled the index finds it by its next slot."""
    item: Item = {
        **schedule_key(schedule.name),
        "enabled": {"BOOL": schedule.enabled},
        "priority": {"N": str(schedule.priority)},
        "catchup_window": {"N": str(schedule.catchup_window.total_seconds())},
        "total_runs": {"N": str(schedule.total_runs)},
    }
    for name in _TEXTS:
        if (text := getattr(schedule, name)) is not None:
            item[name] = {"S": text}
    for name in _TIMES:
        if (moment := getattr(schedule, name)) is not None:
            item[name] = {"S": keys.timestamp(moment)}
    for name in _JSONS:
        if (value := getattr(schedule, name)) is not None:
            item[name] = {"S": payload_text(value)}
    if schedule.max_attempts is not None:
        item["max_attempts"] = {"N": str(schedule.max_attempts)}
    if schedule.next_run_at is not None:
        item |= index_key(schedule.name, schedule.next_run_at, settings.index)
    return item


def index_key(name: str, next_run_at: datetime, index: str) -> Item:
    """By which an enabled schedule is found when it is due."""
    return {
        f"{index}PK": {"S": keys.SCHEDULE_DUE},
        f"{index}SK": {"S": keys.slot_key(next_run_at, name)},
    }


def _window(seconds: float) -> timedelta:
    try:
        return timedelta(seconds=seconds)
    except OverflowError:  # the longest there is, rounded up
        return timedelta.max


def decode_schedule(item: Item) -> Entry:
    """The schedule of an item; `Malformed` if it is none."""
    name = item["SK"]["S"]
    try:
        arguments: dict[str, Any] = {each: item[each]["S"] for each in _TEXTS if each in item}
        arguments |= {each: load_json(item[each]["S"]) for each in _JSONS if each in item}
        arguments["enabled"] = item["enabled"]["BOOL"]
        if "priority" in item:
            arguments["priority"] = int(item["priority"]["N"])
        if "max_attempts" in item:
            arguments["max_attempts"] = int(item["max_attempts"]["N"])
        if "catchup_window" in item:
            arguments["catchup_window"] = _window(float(item["catchup_window"]["N"]))
        moments = {each: keys.parse_time(item[each]["S"]) for each in _TIMES if each in item}
        schedule = replace(
            checked_schedule(name, arguments),
            total_runs=int(item.get("total_runs", {}).get("N", "0")),
            next_run_at=moments.get("next_run_at"),
            last_run_at=moments.get("last_run_at"),
        )
    except (KeyError, TypeError, AttributeError, OverflowError, ValueError) as error:
        raise Malformed(f"the schedule {name!r} cannot be understood: {error!r}") from None
    return Entry(schedule, item)
