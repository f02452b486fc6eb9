"""One request to the HTTP API and its answer, or the exception that its refusal stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.message import Message
from http.client import HTTPException
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

import click

from dynajobs import errors, keys
from dynajobs.cli.failure import Unauthorised
from dynajobs.errors import DynajobsError, InvalidJob, InvalidTransition, Unavailable
from dynajobs.job import Job, Status
from dynajobs.jsons import dump_json, exact, load_json

PATIENCE = 60.0
"""Seconds for an answer: a call may change a hundred jobs."""

_AT_HOME = frozenset({"localhost", "127.0.0.1", "::1"})
_INVALID = frozenset({"BadJson", "Invalid", "TooLarge"})


class Wire:
    """The way to one API: what is sent is checked, what comes back is a view or an exception."""

    def __init__(self, url: str, token: str, actor: str) -> None:
        self._url = checked_url(url)
        self._token = token
        self._actor = "".join(each if "\x20" <= each <= "~" else "?" for each in actor)
        self._opener = _opener(self._url)
        self.now = datetime.now(UTC)
        """The queue's time when it last answered."""

    def get(self, path: str, **query: Any) -> Any:
        """What is there; parameters that are None are left out."""
        given = {name: value for name, value in query.items() if value is not None}
        return self._send("GET", f"{path}?{urlencode(given)}" if given else path)

    def post(self, path: str, body: Mapping[str, Any] | None = None, *, patience: float = PATIENCE) -> Any:
        """Something is made or done."""
        return self._send("POST", path, body or {}, patience)

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        """Something is changed."""
        return self._send("PUT", path, body)

    def delete(self, path: str) -> Any:
        """Something goes."""
        return self._send("DELETE", path)

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, patience: float = PATIENCE
    ) -> Any:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Accept": "application/json",
            "User-Agent": "dynajobs",
            "X-Dynajobs-Actor": self._actor,
        }
        text = None
        if body is not None:
            text = dump_json({name: exact(value, name) for name, value in body.items()}).encode()
            headers["Content-Type"] = "application/json"
        request = Request(self._url + path, data=text, headers=headers, method=method)  # noqa: S310 - checked_url
        try:
            with self._opener.open(request, timeout=patience) as answer:
                return self._understood(answer.status, answer.headers, _read(answer))
        except HTTPError as refused:
            with refused:
                return self._understood(refused.code, refused.headers, _read(refused))
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise Unavailable(f"{self._url} cannot be reached: {reason}") from None

    def _understood(self, status: int, headers: Message, text: str) -> Any:
        try:
            body = load_json(text) if text else None
            if told := headers.get("X-Dynajobs-Time"):
                self.now = keys.parse_time(told)
        except ValueError:
            body = text
        if 200 <= status < 300 and not isinstance(body, str):
            return body
        raise self._refusal(status, headers, body)

    def _refusal(self, status: int, headers: Message, body: Any) -> DynajobsError:
        told = body if isinstance(body, dict) else {}
        message = str(told.get("message") or told.get("Message") or "")
        if status in (401, 403):
            return Unauthorised(f"{self._url} refused the token: {message or status}")
        if "error" not in told:
            to = f" and sends on to {headers['Location']}" if headers.get("Location") else ""
            return Unavailable(f"{self._url} answers {status}{to}: is it the URL of a dynajobs API?")
        return _error(str(told["error"]), message, told.get("details")) or Unavailable(
            f"{self._url} answers {status}: {message}"
        )


def checked_url(url: str) -> str:
    """A URL that a token may be sent to."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise click.UsageError(f"--url is {url!r}: {error}") from None
    if parts.username is not None or parts.query or parts.fragment:
        raise click.UsageError("--url has more than scheme, host and path: leave the rest out")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise click.UsageError(f"--url is {url!r}: it must look like https://abc.lambda-url.eu-west-1.on.aws")
    if parts.scheme == "http" and parts.hostname not in _AT_HOME:
        raise click.UsageError(
            f"--url is {url!r}: a token is sent over plain http to this machine only; write https"
        )
    return url.rstrip("/")


class _NoRedirects(HTTPRedirectHandler):
    """A redirect would take the token along, to wherever it points."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(url: str) -> OpenerDirector:
    # A proxy of the environment would read what is sent to this machine over plain http.
    direct = [ProxyHandler({})] if url.startswith("http:") else []
    return build_opener(_NoRedirects, *direct)


def _read(answer: IO[bytes]) -> str:
    return answer.read().decode(errors="replace")


def _error(name: str, message: str, details: Any) -> DynajobsError | None:
    """The library's exception of this name; None where only the status says what went wrong."""
    told = details if isinstance(details, dict) else {}
    if name in _INVALID:
        return InvalidJob(message)
    if name == "InvalidSchedule":
        return errors.InvalidSchedule(message, field=str(told.get("field", "")))
    if name == "InvalidTransition":
        return InvalidTransition(message, job=_job(told))
    kind: Callable[[str], DynajobsError] | None = getattr(errors, name, None)
    plain = isinstance(kind, type) and issubclass(kind, DynajobsError) and kind is not errors.EnqueueFailed
    return kind(message) if plain and kind else None


def _job(told: Mapping[str, Any]) -> Job:
    """As much of a job as a refusal tells."""
    long_ago = datetime.min.replace(tzinfo=UTC)
    return Job(
        id=str(told.get("id", "")),
        job_type="unknown",
        status=Status(told["status"]) if told.get("status") in set(Status) else Status.PENDING,
        scheduled_for=long_ago,
        created_at=long_ago,
    )
