"""Finding jobs, looking at one, changing one."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from playwright.sync_api import expect

from dynajobs.job import Job
from tests.page.conftest import Visit
from tests.page.stage import Stage, Visitor
from tests.support.showcase import EXACT, SCRIPT


def first(stage: Stage, **filters: Any) -> Job:
    return stage.queue.list(limit=1, **filters).jobs[0]


def test_what_needs_somebody_comes_first(visitor: Visitor) -> None:
    page = visitor.go()

    expect(page.locator(".health")).to_contain_text("Needs attention. Poller ticked")
    needs = page.locator(".needs li")
    expect(needs.filter(has_text="The oldest due job has waited")).to_have_count(1)
    expect(needs.filter(has_text="New error: RuntimeError")).to_have_count(1)
    expect(page.locator(".tile")).to_have_count(6)
    expect(page.locator(".chart")).to_contain_text("are due in the next 60 minutes")
    page.locator(".tile.dead_letter").click()
    expect(page).to_have_url(re.compile("#/jobs[?]state=dead_letter"))


def test_tabs_and_words_narrow_the_list(visitor: Visitor) -> None:
    page = visitor.go("/jobs")
    expect(page.locator(".tabs [aria-current]")).to_contain_text("All live")

    page.get_by_role("link", name=re.compile("Dead letters")).click()
    expect(visitor.rows().first).to_contain_text("dead letter")
    page.get_by_label("Search jobs").fill("type:email.send org:acme")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile("state=dead_letter&type=email.send&org=acme"))
    expect(visitor.rows().filter(has_not_text="acme")).to_have_count(0)
    expect(visitor.rows().first).to_contain_text("ValueError: the address")
    page.get_by_label("Search jobs").fill("type:email.send state:nowhere")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="no state")).to_be_visible()
    page.get_by_label("Search jobs").fill("type:nothing")
    page.keyboard.press("Enter")
    expect(page.get_by_text("match type:nothing")).to_be_visible()
    page.get_by_role("link", name="Clear filters").click()
    expect(page.get_by_label("Search jobs")).to_have_value("")


def test_an_id_in_the_search_opens_the_job(visitor: Visitor) -> None:
    job = first(visitor.stage, status="completed")
    page = visitor.go("/jobs")

    page.get_by_label("Search jobs").fill(job.id)
    page.keyboard.press("Enter")

    expect(visitor.heading()).to_have_text(job.job_type)
    expect(visitor.heading()).to_be_focused()
    expect(page).to_have_title(re.compile(rf"{job.job_type} .*dynajobs staging"))


def test_a_link_opens_as_it_was_and_back_brings_the_list_back(visitor: Visitor) -> None:
    page = visitor.go("/jobs?state=completed&type=crm.sync")
    expect(page.get_by_label("Search jobs")).to_have_value("type:crm.sync")
    link = visitor.rows().nth(20).locator("[data-open]")
    link.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    link.click()
    expect(visitor.heading()).to_have_text("crm.sync")

    page.go_back()

    expect(visitor.rows().nth(20)).to_be_visible()
    expect(page).to_have_url(re.compile("state=completed&type=crm.sync"))
    expect(visitor.rows().nth(20).locator("[data-open]")).to_be_in_viewport()
    assert before > 0


def test_a_dead_letter_is_retried_and_its_successor_cancelled(visitor: Visitor) -> None:
    job = first(visitor.stage, status="dead_letter", job_type="email.send")
    page = visitor.go(f"/jobs/{job.id}")
    expect(page.get_by_role("region", name="Error")).to_contain_text("has no mailbox")

    page.get_by_role("button", name="Retry job").click()

    expect(visitor.toast()).to_contain_text("New job")
    expect(page.get_by_text("It runs again as")).to_be_visible()
    visitor.toast().get_by_role("button", name="Cancel it").click()
    successor = visitor.stage.queue.get(job).retried_by
    assert successor
    visitor.go(f"/jobs/{successor}")
    expect(page.locator(".title .badge")).to_have_text("cancelled")
    expect(page.get_by_role("button", name="Cancel job")).to_be_disabled()


def test_a_job_is_cancelled_after_a_question(visitor: Visitor) -> None:
    job = first(visitor.stage, status="pending", job_type="email.send")
    page = visitor.go(f"/jobs/{job.id}")

    page.get_by_role("button", name="Cancel job").click()
    expect(visitor.dialog()).to_contain_text(f"dynajobs jobs cancel {job.id}")
    expect(visitor.dialog().get_by_role("button", name="Keep it")).to_be_focused()
    visitor.press("Escape")
    expect(visitor.dialog()).to_have_count(0)
    assert visitor.stage.queue.get(job).status == "pending"
    page.get_by_role("button", name="Cancel job").click()
    visitor.dialog().get_by_role("button", name="Cancel job").click()

    expect(visitor.toast()).to_contain_text("is cancelled")
    expect(page.locator(".title .badge")).to_have_text("cancelled")
    assert visitor.stage.queue.get(job).status == "cancelled"


def test_a_job_is_moved_and_moved_back(visitor: Visitor) -> None:
    job = first(visitor.stage, status="pending", job_type="email.send")
    page = visitor.go(f"/jobs/{job.id}")

    page.get_by_role("button", name="Reschedule job").click()
    visitor.dialog().get_by_role("button", name="In 1 day").click()
    visitor.dialog().get_by_label("Priority").select_option("3")
    visitor.dialog().get_by_role("button", name="Reschedule job").click()

    expect(visitor.toast()).to_contain_text("is due")
    moved = visitor.stage.queue.get(job)
    assert moved.scheduled_for - job.scheduled_for > timedelta(hours=22) and moved.priority == 3
    visitor.toast().get_by_role("button", name="Back to").click()
    expect(visitor.toast()).to_contain_text("is due")
    expect(page.locator(".title .tag")).to_have_text(f"P{job.priority}")
    back = visitor.stage.queue.get(job)
    assert (back.scheduled_for, back.priority) == (job.scheduled_for, job.priority)


def test_whoever_comes_second_is_told(visitor: Visitor) -> None:
    job = first(visitor.stage, status="pending", job_type="email.send")
    page = visitor.go(f"/jobs/{job.id}")
    page.get_by_role("button", name="Reschedule job").click()
    visitor.stage.queue.cancel(job)

    visitor.dialog().get_by_role("button", name="Now", exact=True).click()
    visitor.dialog().get_by_role("button", name="Reschedule job").click()

    expect(visitor.dialog().get_by_role("alert")).to_contain_text("cancelled")
    visitor.press("Escape")
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator(".title .badge")).to_have_text("cancelled")


def test_a_job_that_waits_says_why(visitor: Visitor) -> None:
    job = first(visitor.stage, status="failed", job_type="crm.sync")
    page = visitor.go(f"/jobs/{job.id}")

    why = page.get_by_role("region", name="Why")
    expect(why).to_contain_text("it is tried again")
    why.locator("summary").click()
    expect(why.locator(".checks li")).to_have_count(7)
    expect(page.locator(".timeline li").first).to_contain_text("Created")
    expect(page.locator(".timeline")).to_contain_text("Attempt 1 failed")
    expect(page.locator(".timeline .next")).to_contain_text("Attempt")
    expect(page.get_by_text("aws logs filter-log-events").first).to_contain_text("/aws/lambda/shop-jobs")


def test_a_running_job_shows_how_far_it_is(visitor: Visitor) -> None:
    job = first(visitor.stage, status="in_progress", job_type="report.build")
    page = visitor.go(f"/jobs/{job.id}")

    expect(page.get_by_role("progressbar")).to_have_attribute("value", "44")
    expect(page.locator(".live")).to_contain_text("5 s")
    page.get_by_role("button", name="Cancel job").click()
    visitor.dialog().get_by_role("button", name="Cancel job").click()
    expect(visitor.toast()).to_contain_text("was asked to stop")
    expect(page.get_by_text("cancel requested")).to_be_visible()


def test_a_payload_is_shown_and_copied_to_the_byte(visit: Visit, stage: Stage) -> None:
    visitor = visit(stage, permissions=["clipboard-read", "clipboard-write"])
    job = first(stage, job_type="invoice.print")
    page = visitor.go(f"/jobs/{job.id}")

    shown = page.get_by_role("region", name="payload").inner_text()
    page.get_by_role("button", name="Copy payload", exact=True).or_(
        page.get_by_title("Copy payload", exact=True)
    ).first.click()

    assert page.evaluate("navigator.clipboard.readText()") == EXACT
    for text in ("12345678901234567890", "1.0", "1e-9", '"Zoë"'):
        assert text in shown
    visitor.go("/jobs?type=invoice.print&state=all")
    expect(visitor.rows().first).to_contain_text("order=12345678901234567890 factor=1.0")


def test_what_is_secret_stays_so(visitor: Visitor) -> None:
    job = first(visitor.stage, status="pending", job_type="email.send")
    page = visitor.go(f"/jobs/{job.id}")

    expect(page.get_by_role("region", name="payload")).to_contain_text('"api_key": "•••"')
    assert "hidden" not in page.get_by_role("region", name="payload").inner_text()


def test_a_job_that_is_not_there(visitor: Visitor) -> None:
    page = visitor.go("/jobs/0193d0a5-0000-7000-8000-000000000000")

    expect(visitor.heading()).to_have_text("Job not found")
    expect(page.get_by_text("expire after 30 days")).to_be_visible()


def test_markup_in_any_text_stays_text(visitor: Visitor) -> None:
    queue = visitor.stage.queue
    unsafe = next(job for job in queue.list(status="dead_letter", limit=200) if job.org_id == SCRIPT)
    queue.schedules.create(
        "unsafe", "orders.import", cron="0 0 * * *", description=SCRIPT, payload={SCRIPT: SCRIPT}
    )
    with queue.reserve(SCRIPT):
        known = f"/ /jobs?state=dead_letter /jobs/{unsafe.id} /errors /errors/{unsafe.fingerprint} /schedules"
        known += " /schedules/unsafe /schedules/unsafe/edit /templates /templates/import-note /settings"
        markup = quote("<img src=x>")
        unknown = f"/jobs?type={markup} /jobs/{markup} /schedules/{markup} /templates/{markup} /{markup}"
        page = visitor.page
        for route in known.split() + unknown.split():
            page.goto(f"{visitor.stage.url}/#{route}")
            visitor.settled()
            assert page.locator("img[src=x]").count() == 0, route
            assert page.title() != "caught"
        visitor.go(f"/jobs/{unsafe.id}")
        expect(page.get_by_role("region", name="payload")).to_contain_text("<img src=x onerror=")
