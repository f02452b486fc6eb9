"""Who changed what: every change leaves a record, every refusal too, and the list finds them all."""

from datetime import timedelta
from typing import Any

import pytest

from dynajobs import InvalidCursor, InvalidJob, InvalidTransition, JobNotFound, JobQueue
from dynajobs.errors import TemplateInUse
from dynajobs.operating.audit import DAYS_A_PAGE, Actor
from dynajobs.operating.bulk import Request
from dynajobs.operating.operator import Operator
from dynajobs.testing import Clock
from tests.integration.conftest import queues_on
from tests.support.table import all_items

UNKNOWN = "0198f3e0-0000-7000-8000-000000000000"


@pytest.fixture
def operator(moto_queue: JobQueue) -> Operator:
    return Operator(moto_queue, Actor("ada", "cli"))


def entries(operator: Operator) -> list[dict[str, Any]]:
    """All records, page by page, newest first."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = operator.audit(limit=2, cursor=cursor)
        found += page["entries"]
        cursor = page["cursor"]
        if cursor is None:
            return found


def actions(operator: Operator) -> list[str]:
    """What was done, oldest first."""
    return [each["action"] for each in reversed(entries(operator))]


def test_every_change_is_recorded_once(operator: Operator) -> None:
    job = operator.jobs.enqueue("work", {"password": "x"}, delay=60)
    operator.jobs.reschedule(job["id"], delay=30)
    operator.jobs.cancel(job["id"])
    operator.jobs.retry(job["id"])
    operator.jobs.bulk(Request(action="cancel", filter={"job_type": "work"}))
    operator.templates.create("t", "work")
    operator.templates.update("t", priority=2)
    operator.templates.enqueue("t")
    operator.templates.delete("t")
    operator.schedules.create("s", job_type="work", cron="@daily")
    operator.schedules.update("s", description="d")
    operator.schedules.disable("s")
    operator.schedules.enable("s")
    operator.schedules.trigger("s")
    operator.schedules.delete("s")
    operator.schedules.sync({"s": {"job_type": "work", "cron": "@daily"}})
    operator.reserve("ada")
    operator.release()

    assert actions(operator) == [
        *(f"jobs.{each}" for each in ("enqueue", "reschedule", "cancel", "retry", "bulk")),
        *(f"templates.{each}" for each in ("create", "update", "enqueue", "delete")),
        *(
            f"schedules.{each}"
            for each in ("create", "update", "disable", "enable", "trigger", "delete", "sync")
        ),
        "reservation.take",
        "reservation.release",
    ]


def test_looking_leaves_no_record(operator: Operator) -> None:
    operator.jobs.list()
    operator.jobs.bulk(Request(action="cancel", filter={"job_type": "a"}, dry_run=True))
    operator.schedules.list()
    operator.schedules.sync({}, dry_run=True)
    operator.stats()
    operator.reservation()
    assert entries(operator) == []


def test_a_record_tells_who_what_and_when_but_no_payload(operator: Operator) -> None:
    job = operator.jobs.enqueue("work", {"password": "x"}, delay=timedelta(minutes=1), org_id="acme")

    (record,) = entries(operator)
    assert record == {
        "at": "2026-01-01T00:00:00.000000Z",
        "who": "ada",
        "via": "cli",
        "action": "jobs.enqueue",
        "target": "work",
        "outcome": "done",
        "details": {"delay": 60.0, "org_id": "acme", "job_id": job["id"], "created": True},
    }


def test_refusals_are_recorded_with_their_reason(operator: Operator) -> None:
    operator.schedules.create("s", job_type="work", cron="@daily")
    waiting = operator.jobs.enqueue("work")
    with pytest.raises(InvalidTransition):
        operator.jobs.retry(waiting["id"])
    with pytest.raises(JobNotFound):
        operator.jobs.cancel("nonsense")
    operator.templates.create("t", "work")
    operator.schedules.update("s", template="t")
    with pytest.raises(TemplateInUse):
        operator.templates.delete("t")

    refused = [each for each in entries(operator) if each["outcome"] != "done"]
    assert [(each["action"], each["target"], each["outcome"]) for each in refused] == [
        ("templates.delete", "t", "TemplateInUse"),
        ("jobs.cancel", "nonsense", "JobNotFound"),
        ("jobs.retry", waiting["id"], "InvalidTransition"),
    ]
    assert "only a finished or failed job" in refused[2]["details"]["message"]


def test_a_record_that_cannot_be_written_hides_no_answer(operator: Operator) -> None:
    with pytest.raises(InvalidJob, match="org_id"):
        operator.jobs.enqueue("work", org_id="\udc00")
    assert operator.jobs.enqueue("work")["created"]


def test_days_are_walked_back_and_none_is_left_out(operator: Operator, clock: Clock) -> None:
    for _ in range(3 * DAYS_A_PAGE):
        operator.schedules.sync({})
        clock.advance(timedelta(days=1))

    assert len(entries(operator)) == 3 * DAYS_A_PAGE


def test_a_quiet_time_gives_an_empty_page_with_a_cursor(operator: Operator, clock: Clock) -> None:
    operator.schedules.sync({})
    clock.advance(timedelta(days=DAYS_A_PAGE + 5))

    first = operator.audit()
    assert first["entries"] == [] and first["cursor"]
    assert len(operator.audit(cursor=first["cursor"])["entries"]) == 1


def test_pages_within_one_instant(operator: Operator) -> None:
    for _ in range(5):
        operator.schedules.sync({})
    assert len({each["at"] for each in entries(operator)}) == 1
    assert len(entries(operator)) == 5


def test_records_expire_and_the_list_looks_back_no_further(
    moto_client: Any, table_name: str, clock: Clock
) -> None:
    queue = queues_on(moto_client, table_name, clock)(audit_days=1)
    operator = Operator(queue, Actor("ada", "api"))
    operator.schedules.sync({})
    (item,) = all_items(queue, "audit#")
    assert int(item["expires_at"]["N"]) == (clock() + timedelta(days=1)).timestamp()

    clock.advance(timedelta(hours=23))
    clock.advance(timedelta(hours=0.9))
    assert len(entries(operator)) == 1
    clock.advance(timedelta(days=2))
    assert operator.audit() == {"entries": [], "cursor": None}


@pytest.mark.parametrize("cursor", ["", "x", "é", "bm90aGluZw", "!!!!"])
def test_a_cursor_of_nobody_s(operator: Operator, cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        operator.audit(cursor=cursor)


def test_a_cursor_of_long_ago_is_the_end(operator: Operator) -> None:
    assert operator.audit(cursor="MDAwMS0wMS0wMVQwMDowMDowMC4wMDAwMDBa") == {"entries": [], "cursor": None}


def test_a_limit_has_its_range(operator: Operator) -> None:
    for limit in (0, 201, True):
        with pytest.raises(InvalidJob):
            operator.audit(limit=limit)
