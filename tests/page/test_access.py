"""For everybody: by keyboard alone, for screen readers, on a phone, enlarged, in one's own colours."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import Visit
from tests.page.stage import Stage, Visitor


def addresses(stage: Stage) -> dict[str, str]:
    """Each kind of view, once."""
    queue = stage.queue

    def job(**filters: Any) -> str:
        return f"/jobs/{queue.list(limit=1, **filters).jobs[0].id}"

    dead = queue.list(status="dead_letter", limit=1).jobs[0]
    return {
        "overview": "/",
        "jobs": "/jobs",
        "dead letters": "/jobs?state=dead_letter",
        "nothing found": "/jobs?type=nothing",
        "a dead letter": f"/jobs/{dead.id}",
        "a running job": job(status="in_progress", job_type="report.build"),
        "a failed job": job(status="failed"),
        "errors": "/errors",
        "an error": f"/errors/{dead.fingerprint}",
        "schedules": "/schedules",
        "a schedule": "/schedules/crm-sync",
        "an editor": "/schedules/night-digest/edit",
        "templates": "/templates",
        "a template": "/templates/import-note",
        "settings": "/settings",
    }


def opened(visitor: Visitor) -> dict[str, str]:
    """What opens each dialog: an address, and the button to press there."""
    places = addresses(visitor.stage)
    return {
        f"{places['a failed job']} Cancel job": "a question",
        f"{places['a failed job']} Reschedule job": "a form",
        "/errors Retry group…": "a bulk preview",
        "/schedules/crm-sync Backfill…": "a form",
        "/schedules/crm-sync Delete schedule": "a question with a name",
        "/templates New template": "a long form",
        "/ Keyboard shortcuts": "a list",
        "/ Messages": "a list",
    }


def complaints(page: Page) -> list[str]:
    found = page.evaluate(
        """async () => {
            const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
            const told = node => `${node.html.slice(0, 200)} ${node.any[0]?.message ?? ''}`;
            const {violations} = await axe.run(document, {runOnly: rules});
            return violations.map(each => `${each.id}: ${each.nodes.slice(0, 3).map(told).join(' | ')}`);
        }"""
    )
    return [str(each) for each in found]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(visit: Visit, stage: Stage, axe: str, theme: Any) -> None:
    visitor = visit(stage, color_scheme=theme)
    visitor.context.add_init_script(path=axe)
    found: dict[str, list[str]] = {}
    for name, route in addresses(stage).items():
        page = visitor.go(route)
        if name == "an editor":
            expect(
                page.get_by_role("complementary", name="Preview").locator("tbody tr").first
            ).to_be_visible()
        found[name] = complaints(page)
    for place, name in opened(visitor).items():
        route, _, button = place.partition(" ")
        page = visitor.go(route)
        page.get_by_role("button", name=button).first.click()
        expect(visitor.dialog().locator(".skeleton")).to_have_count(0)
        found[f"{name} at {button}"] = complaints(page)
        visitor.press("Escape")

    assert {name: each for name, each in found.items() if each} == {}


def test_axe_finds_nothing_at_the_door(visit: Visit, stage: Stage, axe: str) -> None:
    visitor = visit(stage, token=None)
    visitor.context.add_init_script(path=axe)
    page = visitor.go()

    assert complaints(page) == []


def test_everything_by_keyboard(visitor: Visitor) -> None:
    page = visitor.go()

    visitor.press("g", "j")
    expect(visitor.heading()).to_be_focused()
    expect(visitor.heading()).to_have_text("Jobs")
    expect(visitor.rows().first).to_be_visible()
    visitor.press("/")
    expect(page.get_by_label("Search jobs")).to_be_focused()
    page.keyboard.type("state:dead_letter type:email.send")
    visitor.press("Enter")
    expect(visitor.rows().first).to_contain_text("dead letter")
    visitor.press("Escape", "j", "j", "k")
    expect(visitor.rows().first.locator("[data-open]")).to_be_focused()
    visitor.press("x")
    expect(page.get_by_role("region", name="Selection")).to_contain_text("1 job selected")
    visitor.press("x")
    visitor.press("Enter")
    expect(visitor.heading()).to_have_text("email.send")
    expect(visitor.heading()).to_be_focused()
    visitor.press("r")
    expect(visitor.toast()).to_contain_text("New job")
    visitor.press("g", "s")
    expect(visitor.heading()).to_have_text("Schedules")
    expect(visitor.rows().first).to_be_visible()
    visitor.press("j", "Enter")
    expect(visitor.heading()).to_have_text("cleanup")
    visitor.press("?")
    expect(visitor.dialog()).to_contain_text("Keyboard shortcuts")
    visitor.press("Escape")
    expect(visitor.dialog()).to_have_count(0)
    visitor.press("u")
    expect(page.get_by_role("button", name="UTC", exact=True)).to_be_visible()
    visitor.press("a")
    expect(page.locator(".history time").first).to_contain_text(re.compile(r"\d{4}-\d\d-\d\d"))


def test_a_job_is_cancelled_by_keyboard_and_the_focus_comes_back(visitor: Visitor) -> None:
    page = visitor.go("/jobs?state=pending&type=email.send")
    visitor.press("j", "c")
    expect(visitor.dialog()).to_contain_text("Cancel this job?")
    visitor.press("Escape")
    expect(visitor.dialog()).to_have_count(0)
    expect(visitor.rows().first.locator("[data-open]")).to_be_focused()

    visitor.press("c", "Tab", "Enter")

    expect(visitor.toast()).to_contain_text("is cancelled")
    assert page.evaluate("document.activeElement !== document.body")


def test_keys_do_nothing_in_fields_and_with_modifiers(visitor: Visitor) -> None:
    page = visitor.go("/jobs")
    page.get_by_label("Search jobs").click()
    page.keyboard.type("gs?")
    expect(page.get_by_label("Search jobs")).to_have_value("gs?")
    expect(visitor.dialog()).to_have_count(0)
    expect(visitor.heading()).to_have_text("Jobs")


def test_the_skip_button_leads_past_the_header(visitor: Visitor) -> None:
    visitor.go()
    visitor.press("Tab")
    assert visitor.focused() == "button Skip to content"
    visitor.press("Enter")
    expect(visitor.heading()).to_be_focused()


@pytest.mark.parametrize(
    ("width", "height"),
    [(360, 740), (320, 256), (768, 1024), (1000, 700), (1280, 860)],
    ids=["a small phone", "1280 pixels enlarged fourfold", "a tablet", "half a screen", "a laptop"],
)
def test_nothing_needs_sideways_scrolling(visit: Visit, stage: Stage, width: int, height: int) -> None:
    visitor = visit(stage, viewport={"width": width, "height": height}, has_touch=True)
    wide: dict[str, int] = {}
    for name, route in addresses(stage).items():
        page = visitor.go(route)
        found = page.evaluate("document.documentElement.scrollWidth")
        if found > width:
            wide[name] = found
    assert wide == {}


def test_a_phone_can_do_it_at_three_in_the_morning(visit: Visit, stage: Stage) -> None:
    visitor = visit(stage, viewport={"width": 360, "height": 740}, has_touch=True, color_scheme="dark")
    job = stage.queue.list(status="dead_letter", job_type="email.send", limit=1).jobs[0]
    page = visitor.go("/jobs?state=dead_letter&type=email.send")
    visitor.rows().first.locator("[data-open]").tap()

    retry = page.get_by_role("button", name="Retry job")
    box = retry.bounding_box()
    assert box is not None and box["height"] >= 44
    retry.tap()

    expect(visitor.toast()).to_contain_text("New job")
    assert stage.queue.get(job).retried_by


def test_forced_colours_keep_states_apart(visit: Visit, stage: Stage) -> None:
    visitor = visit(stage, forced_colors="active")
    page = visitor.go("/jobs?state=all")

    badge = page.locator(".badge").first
    assert badge.evaluate("element => getComputedStyle(element).borderTopStyle") == "solid"
    expect(badge).to_have_text(re.compile(r"\w"))
    visitor.go("/schedules")
    slot = page.locator(".slot.completed").first
    assert slot.evaluate("element => getComputedStyle(element).backgroundColor") != "rgba(0, 0, 0, 0)"


def test_nothing_moves_for_whom_that_disturbs(visit: Visit, stage: Stage) -> None:
    visitor = visit(stage, reduced_motion="reduce")
    page = visitor.go("/jobs")

    moving = page.evaluate("document.getAnimations().filter(each => each.playState === 'running').length")
    assert moving == 0


def test_licences_come_with_what_is_shipped() -> None:
    vendor = Path("functions/api/page/vendor")
    assert "MIT" in (vendor / "preact.LICENSE").read_text()
    assert "Apache" in (vendor / "htm.LICENSE").read_text()
    assert json.dumps((vendor / "preact-htm.js").read_text()[:80]).count("preact") == 1
