"""When the page looks again, and when it does not: reads cost money."""

from playwright.sync_api import Page, expect

from tests.page.conftest import Visit
from tests.page.stage import Stage, Visitor


def on_a_clock(visitor: Visitor, route: str) -> Page:
    """Open an address where time passes only when the test says so."""
    visitor.page.clock.install()
    return visitor.go(route)


def calls(stage: Stage) -> int:
    return len(stage.data_calls())


def hide(page: Page, hidden: bool) -> None:
    page.evaluate(
        """hidden => {
            Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
            document.dispatchEvent(new Event('visibilitychange'));
        }""",
        hidden,
    )


def test_a_live_list_looks_again_every_fifteen_seconds(visitor: Visitor) -> None:
    page = on_a_clock(visitor, "/jobs")

    with page.expect_response("**/api/admin/jobs?*"):
        page.clock.run_for(16_000)
    with page.expect_response("**/api/admin/jobs?*"):
        page.clock.run_for(16_000)


def test_a_hidden_page_asks_nothing(visitor: Visitor) -> None:
    page = on_a_clock(visitor, "/jobs")
    hide(page, True)
    before = calls(visitor.stage)

    page.clock.run_for(120_000)
    assert calls(visitor.stage) == before

    with page.expect_response("**/api/admin/jobs?*"):
        hide(page, False)


def test_it_waits_while_somebody_does_something(visitor: Visitor) -> None:
    page = on_a_clock(visitor, "/jobs")
    visitor.rows().first.get_by_role("button", name="Cancel job").click()
    before = calls(visitor.stage)
    page.clock.run_for(60_000)
    assert calls(visitor.stage) == before
    expect(page.locator(".live")).to_contain_text("Paused: a dialog is open")
    visitor.press("Escape")
    page.locator("tbody input[type=checkbox]").first.click()
    page.clock.run_for(60_000)
    assert calls(visitor.stage) == before
    page.get_by_role("button", name="Clear").click()
    visitor.press("p")
    page.clock.run_for(60_000)
    assert calls(visitor.stage) == before
    expect(page.locator(".live")).to_contain_text("Paused: paused")


def test_it_stops_after_ten_minutes_without_input(visitor: Visitor) -> None:
    page = on_a_clock(visitor, "/jobs")
    page.clock.fast_forward(11 * 60_000)
    expect(page.locator(".live")).to_contain_text("10 min without input")
    before = calls(visitor.stage)

    page.clock.run_for(60_000)

    assert calls(visitor.stage) <= before + 2  # the one that fast-forwarding let through
    settled = calls(visitor.stage)
    page.clock.run_for(60_000)
    assert calls(visitor.stage) == settled
    with page.expect_response("**/api/admin/jobs?*"):
        visitor.press("Shift")
        page.clock.run_for(16_000)


def test_finished_jobs_are_read_again_only_by_hand(visitor: Visitor) -> None:
    page = on_a_clock(visitor, "/jobs?state=completed")
    before = calls(visitor.stage)

    page.clock.run_for(120_000)

    assert calls(visitor.stage) == before
    expect(page.locator(".live")).to_contain_text("By hand")
    with page.expect_response("**/api/admin/jobs?*"):
        visitor.press(".")


def test_a_failure_loses_nothing_and_is_tried_again_ever_later(visitor: Visitor) -> None:
    page = on_a_clock(visitor, "/jobs")
    rows = visitor.rows().count()
    visitor.stage.breaks = lambda _method, path: path == "/api/admin/jobs"

    with page.expect_response("**/api/admin/jobs?*"):
        page.clock.run_for(16_000)

    alert = page.get_by_role("alert").filter(has_text="could not be refreshed")
    expect(alert).to_contain_text("Status 500")
    expect(alert).to_contain_text("r-500")
    expect(visitor.rows()).to_have_count(rows)
    expect(page.locator(".live")).to_contain_text("again in 15 s")
    with page.expect_response("**/api/admin/jobs?*"):
        page.clock.run_for(16_000)
    expect(page.locator(".live")).to_contain_text("again in 30 s")
    visitor.stage.breaks = lambda _method, _path: False
    with page.expect_response("**/api/admin/jobs?*"):
        page.clock.run_for(31_000)
    expect(alert).to_have_count(0)
    expect(visitor.rows()).to_have_count(rows)


def test_new_rows_wait_to_be_asked_for(visitor: Visitor) -> None:
    page = on_a_clock(visitor, "/jobs?state=pending")
    rows = visitor.rows().count()
    first = visitor.rows().first.locator("[data-open]").get_attribute("href")
    visitor.stage.queue.enqueue("crm.sync", {"new": True}, delay=5, priority=3)

    with page.expect_response("**/api/admin/jobs?*"):
        page.clock.run_for(16_000)

    newer = page.get_by_role("button", name="1 newer row · Show")
    expect(newer).to_be_visible()
    expect(visitor.rows()).to_have_count(rows)
    expect(visitor.rows().first.locator("[data-open]")).to_have_attribute("href", str(first))
    newer.click()
    expect(visitor.rows()).to_have_count(rows + 1)
    expect(visitor.rows().first).to_contain_text("crm.sync")


def test_what_left_the_list_says_so(visitor: Visitor) -> None:
    page = on_a_clock(visitor, "/jobs?state=pending&type=email.send")
    job = visitor.rows().first.locator("[data-open]").get_attribute("href")
    visitor.stage.queue.cancel(str(job).removeprefix("#/jobs/"))

    with page.expect_response("**/api/admin/jobs?*"):
        page.clock.run_for(16_000)

    expect(visitor.rows().first).to_contain_text("left this list")


def test_the_cost_of_a_view_is_shown(visit: Visit, stage: Stage) -> None:
    visitor = visit(stage)
    page = visitor.go("/jobs")

    expect(page.locator("footer")).to_contain_text("read units a refresh, every 15 s")
    visitor.go("/errors")
    expect(page.locator("footer")).to_contain_text("read units")
