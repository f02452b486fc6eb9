"""What the terminal shows: one line per step, with the seconds since the start."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

# A terminal sees the seconds run; a log gets a line now and then.
TERMINAL_SECONDS = 0.5
LOG_SECONDS = 10.0


class Console:
    """Prints to stdout; `start` is when the clock began."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self._live = sys.stdout.isatty()

    def say(self, text: str) -> None:
        """One line with the elapsed time."""
        self._print(f"{self._elapsed()}  {text}\n")

    def plain(self, text: str = "") -> None:
        """Lines as they are."""
        self._print(f"{text}\n")

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Something that takes a while: said when it begins, kept alive, said again when it is done."""
        began = time.monotonic()
        done = Event()
        ticker = Thread(target=self._tick, args=(text, began, done), daemon=True)
        if not self._live:
            self.say(f"{text} ...")
        ticker.start()
        succeeded = False
        try:
            yield
            succeeded = True
        finally:
            done.set()
            ticker.join()
            self._print("\r\033[K" if self._live else "")
            if succeeded:
                self.say(f"{text}: done in {time.monotonic() - began:.1f} s")

    def _tick(self, text: str, began: float, done: Event) -> None:
        while not done.wait(TERMINAL_SECONDS if self._live else LOG_SECONDS):
            if self._live:
                self._print(f"\r\033[K{self._elapsed()}  {text} ...")
            else:
                self.say(f"{text} ... {time.monotonic() - began:.0f} s so far")

    def _elapsed(self) -> str:
        return f"{time.monotonic() - self.start:6.1f} s"

    def _print(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
