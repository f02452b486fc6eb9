"""The page on a real API function over a real table, and what a test may do to either."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, expect

from dynajobs.http.function import lambda_handler
from dynajobs.queue import JobQueue
from tools.page import PAGE

OPERATE, READ = "operate-token", "read-token"
Answer = dict[str, Any]
EXPECTED = re.compile(
    r"Failed to load resource: the server responded with a status of (401|403|404|409|422|500|503)"
)
"""What Chromium says of every answer of these, also of one that a test asked for."""


@dataclass
class Stage:
    """One deployment: its queue, its API, the requests that came."""

    queue: JobQueue
    url: str = ""
    tokens: dict[str, tuple[str, ...]] = field(
        default_factory=lambda: {"operate": (OPERATE,), "read": (READ,)}
    )
    asked: list[tuple[str, str]] = field(default_factory=list)
    breaks: Callable[[str, str], bool] = lambda _method, _path: False
    loses: Callable[[str, str], bool] = lambda _method, _path: False
    """Requests that are carried out, but whose answer never arrives."""

    def __post_init__(self) -> None:
        self.handler = self._handler()

    def _handler(self) -> Callable[[Any, Any], Answer]:
        tick = {"claimed": 2, "fired": 1}
        return lambda_handler(
            self.queue, tokens=lambda: self.tokens, tick=lambda: tick, page=PAGE, sleep=lambda _: None
        )

    def handle(self, event: Any, context: Any) -> Answer:
        method, path = event["requestContext"]["http"]["method"], event["rawPath"]
        self.asked.append((method, path))
        if self.breaks(method, path):
            return self._broken()
        answer = self.handler(event, context)
        return self._broken() if self.loses(method, path) else answer

    def _broken(self) -> Answer:
        body = json.dumps({"error": "InternalError", "message": "something went wrong here; request r-500"})
        headers = {"Content-Type": "application/json", "X-Request-Id": "r-500"}
        return {"statusCode": 500, "headers": headers, "body": body}

    def revoke(self) -> None:
        """Every token stops working."""
        self.tokens = {"operate": ("another",), "read": ()}
        self.handler = self._handler()

    def restore(self) -> None:
        """They work again."""
        self.tokens = {"operate": (OPERATE,), "read": (READ,)}
        self.handler = self._handler()

    def data_calls(self) -> list[tuple[str, str]]:
        """What was asked of the API so far, the page's files apart."""
        return [each for each in self.asked if each[1].startswith("/api/")]


class Visitor:
    """Somebody with a browser."""

    def __init__(
        self, browser: Browser, stage: Stage, *, token: str | None = OPERATE, **options: Any
    ) -> None:
        self.stage = stage
        size = options.pop("viewport", {"width": 1280, "height": 860})
        self.context: BrowserContext = browser.new_context(viewport=size, **options)
        self.context.set_default_timeout(15_000)
        if token:
            self.context.add_init_script(f"sessionStorage.setItem('dynajobs-token', {token!r})")
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[Request] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not EXPECTED.match(message.text):
            self.complaints.append(message.text)

    def go(self, route: str = "/") -> Page:
        """Open an address, and wait until there is something to see."""
        self.page.goto(f"{self.stage.url}/#{route}")
        self.settled()
        return self.page

    def settled(self) -> None:
        """The view has its data, or says why not."""
        self.page.locator("main .page, main .empty, main .problem, main .sign-in").first.wait_for()
        expect(self.page.locator("main .skeleton")).to_have_count(0)

    def heading(self) -> Locator:
        return self.page.locator("main h1")

    def rows(self) -> Locator:
        return self.page.locator("main [data-row]")

    def dialog(self) -> Locator:
        return self.page.locator("dialog[open]")

    def toast(self) -> Locator:
        return self.page.locator(".toast").last

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def focused(self) -> str:
        """What has the focus, in words."""
        said: str = self.page.evaluate(
            """() => {
                const element = document.activeElement;
                const name = element.getAttribute('aria-label') ?? element.textContent.trim();
                return `${element.tagName.toLowerCase()} ${name}`;
            }"""
        )
        return said


def transferred(requests: list[Request]) -> int:
    """Bytes of bodies as they came over the wire."""
    return sum(request.sizes()["responseBodySize"] for request in requests)
