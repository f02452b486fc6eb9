"""Where the emulator unpacks its functions, thousands of files each: in memory, if there is plenty."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import IO

from tools.local.layout import Layout

MEMORY = Path("/dev/shm")
MEMINFO = Path("/proc/meminfo")
ROOM = 4 * 1024**3
LOCK = ".lock"

_held: dict[Path, IO[str]] = {}


def make(layout: Layout) -> Path:
    """An empty folder for temporary files, and nobody else's."""
    remove(layout)
    if _roomy(MEMORY):
        _sweep()
        place = in_memory(layout)
        try:
            place.mkdir(mode=0o700)
            _held[place] = _lock(place)
            return place
        except OSError:
            pass  # somebody else's, whatever it is
    place = layout.scratch / "tmp"
    place.mkdir(parents=True, exist_ok=True)
    return place


def remove(layout: Layout) -> None:
    """Everything that a stack needed only while it ran."""
    _remove(layout.scratch, in_memory(layout))
    if lock := _held.pop(in_memory(layout), None):
        lock.close()


def in_memory(layout: Layout) -> Path:
    folder = hashlib.sha256(str(layout.home).encode()).hexdigest()[:12]
    return MEMORY / f"{_prefix()}{folder}"


def _prefix() -> str:
    return f"dynajobs-{os.getuid()}-"


def _sweep() -> None:
    """Give back what killed stacks left behind: memory is too dear, and nobody holds its lock."""
    for place in MEMORY.glob(f"{_prefix()}*"):
        try:
            with _lock(place):
                _remove(place)
        except OSError:
            continue  # in use


def _lock(place: Path) -> IO[str]:
    file = (place / LOCK).open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


def _remove(*places: Path) -> None:
    # rm is the fastest at it.
    subprocess.run(["rm", "-rf", *places], check=False, capture_output=True)


def _roomy(place: Path) -> bool:
    """Also in a container, where it may be a few megabytes."""
    try:
        [line] = [each for each in MEMINFO.read_text().splitlines() if each.startswith("MemAvailable:")]
        return min(shutil.disk_usage(place).free, int(line.split()[1]) * 1024) >= ROOM
    except (OSError, ValueError):
        return False
