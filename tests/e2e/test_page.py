"""The page as it is deployed: below a path, behind IAM, with what the stack's own functions did."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from dynajobs import Status
from tests.page.stage import Stage, Visitor
from tests.support.deployment import Deployment


@pytest.fixture
def visitor(stack: Deployment, browser: Any) -> Iterator[Visitor]:
    entrance = stack.entrance
    place = Stage(stack.queue, url=entrance["url"].rstrip("/"))
    come = Visitor(browser, place, token=entrance["token"])
    yield come
    come.context.close()
    assert come.complaints == []


def test_a_dead_letter_is_found_understood_and_run_again(
    stack: Deployment, visitor: Visitor, batch: str
) -> None:
    [dead] = stack.settle([stack.queue.enqueue("e2e.work", {"batch": batch, "fails": 9}, max_attempts=1)])
    assert dead.status is Status.DEAD_LETTER

    page = visitor.go("/jobs?state=dead_letter&type=e2e.work")
    page.locator(f'a[href="#/jobs/{dead.id}"]').first.click()
    expect(page.locator("main h1")).to_contain_text("e2e.work")
    expect(page.locator("main")).to_contain_text("attempt 1 fails")
    expect(page.locator("main")).to_contain_text("aws logs")
    page.get_by_role("button", name="Retry job").click()

    expect(page.locator(".toast").last).to_contain_text("New job")
    successor = stack.queue.get(dead.id).retried_by
    assert successor
    stack.queue.cancel(successor)


def test_overview_schedules_and_settings_open(stack: Deployment, visitor: Visitor) -> None:
    stack.poll()

    page = visitor.go()
    expect(page.locator(".health")).to_contain_text(re.compile("Healthy|Needs attention|Not running"))
    visitor.go("/schedules")
    expect(page.locator("main")).to_contain_text("Schedules")
    visitor.go("/settings")
    expect(page.locator("main")).to_contain_text(stack.table)


def test_a_schedule_is_made_run_and_deleted(stack: Deployment, visitor: Visitor, batch: str) -> None:
    name = f"page-{batch[:8]}"
    page = visitor.go("/schedules/new")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Job type").fill("demo.slow")
    page.get_by_label("Cron expression").fill("30 2 * * *")
    page.get_by_label("Time zone").fill("America/New_York")
    expect(page.locator("main")).to_contain_text("02:30 does not exist in America/New_York")
    page.get_by_role("button", name="Create schedule").click()

    expect(page).to_have_url(re.compile(f"#/schedules/{name}$"))
    assert stack.queue.schedules.get(name).timezone == "America/New_York"
    stack.queue.schedules.delete(name)


def test_what_is_served_says_what_it_may_load(stack: Deployment, visitor: Visitor) -> None:
    answers: list[Any] = []
    visitor.page.on("response", lambda answer: answers.append(answer))
    visitor.go()

    page = next(each for each in answers if each.url == stack.entrance["url"])
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    files = [each for each in answers if "/assets/" in each.url]
    assert len(files) <= 11
    assert all(each.status == 200 and "immutable" in each.headers["cache-control"] for each in files)
