"""Many jobs at once: chosen, previewed, confirmed, stopped, sent again."""

import re

import pytest
from playwright.sync_api import Route, expect

from tests.page.conftest import Visit
from tests.page.stage import Stage, Visitor


def test_a_range_is_chosen_and_cancelled(visitor: Visitor) -> None:
    page = visitor.go("/jobs?state=pending&type=email.send")
    boxes = page.locator("tbody input[type=checkbox]")
    chosen = [row.get_attribute("href") for row in page.locator("[data-open]").all()[1:4]]

    boxes.nth(1).click()
    boxes.nth(3).click(modifiers=["Shift"])

    bar = page.get_by_role("region", name="Selection")
    expect(bar).to_contain_text("3 jobs selected")
    expect(page.locator(".live")).to_contain_text("Paused: 3 selected")
    bar.get_by_role("button", name="Cancel selected…").click()
    expect(visitor.dialog()).to_contain_text("3 would be cancelled")
    expect(visitor.dialog()).to_contain_text("3 email.send")
    visitor.dialog().get_by_role("button", name="Cancel 3 jobs").click()
    expect(visitor.dialog()).to_contain_text("3 cancelled")
    visitor.dialog().get_by_role("button", name="Close").click()
    expect(bar).to_have_count(0)
    ids = {str(each).removeprefix("#/jobs/") for each in chosen}
    assert {visitor.stage.queue.get(job_id).status for job_id in ids} == {"cancelled"}


def test_what_does_not_fit_is_left_alone(visitor: Visitor) -> None:
    page = visitor.go("/jobs?type=orders.import&state=all")
    page.get_by_label("Select all rows").click()

    page.get_by_role("button", name="Cancel selected…").click()

    expect(visitor.dialog()).to_contain_text(re.compile(r"\d would be cancelled"))
    expect(visitor.dialog()).to_contain_text("because it is completed")


@pytest.fixture
def many(bare: Stage) -> Stage:
    bare.queue.enqueue_many("email.send", [{"number": number} for number in range(250)], delay=3600)
    return bare


def waiting(stage: Stage) -> int:
    return stage.queue.stats().by_status["pending"]


def all_matching(visitor: Visitor) -> None:
    page = visitor.go("/jobs")
    page.locator("tbody input[type=checkbox]").first.click()
    page.get_by_role("button", name="Cancel all 250 matching…").click()
    expect(visitor.dialog()).to_contain_text("250 would be cancelled")
    go = visitor.dialog().get_by_role("button", name="Cancel 250 jobs")
    expect(go).to_be_disabled()
    visitor.dialog().get_by_label("Type 250 to confirm").fill("250")
    go.click()


def test_more_than_a_hundred_ask_for_their_number(visit: Visit, many: Stage) -> None:
    visitor = visit(many)

    all_matching(visitor)

    expect(visitor.dialog()).to_contain_text("250 cancelled")
    calls = [each for each in many.asked if each == ("POST", "/api/admin/jobs/bulk")]
    assert len(calls) == 1 + 3
    assert waiting(many) == 0


def test_it_can_be_stopped_and_goes_on(visit: Visit, many: Stage) -> None:
    visitor = visit(many)
    stopped: list[bool] = []

    def stop_at_the_first(route: Route) -> None:
        if "dry_run" not in (route.request.post_data or "") and not stopped:
            visitor.dialog().get_by_role("button", name="Stop").click(no_wait_after=True)
            stopped.append(True)
        route.continue_()

    visitor.page.route("**/jobs/bulk", stop_at_the_first)

    all_matching(visitor)

    expect(visitor.dialog()).to_contain_text("100 cancelled")
    expect(visitor.dialog()).to_contain_text("Stopped; the rest was left alone.")
    assert waiting(many) == 150
    visitor.dialog().get_by_role("button", name="Go on").click()
    expect(visitor.dialog()).to_contain_text("250 cancelled")
    assert waiting(many) == 0


def test_a_call_whose_answer_was_lost_is_sent_again(visit: Visit, many: Stage) -> None:
    visitor = visit(many)
    losses = iter([False, False, True])  # the preview, the first hundred, the answer to the second
    many.loses = lambda _, path: path.endswith("/bulk") and next(losses, False)

    all_matching(visitor)

    expect(visitor.dialog().get_by_role("alert")).to_contain_text("r-500")
    visitor.dialog().get_by_role("button", name="Send again").click()
    expect(visitor.dialog()).to_contain_text("At least 150 cancelled")
    expect(visitor.dialog().get_by_role("button", name="Copy as JSON")).to_be_visible()
    assert waiting(many) == 0
