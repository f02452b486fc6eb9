"""Due slots: which run, which are missed, and where the schedule goes on."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynajobs.cron import Cron
from dynajobs.slots import GRACE, MOST_CAUGHT_UP, Gap, Step, due_steps

HOURLY = Cron.parse("0 * * * *")
MINUTELY = Cron.parse("* * * * *")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR, MINUTE, DAY = timedelta(hours=1), timedelta(minutes=1), timedelta(days=1)


def steps(first: datetime, now: datetime, catchup: str, window: timedelta = DAY) -> list[Step]:
    return list(due_steps(HOURLY, first, now, catchup=catchup, window=window))


@pytest.mark.parametrize("catchup", ["latest", "all", "none"])
@pytest.mark.parametrize("late", [timedelta(0), timedelta(seconds=1), GRACE])
def test_a_slot_on_time_runs(catchup: str, late: timedelta) -> None:
    assert steps(NOON, NOON + late, catchup) == [
        Step(slot=NOON, triggered_by="scheduler", next_run_at=NOON + HOUR)
    ]


@pytest.mark.parametrize("catchup", ["latest", "all", "none"])
def test_nothing_is_early(catchup: str) -> None:
    assert steps(NOON, NOON - timedelta.resolution, catchup) == []


@pytest.mark.parametrize("catchup", ["latest", "all"])
def test_a_late_slot_is_caught_up_with(catchup: str) -> None:
    assert steps(NOON, NOON + 20 * MINUTE, catchup) == [
        Step(slot=NOON, triggered_by="catchup", next_run_at=NOON + HOUR)
    ]


def test_without_catching_up_a_late_slot_is_missed() -> None:
    assert steps(NOON, NOON + 20 * MINUTE, "none") == [Step(missed=Gap(NOON, 1), next_run_at=NOON + HOUR)]


def test_the_latest_of_several_runs_and_the_gap_before_it_is_told() -> None:
    assert steps(NOON, NOON + 3 * HOUR + 20 * MINUTE, "latest") == [
        Step(
            slot=NOON + 3 * HOUR,
            triggered_by="catchup",
            missed=Gap(NOON + 2 * HOUR, 3),
            next_run_at=NOON + 4 * HOUR,
        )
    ]


def test_each_of_several_runs_and_only_the_last_may_be_on_time() -> None:
    assert steps(NOON, NOON + 2 * HOUR + MINUTE, "all") == [
        Step(slot=NOON, triggered_by="catchup", next_run_at=NOON + HOUR),
        Step(slot=NOON + HOUR, triggered_by="catchup", next_run_at=NOON + 2 * HOUR),
        Step(slot=NOON + 2 * HOUR, triggered_by="scheduler", next_run_at=NOON + 3 * HOUR),
    ]


def test_what_is_older_than_the_window_is_missed_by_all() -> None:
    found = steps(NOON, NOON + 5 * HOUR + MINUTE, "all", window=2 * HOUR)

    assert found[0] == Step(
        slot=NOON + 4 * HOUR,
        triggered_by="catchup",
        missed=Gap(NOON + 3 * HOUR, 4),
        next_run_at=NOON + 5 * HOUR,
    )
    assert [step.slot for step in found] == [NOON + 4 * HOUR, NOON + 5 * HOUR]


@pytest.mark.parametrize("catchup", ["latest", "all"])
def test_when_all_is_older_than_the_window_all_is_missed(catchup: str) -> None:
    assert steps(NOON, NOON + 2 * HOUR + 50 * MINUTE, catchup, window=10 * MINUTE) == [
        Step(missed=Gap(NOON + 2 * HOUR, 3), next_run_at=NOON + 3 * HOUR)
    ]


def test_one_tick_catches_up_with_so_many_and_the_next_goes_on() -> None:
    now = NOON + 150 * MINUTE
    first = list(due_steps(MINUTELY, NOON, now, catchup="all", window=DAY))
    rest = list(due_steps(MINUTELY, first[-1].next_run_at, now, catchup="all", window=DAY))

    assert (len(first), len(rest)) == (MOST_CAUGHT_UP, 51)
    slots = [step.slot for step in (*first, *rest)]
    assert slots == [NOON + n * MINUTE for n in range(151)]


@given(
    minutes=st.integers(0, 3000),
    seconds=st.integers(0, 59),
    catchup=st.sampled_from(["latest", "all", "none"]),
    window=st.timedeltas(timedelta(0), timedelta(days=3)),
)
def test_every_due_slot_is_run_or_told_as_missed_once(
    minutes: int, seconds: int, catchup: str, window: timedelta
) -> None:
    cron = Cron.parse("*/15 * * * *")
    now = NOON + timedelta(minutes=minutes, seconds=seconds)
    next_run_at, run, missed = NOON, 0, 0
    while next_run_at <= now:
        for step in due_steps(cron, next_run_at, now, catchup=catchup, window=window):
            assert step.next_run_at > next_run_at
            next_run_at = step.next_run_at
            run += step.slot is not None
            missed += step.missed.count if step.missed else 0

    assert run + missed == minutes // 15 + 1
    assert next_run_at == cron.after(now)
