"""What a cron expression means, in which zone it runs when, and which sentences tell of it."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynajobs.cron import Cron, describe, warnings
from dynajobs.errors import InvalidSchedule

MINUTE = timedelta(minutes=1)
NEW_YORK = "America/New_York"
LORD_HOWE = "Australia/Lord_Howe"
MONTHS = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]  # fmt: skip
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def runs(expression: str, zone: str, start: str, count: int) -> list[datetime]:
    return list(islice(Cron.parse(expression, zone).runs(at(start)), count))


@pytest.mark.parametrize(
    ("expression", "zone", "start", "expected"),
    [
        ("30 2 * * *", NEW_YORK, "2026-03-08 00:00", ["2026-03-08 07:00", "2026-03-09 06:30"]),
        ("0 2 * * *", NEW_YORK, "2026-03-08 00:00", ["2026-03-08 07:00", "2026-03-09 06:00"]),
        ("0 2,3 * * *", NEW_YORK, "2026-03-08 00:00", ["2026-03-08 07:00", "2026-03-09 06:00"]),
        ("*/30 * * * *", NEW_YORK, "2026-03-08 06:00", ["2026-03-08 06:30", "2026-03-08 07:00"]),
        ("30 */2 * * *", NEW_YORK, "2026-03-08 05:00", ["2026-03-08 05:30", "2026-03-08 08:30"]),
        ("30 1 * * *", NEW_YORK, "2026-11-01 00:00", ["2026-11-01 05:30", "2026-11-02 06:30"]),
        ("0 1,2 * * *", NEW_YORK, "2026-11-01 00:00", ["2026-11-01 05:00", "2026-11-01 07:00"]),
        (
            "15 * * * *",
            NEW_YORK,
            "2026-11-01 04:00",
            ["2026-11-01 04:15", "2026-11-01 05:15", "2026-11-01 06:15", "2026-11-01 07:15"],
        ),
        ("15 2 * * *", LORD_HOWE, "2026-10-03 00:00", ["2026-10-03 15:30", "2026-10-04 15:15"]),
        (
            "0 0 13 * 5",
            "UTC",
            "2026-10-01 00:00",
            ["2026-10-02", "2026-10-09", "2026-10-13", "2026-10-16", "2026-10-23", "2026-10-30"],
        ),
        ("0 0 */2 * 1", "UTC", "2026-10-01", ["2026-10-05", "2026-10-19", "2026-11-09", "2026-11-23"]),
        # Where cronsim loses real minutes after the change:
        (
            "0 */2 * * *",
            LORD_HOWE,
            "2026-04-04 12:00",
            ["2026-04-04 13:00", "2026-04-04 15:30", "2026-04-04 17:30"],
        ),
        ("*/30 0 * * *", "Asia/Beirut", "2027-03-27 12:00", ["2027-03-28 21:00", "2027-03-28 21:30"]),
        # A day that was not: Samoa went from the 29th to the 31st.
        ("0 12 30 12 *", "Pacific/Apia", "2011-12-01", ["2011-12-30 10:00"]),
    ],
)
def test_runs_keep_to_debian_crons_rules(expression: str, zone: str, start: str, expected: list[str]) -> None:
    assert runs(expression, zone, start, len(expected)) == [at(text) for text in expected]


def test_times_that_a_gap_swallows_together_make_one_run() -> None:
    assert runs("0,20,40 2 * * *", NEW_YORK, "2026-03-08", 2) == [
        at("2026-03-08 07:00"),
        at("2026-03-09 06:00"),
    ]


def test_between_two_equal_times_a_fixed_time_is_over_and_an_interval_goes_on() -> None:
    second_pass = at("2026-11-01 06:10")
    assert Cron.parse("30 1 * * *", NEW_YORK).after(second_pass) == at("2026-11-02 06:30")
    assert Cron.parse("30 * * * *", NEW_YORK).after(second_pass) == at("2026-11-01 06:30")


def test_an_interval_comes_back_to_earlier_times_even_if_its_next_day_is_years_away() -> None:
    cron = Cron.parse("*/20 1 1 11 */7", NEW_YORK)
    assert [f"{run:%Y %H:%M}" for run in islice(cron.runs(at("2026-11-01 05:30")), 5)] == [
        "2026 05:40", "2026 06:00", "2026 06:20", "2026 06:40", "2037 05:00",
    ]  # fmt: skip


def test_the_next_run_is_strictly_after_the_instant_whatever_its_seconds() -> None:
    cron = Cron.parse("0 12 * * *")
    noon = at("2026-01-01 12:00")
    instant = timedelta(microseconds=1)
    assert cron.after(noon - instant) == noon
    assert cron.after(noon) == cron.after(noon + instant) == noon + timedelta(days=1)
    assert cron.after(noon.astimezone(timezone(timedelta(hours=-8)))) == noon + timedelta(days=1)
    assert cron.after(noon).tzinfo is UTC


def test_between_holds_the_start_but_not_the_end() -> None:
    found = Cron.parse("*/15 * * * *").between(at("2026-01-01 12:00"), at("2026-01-01 13:00"))
    assert [run.minute for run in found] == [0, 15, 30, 45]


def test_instants_may_be_given_in_a_zone_whose_clock_is_just_changed() -> None:
    gap_end = at("2026-03-08 07:00").astimezone(ZoneInfo(NEW_YORK))
    cron = Cron.parse("30 2 * * *", NEW_YORK)
    assert list(cron.between(gap_end, gap_end + timedelta(hours=1))) == [gap_end.astimezone(UTC)]
    assert cron.after(gap_end) == at("2026-03-09 06:30")
    assert warnings(cron, gap_end) == warnings(cron, at("2026-03-08 07:00"))


def test_between_is_lazy() -> None:
    found = Cron.parse("* * * * *").between(at("2000-01-01"), at("9000-01-01"))
    assert next(found) == at("2000-01-01")


def test_a_naive_instant_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        Cron.parse("* * * * *").runs(datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(ValueError, match="has no time zone"):
        warnings(Cron.parse("* * * * *"), datetime(2026, 1, 1))  # noqa: DTZ001


def test_the_29th_of_february_on_a_sunday_is_found_across_the_year_2100() -> None:
    assert [run.year for run in islice(Cron.parse("0 0 29 2 */7").runs(at("2026-01-01")), 4)] == [
        2032, 2060, 2088, 2128,
    ]  # fmt: skip


def test_runs_end_with_the_calendar() -> None:
    assert len(runs("0 0 1 1 *", "UTC", "9990-06-01", 20)) == 9
    with pytest.raises(InvalidSchedule, match="never runs in UTC after 9999-12-31"):
        Cron.parse("0 0 * * *").after(at("9999-12-31 12:00"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        (" @daily\n", "0 0 * * *"),
        ("  0\t0  * *   * ", "0 0 * * *"),
        ("0 0 * * 7", "0 0 * * 0"),
        ("0 0 * * sun", "0 0 * * SUN"),
        ("0 0 * JAN,feb mon-Fri", "0 0 * 1,2 1-5"),
        ("0 0 * * 5-7", "0 0 * * 0,5,6"),
        ("0 0 * * 0-7", "0 0 * * *"),
        ("0 0 * * 7-7", "0 0 * * 0"),
        ("3-3 3-3/2 * * *", "3 3 * * *"),
        ("05 007 * * *", "5 7 * * *"),
        ("1-59/20 * * * *", "1,21,41 * * * *"),
        ("*/90 * * * *", "0 * * * *"),
        ("0 0 1-31 * 1", "0 0 * * *"),
        ("0 0 5,* * 1", "0 0 * * *"),
        ("0 0 *,5 * 1", "0 0 * * 1"),
        ("0 0 31 2 1", "0 0 * 2 1"),
    ],
)
def test_two_ways_to_say_the_same(one: str, other: str) -> None:
    assert runs(one, "UTC", "2026-01-01", 40) == runs(other, "UTC", "2026-01-01", 40)


def test_equal_expressions_in_equal_zones_are_equal() -> None:
    assert Cron.parse("0 0 * * *", NEW_YORK) == Cron.parse("0 0 * * *", NEW_YORK)
    assert Cron.parse("0 0 * * *", NEW_YORK) != Cron.parse("0 0 * * *", "UTC")
    assert len({Cron.parse("0 0 * * *"), Cron.parse("0 0 * * *")}) == 1
    assert repr(Cron.parse("0 0 * * *")) == "Cron(expression='0 0 * * *', timezone='UTC')"


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("0 0 ? * *", "its day of month '?' must be *, a number from 1 to 31"),
        ("0 0 * * ?", "its day of week '?' must be *, a number from 0 to 7 or SUN to SAT"),
        ("0 0 L * *", "its day of month 'L' must be"),
        ("0 0 * * 5L", "its day of week '5L' must be"),
        ("0 0 15W * *", "its day of month '15W' must be"),
        ("0 0 * * 5#2", "its day of week '5#2' must be"),
        ("H * * * *", "its minute 'H' must be"),
        ("H/15 * * * *", "its minute 'H/15' must be"),
        ("R R * * *", "its minute 'R' must be"),
        ("* * * * * *", "it has 6 fields and must have five: minute, hour, day of month, month, day of week"),
        ("0 0 * * * 2030 *", "it has 7 fields and must have five"),
        ("* * * *", "it has 4 fields and must have five"),
        ("", "it has 0 fields and must have five"),
        ("0 22-6 * * *", "its hour '22-6' runs backwards: a range must not wrap, write it as two"),
        ("0 0 * NOV-FEB *", "its month 'NOV-FEB' runs backwards"),
        ("0 0 * * FRI-SUN", "its day of week 'FRI-SUN' runs backwards"),
        ("5/15 * * * *", "its minute '5/15' has a step without a range: write 5-59/15"),
        ("0 0 * * MON/2", "its day of week 'MON/2' has a step without a range"),
        ("*/0 * * * *", "its minute '*/0' has a step of 0"),
        ("*/-1 * * * *", "its minute '*/-1' must be"),
        ("1,,2 * * * *", "its minute '' must be"),
        ("0 0 1, * *", "its day of month '' must be"),
        ("-1 * * * *", "its minute '-1' must be"),
        ("60 * * * *", "its minute '60' is out of range: it must be from 0 to 59"),
        ("0 24 * * *", "its hour '24' is out of range: it must be from 0 to 23"),
        ("0 0 0 * *", "its day of month '0' is out of range: it must be from 1 to 31"),
        ("0 0 1-32 * *", "its day of month '1-32' is out of range"),
        ("0 0 * 13 *", "its month '13' is out of range: it must be from 1 to 12"),
        ("0 0 * * 8", "its day of week '8' is out of range: it must be from 0 to 7"),
        ("0 0 * mon *", "its month 'mon' must be one of JAN, FEB"),
        ("0 0 jan * *", "its day of month 'jan' must be a number"),
        ("0 0 * * monday", "its day of week 'monday' must be"),
        ("0 0 * * \u017fun", "its day of week '\u017fun' must be"),
        ("٣ * * * *", "its minute '٣' must be"),
        ("** * * * *", "its minute '**' must be"),
        ("*-5 * * * *", "its minute '*-5' must be"),
        ("1.5 * * * *", "its minute '1.5' must be"),
        ("0 0 31 2 *", "its day of month '31' never comes in its month '2', which has 29 days at most"),
        ("0 0 31 FEB,4 *", "its day of month '31' never comes in its month 'FEB,4', which has 30 days"),
        ("0 0 30,31 2 */2", "its day of month '30,31' never comes"),
        ("* 2 8-14 3 */7", "it never runs in America/New_York"),
        ("@reboot", "it must be five fields or one of @hourly, @daily, @midnight, @weekly"),
        ("@every 5m", "it has 2 fields"),
        ("0 0 * * *" + " " * 500, "cron has 509 characters: it must have at most 500"),
        (None, "cron is None: it must be a string"),
        (5, "cron is 5: it must be a string"),
        (b"* * * * *", "it must be a string"),
        (["*"] * 5, "it must be a string"),
    ],
)
def test_what_is_not_five_standard_fields_is_refused(expression: str, complaint: str) -> None:
    with pytest.raises(InvalidSchedule, match=re.escape(complaint)) as refusal:
        Cron.parse(expression, NEW_YORK)
    assert refusal.value.field == "cron"


@pytest.mark.parametrize(
    "zone",
    [
        "../etc/passwd", "/etc/localtime", "", "localtime", "posixrules", "Factory", "Mars/Phobos", "EDT",
        "+02:00", "america/new_york", "America", "right/UTC", "UTC\0", " UTC", None, 5, ["UTC"],
    ],
)  # fmt: skip
def test_a_zone_must_be_an_iana_name(zone: str) -> None:
    with pytest.raises(
        InvalidSchedule, match="it must be an IANA name such as UTC or Europe/Berlin"
    ) as refusal:
        Cron.parse("0 0 * * *", zone)
    assert refusal.value.field == "timezone"


@given(st.text("0123456789*/-,?LW#@ JANMON", max_size=30) | st.text(max_size=30))
def test_no_text_at_all_breaks_the_reader(text: str) -> None:
    try:
        cron = Cron.parse(text)
    except InvalidSchedule:
        assert describe(text) is None
    else:
        assert cron.after(at("2026-01-01")) > at("2026-01-01")


@pytest.mark.parametrize(
    ("expression", "zone", "expected"),
    [
        (
            "30 2 * * *",
            NEW_YORK,
            (
                "2027-03-14: 02:30 does not exist in America/New_York; runs at 03:00",
                "2028-03-12: 02:30 does not exist in America/New_York; runs at 03:00",
            ),
        ),
        ("0 12 * * *", NEW_YORK, ()),
        ("30 2 * 6 *", NEW_YORK, ()),
        ("59 1 14 3 *", NEW_YORK, ()),
        ("0 3 14 3 *", NEW_YORK, ()),
        ("30 2 * * *", "UTC", ()),
        ("30 2 * * *", "Asia/Tokyo", ()),
        ("*/15 * * * *", NEW_YORK, ()),
        ("15 * * * *", NEW_YORK, ()),
        ("*/30 * * * *", LORD_HOWE, ()),
        (
            "0 2,3 14 3 *",
            NEW_YORK,
            ("2027-03-14: 02:00 does not exist in America/New_York; merged with the run at 03:00",),
        ),
        (
            "0,30 2 14 3 *",
            NEW_YORK,
            ("2027-03-14: 02:00 and 02:30 do not exist in America/New_York; one run at 03:00",),
        ),
        ("30 */2 14 3 *", NEW_YORK, ("2027-03-14: 02:30 does not exist in America/New_York; no run then",)),
        (
            "* 2 14 3 *",
            NEW_YORK,
            ("2027-03-14: 60 times from 02:00 to 02:59 do not exist in America/New_York; no run then",),
        ),
        (
            "30 1 7 11 *",
            NEW_YORK,
            ("2027-11-07: 01:30 occurs twice in America/New_York; runs at the first only",),
        ),
        (
            "*/30 1 7 11 *",
            NEW_YORK,
            ("2027-11-07: 01:00 and 01:30 occur twice in America/New_York; runs both times",),
        ),
        ("15 * 3 10 *", LORD_HOWE, ("2027-10-03: 02:15 does not exist in Australia/Lord_Howe; no run then",)),
        (
            "30 23 27 3 *",
            "America/Nuuk",
            ("2027-03-27: 23:30 does not exist in America/Nuuk; runs at 2027-03-28 00:00",),
        ),
    ],
)
def test_warnings_tell_what_coming_changes_of_clocks_do(
    expression: str, zone: str, expected: tuple[str, ...]
) -> None:
    assert warnings(Cron.parse(expression, zone), at("2026-11-18 12:34:56")) == expected


def test_warnings_are_a_handful_and_end_after_two_years() -> None:
    found = warnings(Cron.parse("* 1-3 * * *", "Africa/Casablanca"), at("2026-11-18"))
    assert 4 <= len(found) <= 5
    assert all("2026-11-18" < sentence < "2028-11-20" for sentence in found)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/15 * * * *", "every 15 minutes"),
        ("0,30 * * * *", "every 30 minutes"),
        ("@hourly", "every hour"),
        ("*/90 * * * *", "every hour"),
        ("*/7 * * * *", None),
        ("*/45 * * * *", "at minutes 0 and 45 of every hour"),
        ("20 * * * *", "at minute 20 of every hour"),
        ("30 2 * * *", "every day at 02:30"),
        ("0 6,18 * * *", "every day at 06:00 and 18:00"),
        ("5 */5 * * *", "every day at 00:05, 05:05, 10:05, 15:05 and 20:05"),
        ("0 */2 * * *", "at minute 0 of every even hour, every day"),
        ("0 0-23 * * *", "every hour from 00:00 to 23:00, every day"),
        ("*/10 9-17 * * 1-5", "every 10 minutes from 09:00 to 17:50, Monday to Friday"),
        ("0 9 * * MON-FRI", "at 09:00, Monday to Friday"),
        ("0 9 * * 6,7", "at 09:00, every Saturday and Sunday"),
        ("@weekly", "at 00:00, every Sunday"),
        ("@monthly", "at 00:00, on the 1st of every month"),
        ("0 0 1,15 * *", "at 00:00, on the 1st and 15th of every month"),
        ("0 0 1-7 * *", "at 00:00, from the 1st to the 7th of every month"),
        ("0 0 31 * *", "at 00:00, on the 31st of every month that has one"),
        ("0 0 30,31 * *", None),
        ("0 0 30 2,3 *", None),
        ("0 0 29 2 *", "at 00:00, on the 29th of February in leap years"),
        ("@yearly", "at 00:00, on the 1st of January"),
        ("0 0 1 1-3 *", "at 00:00, on the 1st of each month from January to March"),
        ("0 0 * 6 *", "at 00:00, every day in June"),
        ("0 0 * 6,7 1", "at 00:00, every Monday in June and July"),
        ("0 0 13 * 5", "at 00:00, on the 13th of every month, and also every Friday"),
        ("0 0 13 6 5", None),
        ("0 0 31 2 1", "at 00:00, every Monday in February"),
        ("0 0 */2 * 1", "at 00:00, every Monday, but only on odd days of the month"),
        ("0 0 13 * */5", "at 00:00, every Friday and Sunday, but only on the 13th of the month"),
        ("0 0 */3 * 1", None),
        ("nonsense", None),
    ],
)
def test_words_say_what_the_expression_does_or_nothing(expression: str, words: str | None) -> None:
    assert describe(expression) == words


def names(text: str, all_names: list[str]) -> set[int]:
    """Positions, from 1, of the names in 'A', 'A and C', 'A, B and D' or 'A to C'."""
    if " to " in text:
        first, last = map(all_names.index, text.split(" to "))
        return set(range(first + 1, last + 2))
    return {all_names.index(name) + 1 for name in re.split(", | and ", text)}


def numbers(text: str) -> set[int]:
    return set(map(int, re.findall(r"\d+", text)))


def times_meant(words: str) -> tuple[set[str], bool]:
    """The times of day a reader would expect, and whether the days still have to be named."""
    if match := re.fullmatch(r"(?:every day )?at ([\d:, and]+)", words):
        return set(re.findall(r"\d\d:\d\d", match[1])), not words.startswith("every day")
    if match := re.fullmatch(r"every (?:(\d+) )?(minute|hour)s?(?: from (\S+) to (\S+))?", words):
        step = int(match[1] or 1) * (60 if match[2] == "hour" else 1)
        first, last = (
            int(text[:2]) * 60 + int(text[3:]) for text in (match[3] or "00:00", match[4] or "23:59")
        )
        return {f"{n // 60:02}:{n % 60:02}" for n in range(first, last + 1, step)}, bool(match[3])
    match = re.fullmatch(r"at minutes? ([\d, and]+) of every (odd |even )?hour", words)
    assert match, words
    hours = {"odd ": range(1, 24, 2), "even ": range(0, 24, 2)}.get(match[2], range(24))
    return {f"{hour:02}:{minute:02}" for hour in hours for minute in numbers(match[1])}, bool(match[2])


def is_meant(day: datetime, words: str) -> bool:
    """Whether a reader would expect runs on this day."""
    if words in ("", "every day"):
        return True
    if also := re.fullmatch("(.+), and also (.+)", words):
        return is_meant(day, also[1]) or is_meant(day, also[2])
    if only := re.fullmatch("(.+), but only on (odd days|the (.+)) of the month", words):
        dates = numbers(only[3]) if only[3] else set(range(1, 32, 2))
        return is_meant(day, only[1]) and day.day in dates
    if months := re.fullmatch("(.+) (?:in|of) (?:each month from )?([A-Z].+?)(?: in leap years)?", words):
        return day.month in names(months[2], MONTHS) and is_meant(day, f"{months[1]} of every month")
    words = re.sub(" of every month( that has one)?$", "", words)
    if words == "every day":
        return True
    if span := re.fullmatch(r"from the (\d+).. to the (\d+)..", words):
        return int(span[1]) <= day.day <= int(span[2])
    if words.startswith("on the "):
        return day.day in numbers(words)
    return day.isoweekday() in names(words.removeprefix("every "), WEEKDAYS)


def some(low: int, high: int, *more: str) -> st.SearchStrategy[str]:
    value = st.integers(low, high)
    lists: st.SearchStrategy[Iterable[int]] = st.sets(value, min_size=1, max_size=4)
    ranges = st.tuples(value, value, st.sampled_from(["", "", "/2", "/3"]))
    return st.one_of(
        st.just("*"),
        value.map(str),
        lists.map(lambda values: ",".join(map(str, values))),
        ranges.map(lambda r: f"{min(r[:2])}-{max(r[:2])}{r[2]}"),
        st.integers(1, high + 2).map(lambda step: f"*/{step}"),
        st.sampled_from(more or ("*",)),
    )


@settings(max_examples=300, deadline=None)
@given(st.tuples(some(0, 59, "0"), some(0, 23), some(1, 31, "*"), some(1, 12, "*"), some(0, 7, "*")))
def test_who_reads_the_words_expects_exactly_the_runs(fields: tuple[str, ...]) -> None:
    expression = " ".join(fields)
    words = describe(expression)
    if words is None:
        return
    match = re.fullmatch(r"(.*?\d\d:\d\d|.*?(?:hour|minutes?))(?:, ([^\d].*))?", words)
    assert match, words
    times, needs_days = times_meant(match[1])
    assert not needs_days or match[2], words
    cron = Cron.parse(expression)
    starts = map(at, ("2027-02-20", "2027-06-28", "2027-12-30", "2028-02-26"))
    days = [start + timedelta(days=n) for start in starts for n in range(10)]
    meant = [day for day in days if is_meant(day, match[2] or "")]
    assert [day for day in days if cron.after(day - MINUTE) < day + timedelta(days=1)] == meant, words
    for day in meant[:1]:
        found = {f"{run:%H:%M}" for run in cron.between(day, day + timedelta(days=1))}
        assert found == times, words
