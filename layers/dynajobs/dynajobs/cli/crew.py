"""Several worker processes under one: started alike, replaced when they die, stopped together."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from types import FrameType

from dynajobs.cli.failure import REFUSED
from dynajobs.telemetry import logger

LOOK_SECONDS = 0.1
RESTART_SECONDS = 1.0


class Crew:
    """Worker processes, one for each share of the jobs. They end when this process does, however it ends."""

    def __init__(self, arguments: list[str], size: int, *, as_json: bool) -> None:
        self.size = size
        self.finished = 0
        self._arguments = arguments
        self._as_json = as_json
        self._members: dict[int, subprocess.Popen[str]] = {}
        self._stopping = False

    def run(self) -> int:
        """Work until all have ended; the worst of their exit codes."""
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, self._stop)
        self._members = {number: self._start(number) for number in range(self.size)}
        worst = 0
        while self._members:
            time.sleep(LOOK_SECONDS)
            for number, member in list(self._members.items()):
                if (code := member.poll()) is None:
                    continue
                self._count(member)
                if code < 0 and not self._stopping:
                    logger.warning("worker process died", extra={"worker": member.pid, "signal": -code})
                    time.sleep(RESTART_SECONDS)  # its leases lapse by themselves; not in a busy loop
                    self._members[number] = self._start(number)
                    continue
                # One that was told to stop before it could listen had begun nothing.
                unheard = -code in (signal.SIGTERM, signal.SIGINT)
                worst = max(worst, code if code >= 0 else 0 if unheard else REFUSED)
                del self._members[number]
        return worst

    def _start(self, number: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", "from dynajobs.cli import main; main()", "worker", *self._arguments]
        return subprocess.Popen(  # noqa: S603 - this program itself, with what it was given
            [*command, "--share", f"{number}/{self.size}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if self._as_json else None,
            text=True,
        )

    def _stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the shape of a signal handler
        self._stopping = True
        for member in self._members.values():
            if member.poll() is None:
                member.send_signal(number)

    def _count(self, member: subprocess.Popen[str]) -> None:
        if member.stdout is not None:
            text = member.stdout.read()
            self.finished += json.loads(text)["finished"] if text.strip() else 0


def when_parent_ends(stop: Callable[[], None]) -> None:
    """Wait, in a thread of its own, for the end of whoever started this process, then stop."""
    sys.stdin.read()
    stop()
