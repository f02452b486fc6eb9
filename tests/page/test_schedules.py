"""Schedules and templates: seen, switched, run, written, forgotten."""

import re

from playwright.sync_api import Dialog, expect

from tests.page.stage import Visitor


def test_the_list_shows_how_the_last_slots_went(visitor: Visitor) -> None:
    page = visitor.go("/schedules")

    row = visitor.rows().filter(has_text="crm-sync")
    expect(row.locator(".slot")).to_have_count(30)
    expect(row.locator(".slot.missed")).to_have_count(1)
    expect(row.locator(".slot.dead_letter").first).to_have_attribute("title", re.compile("dead letter, "))
    expect(visitor.rows().filter(has_text="orders-import").locator(".slot.skipped")).not_to_have_count(0)
    expect(row).to_contain_text("every hour")
    expect(visitor.rows().filter(has_text="night-digest")).to_contain_text("2 clock changes")
    page.locator("a.slot.completed").last.click()
    expect(visitor.heading()).to_have_text("report.build")


def test_a_schedule_is_switched_off_and_on(visitor: Visitor) -> None:
    page = visitor.go("/schedules")
    switch = page.get_by_role("switch", name="crm-sync enabled")

    switch.click()
    expect(switch).to_have_attribute("aria-checked", "false")
    assert not visitor.stage.queue.schedules.get("crm-sync").enabled
    visitor.toast().get_by_role("button", name="Enable").click()

    expect(switch).to_have_attribute("aria-checked", "true")
    assert visitor.stage.queue.schedules.get("crm-sync").enabled


def test_a_schedule_runs_now(visitor: Visitor) -> None:
    page = visitor.go("/schedules/crm-sync")
    expect(page.locator(".history tbody tr").first).to_be_visible()

    page.get_by_role("button", name="Run now").click()
    expect(visitor.dialog()).to_contain_text("dynajobs schedules trigger crm-sync")
    visitor.dialog().get_by_role("button", name="Run now").click()

    expect(visitor.toast()).to_contain_text("crm-sync runs as")
    expect(page.locator(".history tbody tr").first).to_contain_text("manual")


def test_history_shows_what_was_missed(visitor: Visitor) -> None:
    page = visitor.go("/schedules/crm-sync")

    expect(page.locator(".history")).to_contain_text(re.compile("missed . [23]"))
    expect(page.locator(".chart")).to_contain_text("half of them at most")
    page.get_by_role("button", name="Backfill…").click()
    visitor.dialog().get_by_role("button", name="Backfill").click()
    expect(visitor.toast()).to_contain_text(re.compile("[23] slots of crm-sync will run"))


def test_a_schedule_is_written_with_help(visitor: Visitor) -> None:
    page = visitor.go("/schedules/new")
    preview = page.get_by_role("complementary", name="Preview")
    expect(preview).to_contain_text("every day at 07:00")

    page.get_by_label("Name").fill("tidy")
    page.get_by_label("Job type").fill("image.resize")
    page.get_by_label("Cron expression").fill("61 * * * *")
    expect(page.locator("#p-cron")).to_contain_text("minute")
    page.get_by_role("button", name="Create schedule").click()
    expect(page.get_by_label("Cron expression")).to_be_focused()
    expect(page.get_by_label("Cron expression")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Cron expression").fill("30 2 * * *")
    page.get_by_label("Time zone").fill("America/New_York")
    expect(preview).to_contain_text("02:30 does not exist in America/New_York")
    expect(preview.locator("tbody tr")).to_have_count(10)
    page.get_by_label("Payload").fill('{"exact": 12345678901234567890}')
    page.get_by_role("button", name="Create schedule").click()

    expect(visitor.heading()).to_have_text("tidy")
    made = visitor.stage.queue.schedules.get("tidy")
    assert (made.cron, made.timezone, made.job_type) == ("30 2 * * *", "America/New_York", "image.resize")
    assert made.payload == {"exact": 12345678901234567890}


def test_a_payload_that_is_no_json_is_refused_where_it_is(visitor: Visitor) -> None:
    page = visitor.go("/schedules/crm-sync/edit")

    page.get_by_label("Payload").fill("{nothing}")
    page.get_by_role("button", name="Save schedule").click()

    expect(page.get_by_label("Payload")).to_be_focused()
    expect(page.locator("#p-payload")).to_contain_text("not JSON")


def test_an_edit_changes_what_was_edited_and_says_what_moves(visitor: Visitor) -> None:
    before = visitor.stage.queue.schedules.get("crm-sync")
    page = visitor.go("/schedules/crm-sync/edit")

    page.get_by_label("Cron expression").fill("15 3 * * 1-5")
    page.get_by_label("Description").fill("Only at night.")
    page.get_by_role("button", name="Save schedule").click()

    expect(visitor.toast()).to_contain_text("Next run moves from")
    after = visitor.stage.queue.schedules.get("crm-sync")
    assert (after.cron, after.description, after.payload) == (
        "15 3 * * 1-5",
        "Only at night.",
        before.payload,
    )


def test_leaving_an_edit_asks_first(visitor: Visitor) -> None:
    page = visitor.go("/schedules/crm-sync/edit")
    page.get_by_label("Description").fill("Not saved.")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    page.once("dialog", stay)

    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Jobs").click()

    expect(page.get_by_label("Description")).to_have_value("Not saved.")
    assert asked == ["Leave without saving what you typed?"]


def test_deleting_asks_for_the_name(visitor: Visitor) -> None:
    page = visitor.go("/schedules/cleanup")

    page.get_by_role("button", name="Delete schedule").click()
    delete = visitor.dialog().get_by_role("button", name="Delete schedule")
    expect(delete).to_be_disabled()
    visitor.dialog().get_by_label("Type cleanup to confirm").fill("cleanup")
    delete.click()

    expect(visitor.heading()).to_have_text("Schedules")
    expect(visitor.rows().filter(has_text="cleanup")).to_have_count(0)


def test_a_template_is_made_changed_used_and_forgotten(visitor: Visitor) -> None:
    queue = visitor.stage.queue
    page = visitor.go("/templates")
    expect(page.get_by_role("link", name="revenue-report")).to_be_visible()

    page.get_by_role("button", name="New template").click()
    visitor.dialog().get_by_label("Name").fill("bad name")
    visitor.dialog().get_by_label("Job type").fill("email.send")
    visitor.dialog().get_by_label("Payload").fill('{"to": "x@example.com", "n": 1.0}')
    visitor.dialog().get_by_role("button", name="Create template").click()
    expect(visitor.dialog().get_by_role("alert")).to_contain_text("must")
    visitor.dialog().get_by_label("Name").fill("hello")
    visitor.dialog().get_by_role("button", name="Create template").click()
    expect(visitor.heading()).to_have_text("hello")
    page.get_by_role("button", name="Edit").click()
    visitor.dialog().get_by_label("Description").fill("Says hello.")
    visitor.dialog().get_by_role("button", name="Save template").click()
    expect(page.get_by_text("Says hello.")).to_be_visible()
    page.get_by_role("button", name="Enqueue…").click()
    visitor.dialog().get_by_label("Instead of").fill('{"to": "y@example.com"}')
    visitor.dialog().get_by_role("button", name="Enqueue job").click()
    expect(visitor.toast()).to_contain_text("New job")
    (job,) = [job for job in queue.list(limit=100) if job.template == "hello"]
    assert job.payload == {"to": "y@example.com", "n": 1.0}
    page.get_by_role("button", name="Delete template").click()
    visitor.dialog().get_by_role("button", name="Delete template").click()
    expect(visitor.heading()).to_have_text("Templates")
    visitor.go("/templates/month-end")
    expect(page.get_by_role("button", name="Delete template")).to_have_attribute(
        "title", "It is used by revenue-report."
    )
