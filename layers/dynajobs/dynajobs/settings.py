"""Settings: environment variables as typed, checked values; the only reader of the environment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any

from dynajobs.errors import InvalidSettings

PREFIX = "DYNAJOBS_"
SKEW = timedelta(seconds=2)
"""How far clocks may differ before a lease that looks lapsed is taken away."""

_RANGES: dict[str, tuple[float, float]] = {
    "poll_interval_seconds": (1, 300),
    "poll_limit": (1, 1000),
    "lease_seconds": (30, 3600),
    "max_attempts": (1, 100),
    "base_delay_seconds": (0, 86400),
    "max_delay_seconds": (1, 604800),
    "jitter": (0, 1),
    "retention_days": (0, 3650),
    "max_in_flight": (1, 10000),
    "shards": (1, 64),
    "worker_concurrency": (1, 64),
    "shutdown_timeout_seconds": (0, 900),
    "audit_days": (1, 3650),
}
_MAPPINGS = {
    "handlers": "job types to function names or ARNs",
    "api_secrets": "roles to names or ARNs of secrets",
}
API_AUTHS = ("token", "AWS_IAM")
_WHOLE = frozenset(_RANGES) - {"jitter"}
_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Each field is the environment variable `DYNAJOBS_<NAME>`, except `SENTRY_DSN` which has no prefix.

    >>> Settings(max_attempts=3).max_attempts
    3
    >>> Settings.from_env({"DYNAJOBS_POLL_LIMIT": "0"})
    Traceback (most recent call last):
    dynajobs.errors.InvalidSettings: DYNAJOBS_POLL_LIMIT is 0: it must be a whole number from 1 to 1000
    """

    table: str = ""
    poll_interval_seconds: int = 30
    poll_limit: int = 25
    lease_seconds: int = 60
    max_attempts: int = 5
    base_delay_seconds: int = 60
    max_delay_seconds: int = 3600
    jitter: float = 0.1
    retention_days: int = 30
    max_in_flight: int = 100
    shards: int = 1
    worker_concurrency: int = 4
    shutdown_timeout_seconds: int = 30
    audit_days: int = 365
    environment: str = ""
    api_auth: str = "token"
    api_secrets: Mapping[str, str] = field(default_factory=dict)
    poller: str = ""
    enabled: bool = True
    scheduler_enabled: bool = True
    index: str = "GSI1"
    ttl_attribute: str = "expires_at"
    handlers: Mapping[str, str] = field(default_factory=dict)
    sentry_dsn: str = ""
    sentry_payloads: bool = True
    log_payloads: bool = False
    redact: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            whole = name in _WHOLE
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
                raise _out_of_range(name, value)
            if not low <= value <= high:
                raise _out_of_range(name, value)
        for name in ("index", "ttl_attribute"):
            if not getattr(self, name):
                raise InvalidSettings(f"{_variable(name)} is empty: it must be the name of the table's own")
        if self.api_auth not in API_AUTHS:
            raise InvalidSettings(
                f"{_variable('api_auth')} is {self.api_auth!r}: it must be one of {', '.join(API_AUTHS)}"
            )
        for name, what in _MAPPINGS.items():
            value = getattr(self, name)
            if not all(isinstance(part, str) and part for pair in value.items() for part in pair):
                raise InvalidSettings(f"{_variable(name)} is {dict(value)!r}: it must map {what}")

    @property
    def lease(self) -> timedelta:
        """How long a claim holds without renewal."""
        return timedelta(seconds=self.lease_seconds)

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """The settings of this process; a bad value is refused with the variable's name and range."""
        environ = os.environ if environ is None else environ
        found: dict[str, Any] = {}
        for each in fields(cls):
            text = environ.get(_variable(each.name))
            if text is not None and text.strip() != "":
                found[each.name] = _parse(each.name, text.strip())
        return cls(**found)


def _variable(name: str) -> str:
    return "SENTRY_DSN" if name == "sentry_dsn" else PREFIX + name.upper()


def _parse(name: str, text: str) -> Any:
    if name in _RANGES:
        try:
            return int(text) if name in _WHOLE else float(text)
        except ValueError:
            raise _out_of_range(name, text) from None
    if name in {"enabled", "scheduler_enabled", "sentry_payloads", "log_payloads"}:
        if text.lower() not in _TRUE | _FALSE:
            raise InvalidSettings(f"{_variable(name)} is {text!r}: it must be true or false")
        return text.lower() in _TRUE
    if name == "redact":
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if name in _MAPPINGS:
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise InvalidSettings(
                f"{_variable(name)} is {text!r}: it must be a JSON object that maps {_MAPPINGS[name]}"
            )
        return value
    return text


def _out_of_range(name: str, value: object) -> InvalidSettings:
    low, high = _RANGES[name]
    kind = "a whole number" if name in _WHOLE else "a number"
    return InvalidSettings(f"{_variable(name)} is {value}: it must be {kind} from {low} to {high}")
