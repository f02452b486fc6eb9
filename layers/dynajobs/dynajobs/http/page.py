"""The operators' page: files that are open to everybody; they hold no data."""

from __future__ import annotations

import hashlib
from pathlib import Path

from dynajobs.http.request import Reply, Request

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_SAFE = {"Content-Security-Policy": POLICY}
_VERSION = "{version}"
"""Stands in the files for what changes with any of them, so that browsers may keep them for ever."""


class Page:
    """The files of a folder: `index.html` at the root, the others under `assets/<version>/`."""

    def __init__(self, folder: Path) -> None:
        contents: dict[str, bytes] = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix in TYPES
        }
        digest = hashlib.sha256()
        for name, content in contents.items():
            digest.update(name.encode() + b"\0" + content)
        self.version = digest.hexdigest()[:12]
        index = contents.pop("index.html").replace(_VERSION.encode(), self.version.encode())
        self._etag = f'"{self.version}"'
        self._index = Reply(
            200, index, TYPES[".html"], {"Cache-Control": "no-cache", "ETag": self._etag, **_SAFE}
        )
        self._files = {
            f"/assets/{self.version}/{name}": Reply(
                200,
                content,
                TYPES[Path(name).suffix],
                {"Cache-Control": "public, max-age=31536000, immutable", **_SAFE},
            )
            for name, content in contents.items()
        }

    def file(self, request: Request) -> Reply | None:
        """The file at a path, if there is one."""
        if request.path == "/":
            if request.header("if-none-match") == self._etag:
                return Reply(304, "", TYPES[".html"], self._index.headers)
            return self._index
        return self._files.get(request.path)
