"""The API's Lambda behind a real HTTP server, as a function URL is one."""

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

Handler = Callable[[Any, Any], dict[str, Any]]


def event(
    method: str, path: str, *, headers: dict[str, str] | None = None, body: bytes | str | None = None
) -> dict[str, Any]:
    """What a function URL makes of a request (payload format 2.0)."""
    target = urlsplit(path)
    query: dict[str, str] = {}
    for name, value in parse_qsl(target.query, keep_blank_values=True, errors="surrogateescape"):
        query[name] = f"{query[name]},{value}" if name in query else value
    made: dict[str, Any] = {
        "version": "2.0",
        "rawPath": target.path,
        "rawQueryString": target.query,
        "headers": {name.lower(): value for name, value in (headers or {}).items()},
        "requestContext": {"http": {"method": method, "path": target.path, "sourceIp": "127.0.0.1"}},
        "isBase64Encoded": isinstance(body, bytes),
    }
    if query:
        made["queryStringParameters"] = query
    if body is not None:
        made["body"] = base64.b64encode(body).decode() if isinstance(body, bytes) else body
    return made


@contextmanager
def serving(handler: Handler, port: int = 0) -> Iterator[str]:
    """The URL at which it answers; one request at a time, as one Lambda does."""
    lock = Lock()

    class OneRequest(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) if length else None
            asked = event(self.command, self.path, headers=dict(self.headers), body=body)
            with lock:
                answer = handler(asked, SimpleNamespace(aws_request_id=str(uuid4())))
            content = answer.get("body") or ""
            raw = base64.b64decode(content) if answer.get("isBase64Encoded") else content.encode()
            self.send_response(answer["statusCode"])
            for name, value in answer["headers"].items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            if self.command != "HEAD":
                with suppress(ConnectionError):  # whoever asked has left
                    self.wfile.write(raw)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("do_"):  # any method: what is not done is for the function to say
                return self.answer
            raise AttributeError(name)

        def log_message(self, *_: Any) -> None:
            """Nothing: the function logs."""

    server = ThreadingHTTPServer(("127.0.0.1", port), OneRequest)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
