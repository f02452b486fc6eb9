"""How many requests a caller may send: a bucket that fills steadily, in each process by itself."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from dynajobs.http.problems import Refusal

PER_SECOND, AT_ONCE = 100.0, 1000.0
_CALLERS = 1000


class Rate:
    """Refuses who sends more than 100 requests a second for long."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """One request more, or a refusal that says when to come back."""
        now = self._monotonic()
        left, since = self._left.pop(caller, (AT_ONCE, now))
        left = min(AT_ONCE, left + (now - since) * PER_SECOND)
        self._left[caller] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > _CALLERS:
            self._left.popitem(last=False)
        if left < 1:
            wait = math.ceil((1 - left) / PER_SECOND)
            raise Refusal(
                429,
                "TooManyRequests",
                f"more than {PER_SECOND:.0f} requests a second: wait {wait} s",
                headers={"Retry-After": str(wait)},
            )
