"""Runs a program to its end: its output goes to a log, and it never outlives us."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.local.trouble import Trouble, end_of

# Loaded before any fork: a child must not import.
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def run(
    command: Sequence[str | Path], *, log: Path, env: Mapping[str, str], cwd: Path, sentence: str
) -> None:
    """Run a command; if it fails, `Trouble` with the sentence and the end of its log."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = start(command, env=env, cwd=cwd, output=output)
        try:
            code = process.wait()
        except BaseException:
            kill_group(process)
            raise
    if code:
        raise Trouble(f"{sentence} (exit code {code}). It ended with:\n{end_of(log)}")


def start(
    command: Sequence[str | Path], *, env: Mapping[str, str], cwd: Path, output: Any
) -> subprocess.Popen[bytes]:
    """Start a program in a process group of its own: a Ctrl-C reaches us, and we decide what ends when."""
    return subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
        preexec_fn=_die_with_parent if sys.platform == "linux" else None,
    )


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a program and everything it started, at once."""
    signal_group(process, signal.SIGKILL)
    process.wait()


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Tell a program and everything it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _die_with_parent() -> None:
    """Ask Linux to end the program when we are killed and cannot."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
