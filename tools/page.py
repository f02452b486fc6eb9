"""Serves the operators' page on this machine, on a table with made-up jobs: for working on the page.

Run by `make page`. The files are read anew for each request of `/`, so an edit shows after a reload.
"""

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dynajobs.http.function import lambda_handler
from dynajobs.queue import JobQueue
from tests.support import engines
from tests.support.serving import serving
from tests.support.showcase import Showcase
from tests.support.table import create_lasting_table

PAGE = Path(__file__).parents[1] / "functions" / "api" / "page"
TOKENS = {"operate": ("operate",), "read": ("read",)}


def handler_of(queue: JobQueue) -> Any:
    """The API's Lambda function over a queue, reading the page's files again when the page is loaded."""

    def made() -> Any:
        return lambda_handler(
            queue,
            tokens=lambda: TOKENS,
            tick=lambda: {"claimed": 0, "fired": 0},
            page=PAGE,
            sleep=lambda _: None,
        )

    handlers = [made()]

    def handle(event: Any, context: Any) -> dict[str, Any]:
        if event["rawPath"] == "/":
            handlers[0] = made()
        answer: dict[str, Any] = handlers[0](event, context)
        return answer

    return handle


@contextlib.contextmanager
def showing(port: int = 0) -> Iterator[str]:
    """The URL of the page with everything that it can show."""
    # What the made-up jobs say would hide what matters here.
    os.environ.setdefault("POWERTOOLS_LOG_LEVEL", "ERROR")
    running = engines.start(engines.DYNOXIDE)
    client = engines.client(running)
    create_lasting_table(client, "shop-jobs")
    queue = Showcase(client, "shop-jobs", note="shop-42").live_on()
    with serving(handler_of(queue), port) as url:
        yield url
    running.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8787)
    with showing(parser.parse_args().port) as url:
        print(f"{url}\nTokens: 'operate' may change things, 'read' may look. Ctrl-C stops it.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)
    return 0


if __name__ == "__main__":
    sys.exit(main())
