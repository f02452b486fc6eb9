"""What goes wrong here is said in a sentence that tells what to do."""

from pathlib import Path

LINES_SHOWN = 20


class Trouble(Exception):
    """Something outside this program stands in the way; the message is all the user needs."""


def end_of(log: Path, lines: int = LINES_SHOWN) -> str:
    """The last lines of a log, indented, and where the rest is."""
    text = log.read_text(errors="replace") if log.exists() else ""
    shown = [line for line in text.splitlines() if line.strip()][-lines:]
    return "\n".join([*(f"    {line}" for line in shown), f"  The whole log: {log}"])
