"""What comes over the wire, and lists of any length."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from playwright.sync_api import Browser, expect

from dynajobs.http.page import POLICY
from dynajobs.item import Item
from dynajobs.queue import JobQueue
from tests.page.conftest import Visit, write_all
from tests.page.stage import OPERATE, Stage, Visitor, transferred
from tests.support.serving import serving
from tools.page import PAGE

MOST_REQUESTS = 12
MOST_BYTES = 45_000


def test_the_first_load_is_small(visitor: Visitor) -> None:
    visitor.go()

    asked = [request.url.removeprefix(visitor.stage.url) for request in visitor.requests]
    first_data = next(number for number, url in enumerate(asked, start=1) if url.startswith("/api/"))
    files = [request for request in visitor.requests if "/api/" not in request.url]
    assert first_data <= MOST_REQUESTS, asked[:first_data]
    assert len(files) < MOST_REQUESTS, asked
    assert transferred(files) <= MOST_BYTES
    assert all(url == "/" or url.startswith(("/assets/", "/api/")) for url in asked)


def test_no_file_of_ours_is_long() -> None:
    own = [path for path in PAGE.rglob("*.js") if path.parent.name != "vendor"]
    lengths = {path.name: len(path.read_text().splitlines()) for path in own}
    assert len(lengths) >= 15
    assert {name: lines for name, lines in lengths.items() if lines > 300} == {}


def test_files_are_kept_and_the_page_is_asked_for_again(visitor: Visitor) -> None:
    page = visitor.go()

    answers = {request.url: request.response() for request in visitor.requests if "/assets/" in request.url}
    assert all(answer and "immutable" in answer.headers["cache-control"] for answer in answers.values())
    again = page.reload()
    assert again is not None and again.headers["content-security-policy"] == POLICY
    assert again.headers["cache-control"] == "no-cache"


def test_text_cannot_become_markup_even_by_mistake(visitor: Visitor) -> None:
    page = visitor.go()

    refused = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; return '' } catch (e) { return e.name } }"
    )

    assert refused == "TypeError"
    assert [complaint for complaint in visitor.complaints if "TrustedHTML" not in complaint] == []
    visitor.complaints.clear()


def test_an_empty_queue_says_how_to_begin(visit: Visit, bare: Stage) -> None:
    visitor = visit(bare)
    page = visitor.go()

    expect(page.locator(".health")).to_contain_text("Not running")
    expect(page.locator(".health")).to_contain_text("has not ticked yet")
    expect(page.get_by_text("queue.enqueue(")).to_be_visible()
    for route, words in (
        ("/jobs", "No jobs yet"),
        ("/jobs?state=dead_letter&type=email", "No dead letter jobs match type:email"),
        ("/errors", "Nothing went wrong"),
        ("/schedules", "No schedules yet"),
        ("/templates", "No templates yet"),
        ("/settings", "Nothing was changed yet"),
    ):
        visitor.go(route)
        expect(page.get_by_text(words).first).to_be_visible()


def test_sixty_jobs_are_two_pages(visit: Visit, bare: Stage) -> None:
    bare.queue.enqueue_many("email.send", [{"number": number} for number in range(60)], delay=3600)
    visitor = visit(bare)
    page = visitor.go("/jobs")

    expect(visitor.rows()).to_have_count(50)
    page.get_by_role("button", name="Load older").click()
    expect(visitor.rows()).to_have_count(60)
    expect(page.get_by_text("That is all.")).to_be_visible()
    assert page.locator("main [data-row] a[href^='#/jobs/']").count() == 60


def copies(item: Item, number: int) -> Iterator[Item]:
    """As many finished jobs as one is, each with its id, a millisecond apart."""
    old = item["PK"]["S"].removeprefix("job-id#")
    for each in range(number):
        new = str(uuid4())
        copy: dict[str, Any] = {**item, "PK": {"S": f"job-id#{new}"}}
        time = f"2026-11-{1 + each // 2000:02d}T{each // 60 % 24:02d}:{each % 60:02d}:00.000000Z"
        copy |= {"GSI1SK": {"S": f"{time}#{new}"}, "finished_at": {"S": time}}
        yield {name: {"S": new} if value == {"S": old} else value for name, value in copy.items()}


def test_twenty_thousand_jobs_are_no_burden(
    visit: Visit, bare: Stage, showcase: tuple[JobQueue, list[Item]]
) -> None:
    done = next(
        item for item in showcase[1] if item.get("status") == {"S": "completed"} and item["SK"]["S"] == "job"
    )
    table = bare.queue.store.table
    write_all(table.client, table.name, list(copies(done, 20_000)))
    types = next(item for item in showcase[1] if item["SK"] == {"S": "types"})
    write_all(table.client, table.name, [types])
    visitor = visit(bare)

    page = visitor.go("/jobs?state=completed")

    expect(visitor.rows()).to_have_count(50)
    expect(page.locator(".tabs [aria-current] .number")).to_have_text("1,000+")
    with page.expect_response(lambda answer: "api/admin/jobs?" in answer.url) as older:
        page.get_by_role("button", name="Load older").click()
    expect(visitor.rows()).to_have_count(100)
    assert float(older.value.headers["x-dynajobs-read-units"]) < 60


def test_the_page_works_below_a_path(browser: Browser, stage: Stage) -> None:
    def below(event: Any, context: Any) -> dict[str, Any]:
        assert event["rawPath"].startswith("/a/b/")
        return stage.handle({**event, "rawPath": event["rawPath"].removeprefix("/a/b")}, context)

    with serving(below) as url:
        stage.url = f"{url}/a/b"
        visitor = Visitor(browser, stage, token=OPERATE)
        visitor.go("/jobs")
        expect(visitor.rows().first).to_be_visible()
        visitor.context.close()
    assert visitor.complaints == []
