"""When a cron expression runs in a time zone, changes of clocks included, and how to say it in words."""

from __future__ import annotations

import copy
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import islice, pairwise, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from zoneinfo import ZoneInfo

from dynajobs.errors import InvalidSchedule

if TYPE_CHECKING:
    from croniter import croniter

_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)
_LONGEST = 500
"""Characters of an expression; one that lists every value of every field has 353."""

_HORIZON = 50
"""Years without a run after which there is none; 29 February on a Sunday may take 40."""

_SEARCHED_FROM = datetime(2026, 1, 1, tzinfo=UTC)
"""Where the search for a first run begins: the zones' rules of old do not count."""

_MOST_WARNINGS = 5
_MOST_NAMED = 6
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_VALUE = "[0-9]+|[A-Za-z]{3}"
_ITEM = re.compile(rf"(?:\*|(?P<low>{_VALUE})(?:-(?P<high>{_VALUE}))?)(?:/(?P<step>[0-9]+))?")


class _Field(NamedTuple):
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, tuple(name[:3].upper() for name in _MONTHS)),
    _Field("day of week", 0, 7, tuple(name[:3].upper() for name in _WEEKDAYS)),
)


@dataclass(frozen=True, slots=True)
class Cron:
    """An expression in a time zone, by Debian cron's rules.

    A job at fixed times runs once for each: at the end of a gap that swallows its time, at the first of two
    equal times. One whose minute or hour begins with `*` runs in every real minute that matches.

    >>> Cron.parse("30 2 * * *", "America/New_York").after(datetime(2026, 3, 8, tzinfo=UTC))
    datetime.datetime(2026, 3, 8, 7, 0, tzinfo=datetime.timezone.utc)
    """

    expression: str
    timezone: str
    _zone: ZoneInfo = field(repr=False, compare=False)
    _slots: _Slots = field(repr=False, compare=False)
    _days: croniter = field(repr=False, compare=False)

    @classmethod
    def parse(cls, expression: str, timezone: str = "UTC") -> Cron:
        """InvalidSchedule if the expression or the zone is unknown, or if it would never run there."""
        slots = _read(expression)
        cron = cls(expression, timezone, _zone(timezone), slots, slots.walk())
        cron.after(_SEARCHED_FROM)
        return cron

    def local(self, run: datetime) -> datetime:
        """A run as the clocks of its time zone show it."""
        return run.astimezone(self._zone)

    def after(self, instant: datetime) -> datetime:
        """The next run, strictly after `instant`."""
        run = next(self.runs(instant), None)
        if run is None:
            raise InvalidSchedule(
                f"cron is {self.expression!r}: it never runs in {self.timezone} after {instant:%Y-%m-%d}",
                field="cron",
            )
        return run

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The runs from `start` on and before `end`."""
        return takewhile(lambda run: run < end, self.runs(_instant(start) - timedelta.resolution))

    def runs(self, after: datetime) -> Iterator[datetime]:
        """Every run strictly after an instant, in UTC."""
        return self._later(_instant(after))

    def _later(self, last: datetime) -> Iterator[datetime]:
        for run in self._candidates(last):
            if run > last:
                last = run
                yield run

    def _candidates(self, after: datetime) -> Iterator[datetime]:
        """Runs in order, those after `after` and some before; fixed times that a gap merges come twice."""
        start = after.astimezone(self._zone).replace(tzinfo=None, fold=0)
        first, second = self._offsets(start)
        if self._slots.interval and first > second:
            start -= first - second  # what is earlier on the clock may be yet to come
        repeats: deque[datetime] = deque()
        last_year = start.year + _HORIZON
        for wall in self._walls(start):
            if wall.year > last_year:
                break
            first, second = self._offsets(wall)
            if first < second and self._slots.interval:
                continue
            run = _utc(wall - first) if first >= second else self._gap_end(wall, first, second)
            while repeats and repeats[0] < run:
                yield repeats.popleft()
            yield run
            if first > second and self._slots.interval:
                repeats.append(_utc(wall - second))
            last_year = wall.year + _HORIZON
        yield from repeats

    def _walls(self, after: datetime) -> Iterator[datetime]:
        """Every matching time on a clock that is never changed; naive."""
        # croniter walks from day to day only: from minute to minute it would take ten times as long.
        midnight = after.replace(hour=0, minute=0, second=0, microsecond=0)
        days = copy.copy(self._days)
        days.set_current(midnight - _MINUTE)
        with suppress(ValueError, OverflowError):  # no match in 50 years, or before the year 10000
            while True:
                day = days.get_next(datetime)
                first = bisect_left(self._slots.hours, after.hour) if day == midnight else 0
                for hour in islice(self._slots.hours, first, None):
                    for minute in self._slots.minutes:
                        wall = day.replace(hour=hour, minute=minute)
                        if wall > after:
                            yield wall

    def _offsets(self, wall: datetime) -> tuple[timedelta, timedelta]:
        """Before and after the change, if there is one: growing in a gap, shrinking where times repeat."""
        first = wall.replace(tzinfo=self._zone).utcoffset()
        second = wall.replace(tzinfo=self._zone, fold=1).utcoffset()
        assert first is not None and second is not None
        return first, second

    def _gap_end(self, wall: datetime, before: timedelta, after: timedelta) -> datetime:
        return _change(self._zone, _utc(wall - after), _utc(wall - before))


@dataclass(frozen=True, slots=True)
class _Slots:
    """What the five fields say: sorted values, Sunday is 0."""

    minutes: Sequence[int]
    hours: Sequence[int]
    days: Sequence[int]
    months: Sequence[int]
    weekdays: Sequence[int]
    either_day: bool
    """A day of the month or of the week suffices, and neither field has every value."""
    interval: bool
    """Minute or hour begins with `*`: real minutes count, not times of day."""

    def walk(self) -> croniter:
        fields = ((self.days, 31), (self.months, 12), (self.weekdays, 7))
        # Plain lists only: croniter reads 5-5 as the whole field and takes much that cron does not.
        texts = ["*" if len(values) == all_ else ",".join(map(str, values)) for values, all_ in fields]
        return _croniter(" ".join(["0 0", *texts]), self.either_day)

    def steady(self, shift: timedelta) -> bool:
        """Whether putting the clock by `shift` leaves the run's distances as they are."""
        moved = {(minute + shift // _MINUTE) % 60 for minute in self.minutes}
        return self.interval and len(self.hours) == 24 and moved == set(self.minutes)


@lru_cache(256)
def _croniter(text: str, either_day: bool) -> croniter:
    """Shared, so to be copied before it walks; to make one takes longer than a step."""
    from croniter import croniter

    return croniter(text, 0, day_or=either_day)


def _read(expression: str) -> _Slots:
    if not isinstance(expression, str):
        _refuse(f"cron is {expression!r}: it must be a string of five fields")
    if len(expression) > _LONGEST:
        _refuse(f"cron has {len(expression)} characters: it must have at most {_LONGEST}")
    given = expression.strip()
    texts = _NICKNAMES.get(given.lower(), given).split()
    if given.startswith("@") and len(texts) == 1:
        _refuse(f"cron is {expression!r}: it must be five fields or one of {', '.join(_NICKNAMES)}")
    if len(texts) != len(_FIELDS):
        names = ", ".join(name for name, *_ in _FIELDS)
        _refuse(f"cron is {expression!r}: it has {len(texts)} fields and must have five: {names}")
    minutes, hours, days, months, weekdays = (
        _values(expression, spec, text) for spec, text in zip(_FIELDS, texts, strict=True)
    )
    either_day = not texts[2].startswith("*") and not texts[4].startswith("*")
    longest = max(29 if month == 2 else _MONTH_DAYS[month - 1] for month in months)
    if days[0] > longest and not either_day:
        _refuse(
            f"cron is {expression!r}: its day of month {texts[2]!r} never comes in its month {texts[3]!r}, "
            f"which has {longest} days at most"
        )
    if either_day and days[0] > longest:
        days, either_day = list(range(1, 32)), False  # only the day of week is left, in any day of the month
    elif either_day and (len(days) == 31 or len(weekdays) == 7):
        days, weekdays, either_day = list(range(1, 32)), list(range(7)), False
    interval = texts[0].startswith("*") or texts[1].startswith("*")
    return _Slots(minutes, hours, days, months, weekdays, either_day, interval)


def _values(expression: str, spec: _Field, text: str) -> list[int]:
    found: set[int] = set()
    for item in text.split(","):
        about = f"cron is {expression!r}: its {spec.name} {item!r}"
        match = _ITEM.fullmatch(item)
        if not match:
            named = f" or {spec.names[0]} to {spec.names[-1]}" if spec.names else ""
            _refuse(f"{about} must be *, a number from {spec.low} to {spec.high}{named}, a range or a step")
        low, high, step = match["low"], match["high"], int(match["step"] or 1)
        if low and not high and match["step"]:
            _refuse(f"{about} has a step without a range: write {low}-{spec.high}/{match['step']}")
        if step == 0:
            _refuse(f"{about} has a step of 0: it must be 1 or more")
        start = _number(about, spec, low) if low else spec.low
        end = _number(about, spec, high) if high else start if low else spec.high
        if start > end:
            also = "; 7 is Sunday, too" if spec.name == "day of week" else ""
            _refuse(f"{about} runs backwards: a range must not wrap, write it as two{also}")
        found.update(range(start, end + 1, step))
    return sorted({value % 7 for value in found} if spec.name == "day of week" else found)


def _number(about: str, spec: _Field, text: str) -> int:
    if text.upper() in spec.names:
        # Months count from 1, weekdays from 0, as their fields do.
        return spec.names.index(text.upper()) + spec.low
    if not text.isdigit():
        known = f"one of {', '.join(spec.names)}" if spec.names else "a number: this field has no names"
        _refuse(f"{about} must be {known}")
    if not spec.low <= int(text) <= spec.high:
        _refuse(f"{about} is out of range: it must be from {spec.low} to {spec.high}")
    return int(text)


def _refuse(message: str, field: str = "cron") -> NoReturn:
    raise InvalidSchedule(message, field=field)


def _zone(name: Any) -> ZoneInfo:
    # Not what ZoneInfo finds: that has /etc's `localtime`, and differs between machines.
    if not isinstance(name, str) or name not in _zone_names():
        _refuse(f"timezone is {name!r}: it must be an IANA name such as UTC or Europe/Berlin", "timezone")
    return ZoneInfo(name)


@cache
def _zone_names() -> frozenset[str]:
    from pkgutil import get_data  # importlib.resources would cost a cold start 15 ms

    return frozenset((get_data("tzdata", "zones") or b"").decode().split()) - {"Factory"}


def _instant(moment: datetime) -> datetime:
    # In UTC before any arithmetic: in a zone, a step of datetime's is one of the clock on the wall.
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone")
    return moment.astimezone(UTC)


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)


def _change(zone: ZoneInfo, start: datetime, end: datetime) -> datetime:
    """The first minute after `start` in which the clock is as at `end`, with one change between the two."""
    later = end.astimezone(zone).utcoffset()
    minutes = range((end - start) // _MINUTE)
    return start + _MINUTE * bisect_left(
        minutes, True, key=lambda n: (start + n * _MINUTE).astimezone(zone).utcoffset() == later
    )


def warnings(cron: Cron, now: datetime) -> tuple[str, ...]:
    """What the changes of clocks in the next two years do to runs, a sentence for each; at most five."""
    hour = _instant(now).replace(minute=0, second=0, microsecond=0)
    found = (_warning(cron, start, end) for start, end in _changes(cron._zone, hour))
    return tuple(islice((sentence for sentence in found if sentence), _MOST_WARNINGS))


@lru_cache(256)
def _changes(zone: ZoneInfo, now: datetime) -> tuple[tuple[datetime, datetime], ...]:
    """What the clock shows at each change of two years when it comes and as it is then set."""
    return tuple(_walk_changes(zone, now))


def _walk_changes(zone: ZoneInfo, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    days = [now + n * _DAY for n in range(732)]
    for day, following in pairwise(days):
        before, after = day.astimezone(zone).utcoffset(), following.astimezone(zone).utcoffset()
        if before != after:
            assert before is not None and after is not None
            change = _change(zone, day.replace(second=0, microsecond=0), following).replace(tzinfo=None)
            yield change + before, change + after


def _warning(cron: Cron, old: datetime, new: datetime) -> str | None:
    start, end = min(old, new), max(old, new)
    slots = list(takewhile(lambda wall: wall < end, cron._walls(start - _MINUTE)))
    if not slots or cron._slots.steady(end - start):
        return None
    several = len(slots) > 1
    times = _and(f"{slot:%H:%M}" for slot in slots)
    if len(slots) > _MOST_NAMED:
        times = f"{len(slots)} times from {slots[0]:%H:%M} to {slots[-1]:%H:%M}"
    if old > new:
        effect = f"{'occur' if several else 'occurs'} twice in {cron.timezone}; "
        effect += "runs both times" if cron._slots.interval else "runs at the first only"
    else:
        effect = f"{'do' if several else 'does'} not exist in {cron.timezone}; "
        at = f"{new:%H:%M}" if new.date() == slots[0].date() else f"{new:%Y-%m-%d %H:%M}"
        if cron._slots.interval:
            effect += "no run then"
        elif next(cron._walls(new - _MINUTE)) == new:
            effect += f"merged with the run at {at}"
        else:
            effect += f"{'one run' if several else 'runs'} at {at}"
    return f"{slots[0]:%Y-%m-%d}: {times} {effect}"


def describe(expression: str) -> str | None:
    """The expression in English, or None where a short sentence would not be exact.

    >>> describe("0 9 * * MON-FRI")
    'at 09:00, Monday to Friday'
    """
    try:
        slots = _read(expression)
    except InvalidSchedule:
        return None
    time, day = _time_words(slots), _day_words(slots)
    if time is None or day is None:
        return None
    if day != "every day":
        return f"{time}, {day}"
    if slots.interval and len(slots.hours) == 24:
        return time
    return f"every day {time}" if time[3].isdigit() else f"{time}, every day"


def _time_words(slots: _Slots) -> str | None:
    minutes, hours = slots.minutes, slots.hours
    step = 60 // len(minutes) if minutes == list(range(0, 60, max(60 // len(minutes), 1))) else None
    every = {None: None, 1: "every minute", 60: "every hour"}.get(step, f"every {step} minutes")
    times = [f"{hour:02}:{minute:02}" for hour in hours for minute in minutes]
    if slots.interval and len(hours) == 24:
        if not every and len(minutes) <= _MOST_NAMED:
            noun = "minute" if len(minutes) == 1 else "minutes"
            every = f"at {noun} {_and(map(str, minutes))} of every hour"
        return every
    if step and step < 60 and len(times) > 2 and _consecutive(hours):
        return f"{every} from {times[0]} to {times[-1]}"
    if len(times) <= _MOST_NAMED:
        return f"at {_and(times)}"
    if len(minutes) == 1 and _consecutive(hours):
        return f"every hour from {times[0]} to {times[-1]}"
    if len(minutes) == 1 and hours in (list(range(0, 24, 2)), list(range(1, 24, 2))):
        return f"at minute {minutes[0]} of every {'odd' if hours[0] else 'even'} hour"
    return None


def _day_words(slots: _Slots) -> str | None:
    # Monday first, so that Saturday and Sunday are neighbours.
    order = sorted((weekday - 1) % 7 for weekday in slots.weekdays)
    names = [_WEEKDAYS[(place + 1) % 7] for place in order]
    weekdays = f"{names[0]} to {names[-1]}" if _is_stretch(order) else f"every {_and(names)}"
    whole_week, whole_year = len(order) == 7, len(slots.months) == 12
    if len(slots.days) == 31:
        return ("every day" if whole_week else weekdays) + (
            "" if whole_year else f" {_month_words(slots, 'in')}"
        )
    if whole_week:
        return _date_words(slots)
    if not whole_year:
        return None
    if slots.either_day:
        dates = _date_words(slots)
        return dates and f"{dates}, and also {weekdays}"
    if slots.days == list(range(1, 32, 2)):
        return f"{weekdays}, but only on odd days of the month"
    if len(slots.days) <= _MOST_NAMED:
        return f"{weekdays}, but only on the {_and(map(_ordinal, slots.days))} of the month"
    return None


def _date_words(slots: _Slots) -> str | None:
    days, months = slots.days, _month_words(slots, "of")
    if days[-1] > min(_MONTH_DAYS[month - 1] for month in slots.months):
        if days == [29] and slots.months == [2]:
            return "on the 29th of February in leap years"
        if len(days) == 1 and len(slots.months) == 12:
            return f"on the {_ordinal(days[0])} of every month that has one"
        return None
    if _is_stretch(days):
        return f"from the {_ordinal(days[0])} to the {_ordinal(days[-1])} {months}"
    return f"on the {_and(map(_ordinal, days))} {months}" if len(days) <= _MOST_NAMED else None


def _month_words(slots: _Slots, preposition: str) -> str:
    names = [_MONTHS[month - 1] for month in slots.months]
    if len(names) == 12:
        return f"{preposition} every month"
    if _is_stretch(slots.months):
        return f"{preposition} each month from {names[0]} to {names[-1]}"
    return f"{preposition} {_and(names)}"


def _and(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _ordinal(day: int) -> str:
    return f"{day}{'th' if 10 < day < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


def _is_stretch(values: Sequence[int]) -> bool:
    """Better named by its ends than one by one."""
    return len(values) > 2 and _consecutive(values)


def _consecutive(values: Sequence[int]) -> bool:
    return values[-1] - values[0] == len(values) - 1
