"""A failed job waits longer each time, up to the cap, and jitter only ever adds."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynajobs.backoff import Backoff

seconds = st.floats(0, 604800)
jitters = st.floats(0, 1)
randoms = st.floats(0, 1, exclude_max=True)
attempts = st.integers(-(10**6), 10**6) | st.just(10**30)


@pytest.mark.parametrize(
    ("attempt", "wait"),
    [(1, 60), (2, 120), (3, 240), (6, 1920), (7, 3600), (8, 3600), (100, 3600), (10**9, 3600)],
)
def test_the_default_doubles_up_to_an_hour(attempt: int, wait: int) -> None:
    assert Backoff().delay(attempt, random=0) == timedelta(seconds=wait)


def test_base_and_cap_may_be_durations() -> None:
    policy = Backoff(timedelta(minutes=1), timedelta(hours=1), 0.5)
    assert (
        policy.delay(2, random=0.5) == Backoff(60, 3600, 0.5).delay(2, random=0.5) == timedelta(seconds=150)
    )


@pytest.mark.parametrize("attempt", [0, -1])
def test_no_attempt_yet_waits_like_the_first(attempt: int) -> None:
    assert Backoff().delay(attempt, random=0) == Backoff().delay(1, random=0)


def test_a_base_above_the_cap_waits_for_the_cap() -> None:
    assert Backoff(100, 10, 0).delay(1, random=0) == timedelta(seconds=10)


def test_a_tiny_base_stops_growing_at_the_largest_exponent() -> None:
    assert Backoff(1e-6, 1e9, 0).delay(34, random=0) == Backoff(1e-6, 1e9, 0).delay(10**9, random=0)


@given(seconds, seconds, jitters, randoms, attempts)
def test_the_wait_stays_between_nothing_and_the_cap_with_all_jitter(
    base: float, cap: float, jitter: float, random: float, attempt: int
) -> None:
    wait = Backoff(base, cap, jitter).delay(attempt, random=random)
    assert timedelta() <= wait <= timedelta(seconds=cap * (1 + jitter)) + timedelta(microseconds=1)
    assert wait >= Backoff(base, cap, 0).delay(attempt, random=random)


@given(seconds, seconds, jitters, randoms, attempts)
def test_another_failure_never_shortens_the_wait(
    base: float, cap: float, jitter: float, random: float, attempt: int
) -> None:
    policy = Backoff(base, cap, jitter)
    assert policy.delay(attempt, random=random) <= policy.delay(attempt + 1, random=random)
