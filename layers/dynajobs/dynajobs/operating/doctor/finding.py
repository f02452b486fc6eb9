"""What a check found, and what went wrong with one that could not look."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dynajobs.errors import DynajobsError

OVERDUE = timedelta(minutes=5)
"""What has waited for longer does not just wait for its turn."""

_DENIED = frozenset({"AccessDenied", "AccessDeniedException"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at. `ok` is None where there is something to know, or nothing was seen."""

    check: str
    ok: bool | None
    evidence: str
    advice: str = ""

    def view(self) -> dict[str, Any]:
        """As JSON."""
        return {"check": self.check, "ok": self.ok, "evidence": self.evidence, "advice": self.advice or None}


def fine(check: str, evidence: str) -> Finding:
    """As it should be."""
    return Finding(check=check, ok=True, evidence=evidence)


def odd(check: str, evidence: str, advice: str = "") -> Finding:
    """Not wrong, but to be known; or not to be seen."""
    return Finding(check=check, ok=None, evidence=evidence, advice=advice)


def wrong(check: str, evidence: str, advice: str) -> Finding:
    """What keeps jobs from running, or will."""
    return Finding(check=check, ok=False, evidence=evidence, advice=advice)


def denied(error: DynajobsError) -> bool:
    """AWS knows who asks, and does not let them."""
    return aws_code(error) in _DENIED


def aws_code(error: DynajobsError) -> str:
    """What AWS calls the error that was the cause."""
    code: str = getattr(error.__cause__, "response", {}).get("Error", {}).get("Code", "")
    return code


def some(names: list[str], most: int = 3) -> str:
    """The first few of them, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")
