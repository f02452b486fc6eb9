"""Contents that come back from somebody who was shown them with their secrets masked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dynajobs.errors import InvalidJob
from dynajobs.redact import MASK, is_secret


def restored(new: Any, old: Any, extra: Collection[str], path: str) -> Any:
    """The new contents, with the old value wherever a secret one reads as it was shown.

    `InvalidJob` where there is no old one: a mask must never be stored in a secret's place.
    """
    if isinstance(new, Mapping):
        before = old if isinstance(old, Mapping) else {}
        return {
            key: _secret(before, key, f"{path}.{key}")
            if value == MASK and isinstance(key, str) and is_secret(key, extra)
            else restored(value, before.get(key), extra, f"{path}.{key}")
            for key, value in new.items()
        }
    if isinstance(new, list):
        before_list = old if isinstance(old, list) else []
        return [
            restored(
                value, before_list[place] if place < len(before_list) else None, extra, f"{path}[{place}]"
            )
            for place, value in enumerate(new)
        ]
    return new


def _secret(before: Mapping[str, Any], key: str, path: str) -> Any:
    if key not in before:
        raise InvalidJob(f"{path} is {MASK}, which stands for a value that is not shown: give the value")
    return before[key]
