"""Takes the pictures of the operators' page that the documentation shows: docs/images/*.png.

Run by `make screenshots`. It shows the page with made-up jobs, in a browser, by day and by night, wide and
narrow; the pictures have few colours, so that the repository stays small.
"""

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.support import browser as browsers
from tools.page import showing

IMAGES = Path(__file__).parents[1] / "docs" / "images"
COLOURS = 200
DESKTOP, PHONE = {"width": 1280, "height": 860}, {"width": 360, "height": 740}
VIEWS = {
    "overview": "/",
    "jobs": "/jobs",
    "job": "/jobs?state=dead_letter&type=email.send",
    "errors": "/errors",
    "schedules": "/schedules",
    "schedule": "/schedules/crm-sync",
    "schedule-edit": "/schedules/night-digest/edit",
    "templates": "/templates",
    "settings": "/settings",
}
"""`job` is the first of a list: a dead letter."""


def main() -> int:
    program = browsers.program()
    if program is None:
        print(browsers.why_missing(), file=sys.stderr)
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    with showing() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=browsers.ARGUMENTS)
        for theme in ("light", "dark"):
            take_all(browser, url, theme, phone=False)
            take_all(browser, url, theme, phone=True)
        browser.close()
    taken = sorted(IMAGES.glob("*.png"))
    print(f"{len(taken)} pictures, {sum(path.stat().st_size for path in taken):,} bytes")
    return 0


def take_all(browser: Browser, url: str, theme: str, *, phone: bool) -> None:
    context = browser.new_context(
        viewport={"width": PHONE["width"], "height": PHONE["height"]}
        if phone
        else {"width": DESKTOP["width"], "height": DESKTOP["height"]},
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
        timezone_id="Europe/Berlin",
    )
    context.add_init_script("sessionStorage.setItem('dynajobs-token', 'operate')")
    page = context.new_page()
    for name, route in VIEWS.items():
        show(page, url, name, route)
        taken = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        picture = taken.quantize(COLOURS, dither=Image.Dither.NONE)
        picture.save(IMAGES / f"{name}-{theme}{'-phone' * phone}.png", optimize=True)
    context.close()


def show(page: Page, url: str, name: str, route: str) -> None:
    """Open a view and wait until it is drawn."""
    page.goto(f"{url}/#{route}")
    page.mouse.move(0, 0)
    page.locator("main .page").first.wait_for()
    if name == "job":
        page.locator("[data-open]").first.click()
        page.locator(".job-page").wait_for()
        page.locator("main h1").evaluate("heading => heading.blur()")
    if name == "schedule-edit":
        expect(page.locator(".preview tbody tr").first).to_be_visible()
    expect(page.locator("main .skeleton")).to_have_count(0)


if __name__ == "__main__":
    sys.exit(main())
