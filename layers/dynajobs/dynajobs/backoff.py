"""How long a failed job waits: attempts in, delay out; randomness is passed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

_MAX_EXPONENT = 32


@dataclass(frozen=True, slots=True)
class Backoff:
    """`min(cap, base * 2**(attempts-1)) * (1 + U(0, jitter))`; base and cap in seconds or timedelta.

    >>> Backoff(60, 3600, 0).delay(3, random=0.5)
    datetime.timedelta(seconds=240)
    """

    base: float | timedelta = 60
    cap: float | timedelta = 3600
    jitter: float = 0.1

    def delay(self, attempts: int, *, random: float) -> timedelta:
        """The wait after the attempts-th failure; `random` is uniform in [0, 1)."""
        exponent = min(max(attempts - 1, 0), _MAX_EXPONENT)
        seconds = min(_seconds(self.cap), _seconds(self.base) * 2**exponent)
        return timedelta(seconds=seconds * (1 + self.jitter * random))


BackoffPolicy = Backoff | Callable[[int], timedelta]


def _seconds(value: float | timedelta) -> float:
    return value.total_seconds() if isinstance(value, timedelta) else value
