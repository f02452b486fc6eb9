"""Where the emulator unpacks its functions, thousands of files each: in memory, if there is plenty."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from tools.local.layout import Layout

MEMORY = Path("/dev/shm")
MEMINFO = Path("/proc/meminfo")
ROOM = 4 * 1024**3


def make(layout: Layout) -> Path:
    """An empty folder for temporary files, and nobody else's."""
    remove(layout)
    if _roomy(MEMORY):
        place = in_memory(layout)
        try:
            place.mkdir(mode=0o700)
            return place
        except OSError:
            pass  # somebody else's, whatever it is
    place = layout.scratch / "tmp"
    place.mkdir(parents=True, exist_ok=True)
    return place


def remove(layout: Layout) -> None:
    """Everything that a stack needed only while it ran, also what a killed one left behind."""
    # rm is the fastest at it.
    subprocess.run(["rm", "-rf", layout.scratch, in_memory(layout)], check=False, capture_output=True)


def in_memory(layout: Layout) -> Path:
    folder = hashlib.sha256(str(layout.home).encode()).hexdigest()[:12]
    return MEMORY / f"dynajobs-{os.getuid()}-{folder}"


def _roomy(place: Path) -> bool:
    """Also in a container, where it may be a few megabytes."""
    try:
        [line] = [each for each in MEMINFO.read_text().splitlines() if each.startswith("MemAvailable:")]
        return min(shutil.disk_usage(place).free, int(line.split()[1]) * 1024) >= ROOM
    except (OSError, ValueError):
        return False
