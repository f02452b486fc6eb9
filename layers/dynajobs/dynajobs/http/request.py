"""A request as a function URL hands it over, and an answer as it takes it back."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from dynajobs.http.problems import Refusal
from dynajobs.jsons import load_json

MAX_BODY = 256 * 1024
WORTH_GZIP = 1400
"""Bytes that fit into one packet anyway."""

SECURE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Request:
    """One HTTP request."""

    def __init__(self, event: Mapping[str, Any]) -> None:
        self.event = event
        about = (event.get("requestContext") or {}).get("http") or {}
        self.method = str(about.get("method", "GET")).upper()
        self.path = unquote(str(event.get("rawPath") or about.get("path") or "/"))
        self.source = str(about.get("sourceIp", ""))
        self._headers = {
            str(name).lower(): str(value) for name, value in (event.get("headers") or {}).items()
        }

    def header(self, name: str) -> str:
        """A header's value, or nothing."""
        return self._headers.get(name, "")

    @cached_property
    def body(self) -> str:
        """Its text; a refusal if there is too much of it, or if it is no text."""
        given = self.event.get("body") or ""
        if not self.event.get("isBase64Encoded"):
            raw = given.encode(errors="surrogatepass")
        else:
            try:
                raw = base64.b64decode(given, validate=True)
            except (binascii.Error, ValueError):
                raise Refusal(400, "BadJson", "the body is not what its encoding says") from None
        if len(raw) > MAX_BODY:
            raise Refusal(413, "TooLarge", f"the body has {len(raw):,} bytes: it may have {MAX_BODY:,}")
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise Refusal(400, "BadJson", "the body is not UTF-8 text") from None

    @cached_property
    def json(self) -> Any:
        """Its body as JSON."""
        try:
            return load_json(self.body)
        except json.JSONDecodeError as error:
            raise Refusal(
                400, "BadJson", f"the body is not JSON: {error.msg} at character {error.pos + 1}"
            ) from None
        except ValueError as error:
            raise Refusal(400, "BadJson", f"the body is not JSON: {error}") from None


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: text, or bytes."""

    status: int
    body: str | bytes = ""
    content_type: str = "application/json"
    headers: Mapping[str, str] | None = None

    def told(self, headers: Mapping[str, str], *, gzipped: bool = False) -> dict[str, Any]:
        """As a function URL takes it; `gzipped` if the browser can read that."""
        raw = self.body.encode() if isinstance(self.body, str) else self.body
        sent = {"Content-Type": self.content_type, "Cache-Control": "no-store", **SECURE}
        sent |= {**headers, **(self.headers or {})}
        if not raw:
            del sent["Content-Type"]
        if gzipped and len(raw) >= WORTH_GZIP:
            raw = gzip.compress(raw, 6, mtime=0)
            sent |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
            return _answer(self.status, sent, base64.b64encode(raw).decode(), encoded=True)
        return _answer(self.status, sent, raw.decode(), encoded=False)


def _answer(status: int, headers: dict[str, str], body: str, *, encoded: bool) -> dict[str, Any]:
    return {"statusCode": status, "headers": headers, "body": body, "isBase64Encoded": encoded}
