"""What went wrong, in groups, and a whole group run again."""

import re

from playwright.sync_api import expect

from tests.page.stage import Visitor


def test_dead_letters_are_grouped_and_run_again(visitor: Visitor) -> None:
    queue = visitor.stage.queue
    visitor.go("/errors")
    group = visitor.rows().filter(has_text="ValueError: the address")
    expect(group).to_contain_text("13 dead letters")

    group.get_by_role("button", name="Retry group…").click()
    expect(visitor.dialog()).to_contain_text("13 would be retried")
    visitor.dialog().get_by_role("button", name="Retry 13 jobs").click()

    expect(visitor.dialog()).to_contain_text("13 retried")
    visitor.dialog().get_by_role("button", name="Close").click()
    expect(group).to_contain_text("13 retried")
    expect(group.get_by_role("button", name="Retry group…")).to_be_disabled()
    dead = [job for job in queue.list(status="dead_letter", limit=200) if job.job_type == "email.send"]
    assert len(dead) == 13 and all(job.retried_by for job in dead)


def test_a_group_leads_to_its_jobs(visitor: Visitor) -> None:
    page = visitor.go("/errors")

    visitor.rows().filter(has_text="LookupError").locator("[data-open]").click()

    expect(visitor.heading()).to_have_text("LookupError")
    expect(visitor.rows().first).to_contain_text("no product with the number")
    visitor.rows().first.locator("[data-open]").click()
    expect(visitor.heading()).to_have_text("orders.import")
    page.get_by_role("link", name="Jobs that failed alike").click()
    expect(page).to_have_url(re.compile("#/errors/[0-9a-f]{12}$"))


def test_a_trace_shows_ones_own_code_first(visitor: Visitor) -> None:
    job = next(
        job
        for job in visitor.stage.queue.list(status="dead_letter", limit=200)
        if job.job_type == "orders.import"
    )
    page = visitor.go(f"/jobs/{job.id}")

    expect(page.get_by_role("region", name="Traceback")).to_contain_text("/var/task/shop/jobs.py")
    expect(page.get_by_role("button", name="Own code (1)")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="All frames").click()
    expect(page.get_by_role("region", name="Traceback")).to_contain_text("Traceback (most recent call last)")


def test_a_group_that_is_gone(visitor: Visitor) -> None:
    visitor.go("/errors/000000000000")

    expect(visitor.heading()).to_have_text("Error group not found")
