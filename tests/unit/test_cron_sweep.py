"""Around changes of clocks, in many zones and years, runs are those of cronsim: of Debian's cron."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim, CronSimError

from dynajobs.cron import Cron
from dynajobs.errors import InvalidSchedule

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
ZONES = [
    "Africa/Cairo", "Africa/Casablanca", "Africa/Juba", "America/Asuncion", "America/Caracas",
    "America/Havana", "America/Los_Angeles", "America/New_York", "America/Nuuk", "America/Santiago",
    "America/Sao_Paulo", "America/Scoresbysund", "America/St_Johns", "Antarctica/Casey", "Antarctica/Troll",
    "Asia/Amman", "Asia/Beirut", "Asia/Gaza", "Asia/Pyongyang", "Asia/Tehran",
    "Atlantic/Azores", "Australia/Adelaide", "Australia/Lord_Howe", "Australia/Sydney", "Europe/Berlin",
    "Europe/Dublin", "Europe/Istanbul", "Pacific/Apia", "Pacific/Auckland", "Pacific/Chatham",
]  # fmt: skip
YEARS = range(2011, 2031)  # from the day Apia left out to rules not yet applied
EXPRESSIONS = 210
RUNS = 4
STARTS = (
    -26 * HOUR,
    -3 * HOUR,
    -65 * MINUTE,
    -31 * MINUTE,
    -1 * MINUTE,
    0 * MINUTE,
    29 * MINUTE,
    59 * MINUTE,
)


class Change:
    """An instant at which a zone's clock goes from `old` to `new`, both naive."""

    def __init__(self, zone: ZoneInfo, before: datetime, after: datetime) -> None:
        shift = offset(zone, after)
        old_shift = offset(zone, before)
        while after - before > MINUTE:
            middle = before + (after - before) // 2
            before, after = (middle, after) if offset(zone, middle) == old_shift else (before, middle)
        self.instant = after
        self.old = (after + old_shift).replace(tzinfo=None)
        self.new = (after + shift).replace(tzinfo=None)

    @property
    def confuses_cronsim(self) -> bool:
        """Its interval jobs go by whole hours from minute 0, and begin days at a midnight that may not be."""
        low, high = sorted((self.old, self.new))
        midnight = high.replace(hour=0, minute=0)
        return (high - low) % HOUR != timedelta() or self.old.minute != 0 or low <= midnight <= high


def offset(zone: ZoneInfo, instant: datetime) -> timedelta:
    shift = instant.astimezone(zone).utcoffset()
    assert shift is not None
    return shift


def changes(zone: ZoneInfo) -> list[Change]:
    days = (datetime(YEARS.start, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(366 * len(YEARS)))
    return [Change(zone, *pair) for pair in pairwise(days) if offset(zone, pair[0]) != offset(zone, pair[1])]


def expression(choice: random.Random) -> str:
    """Mostly on each day and in the small hours, when clocks change."""
    hours = choice.choices(range(24), weights=[9, 9, 9, 9, 5, *[1] * 17, 3, 9], k=3)
    low, high = sorted(hours[:2]) if hours[0] != hours[1] else (1, 3)  # cronsim reads 2-2/2 as 2-23/2
    minutes = sorted(choice.sample(range(60), 3))
    minute = [
        "*", f"*/{choice.choice([2, 5, 7, 10, 15, 20, 30, 45, 90])}", "0", "30", str(minutes[0]),
        ",".join(map(str, minutes)), f"{minutes[0]}-{minutes[2]}", f"{minutes[0]}-{minutes[2]}/7", "0,*/20",
    ]  # fmt: skip
    hour = [
        "*", f"*/{choice.randint(2, 25)}", str(hours[0]), str(hours[1]), f"{low}-{high}",
        ",".join(map(str, hours)), f"{low}-{high}/2", "0-23", f"{low},*/6", "1-3",
    ]  # fmt: skip
    day = ["*"] * 12 + ["*/2", "1-7", "8-14", "25-31", "13", "*/5,1", "1,*"]
    month = ["*"] * 8 + ["3,4,10,11", "MAR-nov", "*/2", "9"]
    weekday = ["*"] * 8 + ["0", "7", "SUN", "sat,sun", "5-7", "*/2", "*/7", "1-5", "5,*"]
    return " ".join(choice.choice(field) for field in (minute, hour, day, month, weekday))


def real_minutes(text: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """The runs of an interval job, found by looking at the clock in every minute of two days."""
    rule = CronSim(text, datetime(2000, 1, 1, tzinfo=UTC))
    instant = after.replace(second=0, microsecond=0)
    for _ in range(2 * 24 * 60):
        instant += MINUTE
        wall = instant.astimezone(zone)
        time_matches = wall.minute in rule.minutes and wall.hour in rule.hours
        if time_matches and wall.month in rule.months and rule.match_day(wall.date()):
            yield instant


def simulated(text: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    # Begun between two equal times, it names the first of them.
    runs = (run.astimezone(UTC) for run in CronSim(text, after.astimezone(zone)))
    return (run for run in runs if run > after)


def is_interval(text: str) -> bool:
    return text.startswith("*") or text.split()[1].startswith("*")


EXPRESSION_LIST = [expression(random.Random(seed)) for seed in range(EXPRESSIONS)]


@pytest.mark.parametrize("name", ZONES)
def test_runs_around_a_change_of_clocks_are_those_of_debian_cron(name: str) -> None:
    choice = random.Random(name)
    zone = ZoneInfo(name)
    upcoming = changes(zone)
    for text in EXPRESSION_LIST:
        change = choice.choice(upcoming)
        start = change.instant + choice.choice(STARTS)
        runs = list(islice(Cron.parse(text, name).runs(start), RUNS))
        if is_interval(text) and change.confuses_cronsim:
            expected = list(islice(real_minutes(text, zone, start), RUNS))
            assert runs[: len(expected)] == expected, (text, start)
            assert all(run > start + timedelta(days=2) for run in runs[len(expected) :]), (text, start)
        else:
            assert runs == list(islice(simulated(text, zone, start), RUNS)), (text, start)


def values(choice: random.Random, low: int, high: int) -> str:
    """A field: one value, a list, a range, a step, or any."""
    first, last = sorted(choice.sample(range(low, high + 1), 2))
    some = choice.sample(range(low, high + 1), choice.randint(2, 5))
    forms = ["*", "*", str(first), f"{first}-{last}", f"{first}-{last}/3", ",".join(map(str, some))]
    return choice.choice([*forms, f"*/{choice.randint(1, high + 1)}", f"{first},*/9", f"{last},*"])


def test_without_changes_of_clocks_the_calendar_is_that_of_debian_cron() -> None:
    choice = random.Random(5)
    bounds = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
    for _ in range(400):
        text = " ".join(values(choice, *bound) for bound in bounds)
        start = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=choice.randrange(10**9))
        try:
            expected = list(islice(CronSim(text, start), RUNS))
        except CronSimError:
            expected = []
        if expected:
            assert list(islice(Cron.parse(text).runs(start), RUNS)) == expected, (text, start)
        else:
            with pytest.raises(InvalidSchedule, match="never comes"):
                Cron.parse(text)
