"""A client of the API: the function in this process, or over HTTP wherever it is."""

import base64
import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen
from uuid import uuid4

from tests.support.serving import Handler, event


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


Send = Callable[[str, str, dict[str, str], bytes | None], tuple[int, Mapping[str, str], bytes]]


@dataclass(frozen=True)
class Caller:
    """Sends requests with a token, unless told otherwise."""

    send: Send
    token: str
    read_token: str

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = "",
        raw: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"Bearer {token or self.token}"
        content = raw if raw is not None else None if body is None else json.dumps(body).encode()
        if content is not None:
            sent.setdefault("Content-Type", "application/json")
        target = path + (f"?{urlencode(query)}" if query else "")
        status, got, answered = self.send(method, target, sent, content)
        if got.get("Content-Encoding") == "gzip":
            answered = gzip.decompress(answered)
        return Answer(status, got, answered.decode())

    def ok(self, method: str, path: str, body: Any = None, *, status: int = 200, **query: Any) -> Any:
        """The JSON of an answer with this status."""
        answer = self(method, path, body, **query)
        assert answer.status == status, answer
        return answer.json if answer.text else None

    def refused(self, method: str, path: str, body: Any = None, *, status: int, **options: Any) -> Any:
        """The problem that a refusal told."""
        answer = self(method, path, body, **options)
        assert answer.status == status, answer
        problem = answer.json
        assert set(problem) <= {"error", "message", "details"}, problem
        assert problem["error"] and problem["message"]
        return problem


def in_process(handler: Handler) -> Send:
    """Hands events to the function, as a function URL does."""

    def send(
        method: str, path: str, headers: dict[str, str], body: bytes | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        answer = handler(
            event(method, path, headers=headers, body=body), SimpleNamespace(aws_request_id=str(uuid4()))
        )
        content = answer["body"]
        raw = base64.b64decode(content) if answer["isBase64Encoded"] else content.encode()
        return answer["statusCode"], answer["headers"], raw

    return send


def over_http(url: str) -> Send:
    """Sends to a URL."""

    def send(
        method: str, path: str, headers: dict[str, str], body: bytes | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        request = Request(url.rstrip("/") + path, data=body, headers=headers, method=method)
        try:
            with urlopen(request, timeout=90) as answer:
                return answer.status, dict(answer.headers.items()), answer.read()
        except HTTPError as error:
            with error:
                return error.code, dict(error.headers.items()), error.read()

    return send
