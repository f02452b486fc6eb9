"""Several worker processes under one: started alike, replaced when they die, stopped together."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from dynajobs.cli.failure import REFUSED
from dynajobs.telemetry import logger

LOOK_SECONDS = 0.1
RESTART_SECONDS = 1.0
HOPELESS = (2, 3, 4)
"""Exit codes that a new process would end with as well: bad usage, no such table, no credentials."""


class Crew:
    """Worker processes, one for each share of the jobs. They end when this process does, however it ends."""

    def __init__(self, arguments: list[str], size: int, *, once: bool, tallies: Path) -> None:
        self.size = size
        self.once = once
        self.finished = 0
        self._arguments = arguments
        self._tallies = tallies
        self._members: dict[int, subprocess.Popen[bytes]] = {}
        self._told: set[int] = set()
        self._signal: int | None = None

    def run(self) -> int:
        """Work until all have ended; the worst of their exit codes."""
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, self._stop)
        worst = 0
        for number in range(self.size):
            self._members[number] = self._start(number)
        while self._members:
            time.sleep(LOOK_SECONDS)
            self._pass_signal_on()
            for number, member in list(self._members.items()):
                if (code := member.poll()) is None:
                    continue
                del self._members[number]
                self._count(member)
                if self._signal is None and self._died(code):
                    logger.warning("worker process died", extra={"worker": member.pid, "code": code})
                    time.sleep(RESTART_SECONDS)  # its leases lapse by themselves; not in a busy loop
                    self._members[number] = self._start(number)
                    continue
                if code in HOPELESS:
                    self._signal = self._signal or signal.SIGTERM  # the others would fare no better
                # One that was told to stop before it could listen had begun nothing.
                unheard = -code in (signal.SIGTERM, signal.SIGINT)
                worst = max(worst, code if code >= 0 else 0 if unheard else REFUSED)
        return worst

    def _died(self, code: int) -> bool:
        return code < 0 or (code not in (0, *HOPELESS) and not self.once)

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "from dynajobs.cli import main; main()", "worker", *self._arguments]
        return subprocess.Popen(  # noqa: S603 - this program itself, with what it was given
            [*command, "--share", f"{number}/{self.size}", "--tallies", str(self._tallies)],
            stdin=subprocess.PIPE,
        )

    def _stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the shape of a signal handler
        self._signal = number

    def _pass_signal_on(self) -> None:
        """Also to those that were started meanwhile."""
        for member in self._members.values():
            if self._signal is not None and member.pid not in self._told and member.poll() is None:
                self._told.add(member.pid)
                member.send_signal(self._signal)

    def _count(self, member: subprocess.Popen[bytes]) -> None:
        if member.stdin:
            member.stdin.close()
        tally = self._tallies / str(member.pid)
        if tally.exists():
            self.finished += int(tally.read_text())


def when_parent_ends(stop: Callable[[], None]) -> None:
    """Wait, in a thread of its own, for the end of whoever started this process, then stop."""
    sys.stdin.read()
    stop()
