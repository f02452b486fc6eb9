"""One stack per folder: held while it runs, and let go by the system however it ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.local.trouble import Trouble


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock; `Trouble` names the process that has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            owner = file.read().strip()
            raise Trouble(
                f"A stack is already running in this folder (process {owner}): use it, or stop it first with "
                f"Ctrl-C in its terminal or `kill {owner}`."
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
