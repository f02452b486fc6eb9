"""Arguments of a change as an audit record tells them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from dynajobs import keys

_CONTENTS = frozenset({"payload", "param_overrides", "dedup_key"})


def told(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, as JSON; of what may hold secrets only that there was something."""
    return {name: _told(name, value) for name, value in arguments.items() if value is not None}


def _told(name: str, value: Any) -> Any:
    if name in _CONTENTS:
        return "given"
    if isinstance(value, datetime):
        return keys.timestamp(value) if value.tzinfo else value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value if isinstance(value, bool | int | float | str) else str(value)
