"""Who may come in, what they may do, and what they keep when they may not any more."""

import re

from playwright.sync_api import expect

from tests.page.conftest import Visit
from tests.page.stage import OPERATE, READ, Stage, Visitor


def sign_in(visitor: Visitor, token: str, *, keep: bool = False) -> None:
    visitor.page.get_by_label("Token").fill(token)
    if keep:
        visitor.page.get_by_label("Keep on this device").check()
    visitor.page.get_by_role("button", name="Sign in").click()


def test_a_token_opens_the_page(visit: Visit, stage: Stage) -> None:
    visitor = visit(stage, token=None)
    page = visitor.go("/jobs?state=failed")
    expect(page.get_by_label("Token")).to_be_focused()
    assert stage.data_calls() == []

    sign_in(visitor, "wrong")
    expect(page.get_by_role("alert").filter(has_text="not valid")).to_be_visible()
    sign_in(visitor, OPERATE)

    expect(visitor.rows().first).to_contain_text("failed")
    expect(page).to_have_url(re.compile("#/jobs[?]state=failed$"))
    assert page.evaluate("localStorage.getItem('dynajobs-token')") is None
    assert OPERATE not in page.url


def test_a_token_is_kept_only_where_that_was_asked_for(visit: Visit, stage: Stage) -> None:
    visitor = visit(stage, token=None)
    visitor.go()
    sign_in(visitor, OPERATE, keep=True)
    expect(visitor.page.locator(".health")).to_be_visible()

    other = visitor.context.new_page()
    other.goto(stage.url)
    expect(other.locator(".health")).to_be_visible()
    other.goto(f"{stage.url}/#/settings")
    other.get_by_role("button", name="Sign out").click()
    expect(other.get_by_label("Token")).to_be_visible()
    assert other.evaluate("localStorage.getItem('dynajobs-token')") is None


def test_a_token_that_ends_in_mid_form_takes_nothing_away(visitor: Visitor) -> None:
    stage = visitor.stage
    page = visitor.go("/schedules/new")
    page.get_by_label("Name").fill("kept")
    page.get_by_label("Job type").fill("email.send")
    stage.revoke()

    page.get_by_role("button", name="Create schedule").click()
    expect(visitor.dialog()).to_contain_text("What you typed is kept")
    stage.restore()
    visitor.dialog().get_by_label("Token").fill(OPERATE)
    visitor.dialog().get_by_role("button", name="Sign in").click()

    expect(visitor.dialog()).to_have_count(0)
    expect(page.get_by_label("Name")).to_have_value("kept")
    page.get_by_role("button", name="Create schedule").click()
    expect(visitor.heading()).to_have_text("kept")


def test_who_may_only_read_sees_what_there_would_be(visit: Visit, stage: Stage) -> None:
    visitor = visit(stage, token=READ)
    job = stage.queue.list(status="dead_letter", limit=1).jobs[0]
    page = visitor.go(f"/jobs/{job.id}")

    retry = page.get_by_role("button", name="Retry job")
    expect(retry).to_be_disabled()
    expect(retry).to_have_attribute("title", re.compile("may read"))
    retry.click(force=True)
    visitor.press("r", "c")
    for route, name in (
        ("/schedules", "Run now: crm-sync"),
        ("/errors", "Retry group…"),
        ("/templates", "New template"),
        ("/settings", "Poll now"),
    ):
        visitor.go(route)
        expect(page.get_by_role("button", name=name).first).to_be_disabled()
    visitor.go("/schedules/new")
    expect(page.get_by_role("complementary", name="Preview")).to_contain_text("every day at 07:00")
    assert [
        each for each in stage.data_calls() if each[0] != "GET" and not each[1].endswith("/preview")
    ] == []


def test_the_queue_is_reserved_and_released(visitor: Visitor) -> None:
    page = visitor.go("/settings")

    page.get_by_label("Your name").fill("Lena")
    page.get_by_label("Who").fill("Lena, moving tables")
    page.get_by_role("button", name="Reserve queue…").click()
    visitor.dialog().get_by_role("button", name="Reserve queue").click()
    expect(page.get_by_text("has the queue since")).to_be_visible()
    visitor.go("/")
    expect(page.locator(".needs")).to_contain_text("The queue is reserved by Lena, moving tables")
    visitor.go("/settings")
    page.get_by_role("button", name="Release queue").click()

    expect(page.get_by_text("Nobody has the queue now")).to_be_visible()
    audit = page.get_by_role("table", name="Changes, newest first")
    expect(audit.get_by_role("row").filter(has_text="reservation.take")).to_contain_text("Lena (api)")
    page.get_by_role("button", name="Poll now").click()
    expect(visitor.toast()).to_contain_text("2 jobs claimed, 1 slot fired")


def test_preferences_are_kept(visitor: Visitor) -> None:
    page = visitor.go("/settings")

    page.get_by_role("combobox", name="Theme").select_option("Dark")
    page.get_by_label("Compact rows").check()
    page.get_by_label("Keyboard shortcuts of single keys").uncheck()
    page.reload()
    visitor.settled()

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_label("Compact rows")).to_be_checked()
    visitor.press("g", "j")
    expect(visitor.heading()).to_have_text("Settings")
