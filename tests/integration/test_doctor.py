"""The doctor finds each thing that is broken, and says what to do."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from dynajobs import JobQueue, Settings, Unavailable, keys
from dynajobs.operating.doctor import poller as poller_checks
from dynajobs.operating.doctor.access import clock as clock_check
from dynajobs.operating.doctor.access import permissions
from dynajobs.operating.doctor.examination import examine, report
from dynajobs.operating.doctor.finding import Finding
from dynajobs.operating.doctor.poller import function, poller
from dynajobs.operating.doctor.schedules import schedules
from dynajobs.operating.doctor.table import table
from dynajobs.operating.doctor.work import lanes, reservation, work
from dynajobs.poller import Poller
from dynajobs.testing import Clock, create_table
from tests.integration.conftest import queues_on
from tests.support.delivery import Delivery
from tests.support.table import by_hand, number, put

FIVE_MINUTES = timedelta(minutes=5)


def by_check(findings: Iterator[Finding]) -> dict[str, Finding]:
    return {each.check: each for each in findings}


def only(findings: Iterator[Finding], check: str) -> tuple[bool | None, str, str]:
    found = by_check(findings)[check]
    return found.ok, found.evidence, found.advice


@pytest.fixture
def queue(moto_queue: JobQueue) -> JobQueue:
    return moto_queue


class Told:
    """A client that answers some calls in its own way."""

    def __init__(self, client: Any, **answers: Any) -> None:
        self._client = client
        self._answers = answers

    def __getattr__(self, name: str) -> Any:
        if name not in self._answers:
            return getattr(self._client, name)
        told = self._answers[name]

        def answer(**parameters: Any) -> Any:
            given = told(parameters) if callable(told) else told
            if isinstance(given, str):
                raise ClientError({"Error": {"Code": given, "Message": "no"}}, name)
            return getattr(self._client, name)(**parameters) if given is None else given

        return answer


def with_answers(queue: JobQueue, **answers: Any) -> JobQueue:
    client = Told(queue.store.table.client, **answers)
    return JobQueue(queue.settings.table, client=client, clock=queue.clock, settings=queue.settings)


def made(client: Any, **changes: Any) -> dict[str, Any]:
    """A table of another shape."""
    shape: dict[str, Any] = {
        "TableName": "other",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "GSI1PK", "GSI1SK")
        ],
        "KeySchema": [
            {"AttributeName": "PK", "KeyType": "HASH"},
            {"AttributeName": "SK", "KeyType": "RANGE"},
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "GSI1",
                "KeySchema": [
                    {"AttributeName": "GSI1PK", "KeyType": "HASH"},
                    {"AttributeName": "GSI1SK", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    }
    shape |= changes
    client.create_table(**{name: value for name, value in shape.items() if value is not None})
    return shape


class TestTable:
    def test_one_as_the_deployment_makes_it(self, moto_client: Any) -> None:
        made(moto_client, StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
        ttl = {"Enabled": True, "AttributeName": "expires_at"}
        moto_client.update_time_to_live(TableName="other", TimeToLiveSpecification=ttl)

        found = by_check(table(JobQueue("other", client=moto_client)))

        assert {name: each.ok for name, each in found.items()} == dict.fromkeys(
            ("table", "keys", "index", "expiry", "stream"), True
        )
        assert found["table"].evidence == "other is active"

    def test_none_at_all_ends_the_examination(self, moto_client: Any) -> None:
        found = list(examine(JobQueue("nowhere", client=moto_client)))

        assert [(each.check, each.ok) for each in found] == [("settings", True), ("table", False)]
        assert found[1].evidence == "there is no table 'nowhere' in this region and account"
        assert report(found)["ok"] is False

    def test_one_that_is_being_made(self, queue: JobQueue) -> None:
        about = queue.store.table.client.describe_table(TableName=queue.settings.table)
        about["Table"]["TableStatus"] = "CREATING"
        ok, evidence, _ = only(table(with_answers(queue, describe_table=about)), "table")
        assert ok is False and evidence.endswith(" is creating")

    def test_keys_of_other_names(self, moto_client: Any) -> None:
        made(
            moto_client,
            AttributeDefinitions=[
                {"AttributeName": "id", "AttributeType": "N"},
                {"AttributeName": "SK", "AttributeType": "S"},
            ],
            KeySchema=[
                {"AttributeName": "id", "KeyType": "HASH"},
                {"AttributeName": "SK", "KeyType": "RANGE"},
            ],
            GlobalSecondaryIndexes=None,
        )
        other = JobQueue("other", client=moto_client)
        assert only(table(other), "keys")[:2] == (
            False,
            "they are id (N) and SK (S), not PK and SK as strings",
        )
        assert only(table(other), "index")[:2] == (False, "there is no index GSI1")

    def test_an_index_with_other_keys_or_too_much_in_it(self, queue: JobQueue) -> None:
        client = queue.store.table.client
        about = client.describe_table(TableName=queue.settings.table)
        index = about["Table"]["GlobalSecondaryIndexes"][0]

        index["Projection"] = {"ProjectionType": "ALL"}
        assert only(table(with_answers(queue, describe_table=about)), "index")[:2] == (
            None,
            "GSI1 has ALL of each item: it works, and costs more",
        )
        index["IndexStatus"] = "CREATING"
        assert only(table(with_answers(queue, describe_table=about)), "index")[:2] == (
            False,
            "GSI1 is creating",
        )
        index["KeySchema"] = index["KeySchema"][:1]
        ok, evidence, _ = only(table(with_answers(queue, describe_table=about)), "index")
        assert ok is False and evidence.startswith("the keys of GSI1 are GSI1PK (S), not")

    def test_expiry_that_is_off_or_by_another_attribute(self, moto_client: Any, queue: JobQueue) -> None:
        ok, evidence, advice = only(table(queue), "expiry")
        assert ok is False and "it is off" in evidence and advice == "enable time to live on expires_at"

        create_table(moto_client, "another")
        other = JobQueue("another", client=moto_client, settings=Settings(ttl_attribute="ttl"))
        assert only(table(other), "expiry") == (
            False,
            "it goes by expires_at, not by ttl",
            "set DYNAJOBS_TTL_ATTRIBUTE to expires_at",
        )

    def test_a_stream_that_is_missing_or_shows_too_little(self, moto_client: Any, queue: JobQueue) -> None:
        assert only(table(queue), "stream")[0] is None
        made(moto_client, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
        ok, evidence, _ = only(table(JobQueue("other", client=moto_client)), "stream")
        assert ok is False and evidence.startswith("it has KEYS_ONLY")

    def test_what_is_denied_is_not_called_wrong(self, queue: JobQueue) -> None:
        blind = with_answers(queue, describe_table="AccessDeniedException")
        assert only(table(blind), "table")[0] is None
        assert report(list(table(blind)))["ok"] is True
        half = with_answers(queue, describe_time_to_live="AccessDeniedException")
        assert only(table(half), "expiry")[0] is None

    def test_credentials_that_are_refused_are_no_finding(self, queue: JobQueue) -> None:
        with pytest.raises(Unavailable):
            list(examine(with_answers(queue, describe_table="UnrecognizedClientException")))


class TestAccess:
    def test_all_is_allowed(self, queue: JobQueue) -> None:
        assert only(permissions(queue), "permissions")[0] is True

    def test_what_is_denied_is_named(self, queue: JobQueue) -> None:
        def index_only(parameters: dict[str, Any]) -> str | None:
            return "AccessDeniedException" if "IndexName" in parameters else None

        denied = with_answers(queue, get_item="AccessDeniedException", query=index_only)
        assert only(permissions(denied), "permissions")[:2] == (
            False,
            "denied: dynamodb:GetItem, dynamodb:Query on index GSI1",
        )

    def test_what_cannot_be_read_does_not_hide_the_rest(self, queue: JobQueue) -> None:
        found = by_check(examine(with_answers(queue, query="AccessDeniedException")))

        assert found["permissions"].ok is False and found["work"].ok is None
        assert found["reservation"].ok is True

    @pytest.mark.parametrize(
        ("off", "ok", "said"),
        [
            (0, True, "within 2 s"),
            (2.5, True, "within 2 s"),
            (6, False, "ours is 5 s ahead"),
            (-4, False, "ours is 4 s behind"),
        ],
    )
    def test_our_clock_against_theirs(self, queue: JobQueue, off: float, ok: bool, said: str) -> None:
        about = {"ResponseMetadata": {"HTTPHeaders": {"date": "Thu, 01 Jan 2026 12:00:00 GMT"}}}
        queue.clock.set(keys.parse_time("2026-01-01T12:00:00Z") + timedelta(seconds=off))  # type: ignore[attr-defined]
        found, evidence, _ = only(clock_check(with_answers(queue, describe_table=about)), "clock")
        assert found is ok and said in evidence

    def test_an_answer_without_a_date(self, queue: JobQueue) -> None:
        assert only(clock_check(with_answers(queue, describe_table={"Table": {}})), "clock")[0] is None


class TestPoller:
    def test_none_has_looked(self, queue: JobQueue) -> None:
        assert only(poller(queue), "poller")[:2] == (False, "no poller has ever looked")

    def test_one_that_is_alive_falls_silent(self, queue: JobQueue, clock: Clock) -> None:
        queue.store.control.tell_pass(queue.now(), 0)
        clock.advance(60)
        assert only(poller(queue), "poller")[:2] == (True, "last looked 1m ago")
        clock.advance(61)
        assert only(poller(queue), "poller")[0] is False

    def test_one_that_was_told_to_do_nothing(self, moto_client: Any, table_name: str, clock: Clock) -> None:
        idle = queues_on(moto_client, table_name, clock)(enabled=False, scheduler_enabled=False)
        idle.store.control.tell_poller()
        told = [each.evidence for each in poller(idle) if each.check == "enabled"]
        assert len(told) == 2 and "claims nothing" in told[0] and "no slots are fired" in told[1]


class TestFunction:
    @pytest.fixture
    def functions(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, str]]:
        """By name, the environment of the functions there are."""
        found: dict[str, dict[str, str]] = {}

        def configuration(name: str) -> dict[str, Any] | None:
            return {"Environment": {"Variables": found[name]}} if name in found else None

        monkeypatch.setattr(poller_checks, "configuration", configuration)
        return found

    def environment(self, queue: JobQueue, handlers: str) -> dict[str, str]:
        return {"DYNAJOBS_TABLE": queue.settings.table, "DYNAJOBS_HANDLERS": handlers}

    def test_one_that_is_set_up(self, queue: JobQueue, functions: dict[str, dict[str, str]]) -> None:
        functions |= {"p": self.environment(queue, '{"a": "f", "b": "f"}'), "f": {}}
        found = by_check(function(queue, "p"))
        assert (found["function"].ok, found["handlers"].ok) == (True, True)
        assert found["handlers"].evidence == "1 function for 2 job types, all there"

    @pytest.mark.usefixtures("functions")
    def test_none(self, queue: JobQueue) -> None:
        assert only(function(queue, "p"), "function")[0] is False

    def test_one_of_another_table(self, queue: JobQueue, functions: dict[str, dict[str, str]]) -> None:
        functions["p"] = {"DYNAJOBS_TABLE": "other"}
        ok, evidence, _ = only(function(queue, "p"), "function")
        assert ok is False and "DYNAJOBS_TABLE is 'other'" in evidence

    def test_one_that_cannot_start(self, queue: JobQueue, functions: dict[str, dict[str, str]]) -> None:
        functions["p"] = {"DYNAJOBS_POLL_LIMIT": "0"}
        ok, evidence, _ = only(function(queue, "p"), "function")
        assert ok is False and "DYNAJOBS_POLL_LIMIT is 0" in evidence

    def test_handlers_that_are_missing(self, queue: JobQueue, functions: dict[str, dict[str, str]]) -> None:
        functions["p"] = self.environment(queue, '{"a": "gone"}')
        assert "that are not there: gone" in only(function(queue, "p"), "handlers")[1]
        functions["p"] = self.environment(queue, "")
        assert "is empty" in only(function(queue, "p"), "handlers")[1]

    def test_lambda_is_asked(
        self, moto_client: Any, queue: JobQueue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert moto_client
        monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
        assert "there is no function 'p'" in only(function(queue, "p"), "function")[1]


class TestWork:
    def test_an_empty_queue(self, queue: JobQueue) -> None:
        found = [*work(queue), *lanes(queue), *schedules(queue), *reservation(queue)]
        assert all(each.ok for each in found)

    def test_a_job_that_waits_too_long(self, queue: JobQueue, clock: Clock) -> None:
        job = queue.enqueue("work")
        clock.advance(FIVE_MINUTES)
        assert only(work(queue), "backlog")[0] is True
        clock.advance(1)
        ok, evidence, advice = only(work(queue), "backlog")
        assert (
            ok is False
            and "has waited 5m 01s" in evidence
            and advice.startswith(f"dynajobs jobs why {job.id}")
        )

    def test_a_lease_that_nobody_takes_up(self, queue: JobQueue, clock: Clock) -> None:
        job = queue.enqueue("work")
        Poller(queue, Delivery()).poll()
        until = queue.get(job).lock_expires_at
        assert until
        clock.set(until + FIVE_MINUTES)
        assert only(work(queue), "leases")[0] is True
        clock.advance(3)
        ok, evidence, _ = only(work(queue), "leases")
        assert ok is False and job.id in evidence

    def test_items_that_nobody_understands(self, queue: JobQueue) -> None:
        put(queue, by_hand(job_type="two words"))
        put(queue, by_hand("scheduled#tomorrow#x", job_type=number(1)))
        ok, evidence, _ = only(work(queue), "items")
        assert ok is None and evidence.startswith("2 items in a lane cannot be understood: job scheduled#")

    def test_types_without_a_function(self, moto_client: Any, table_name: str, clock: Clock) -> None:
        queue = queues_on(moto_client, table_name, clock)(handlers={"known": "f"})
        queue.enqueue("known")
        queue.enqueue("strange")
        assert "types" not in by_check(work(queue))
        queue.store.control.tell_poller()
        assert only(work(queue), "types")[:2] == (False, "due jobs have types without a function: strange")

    def test_only_so_much_is_read_and_that_is_said(
        self, queue: JobQueue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("dynajobs.operating.doctor.work.LOOKED_AT", 2)
        for _ in range(3):
            queue.enqueue("work")
        assert (
            only(work(queue), "backlog")[1] == "no job is late: 2 due items looked at, the first 2 of a lane"
        )

    def test_lanes_that_no_poller_reads(self, queue: JobQueue) -> None:
        put(queue, by_hand(pk="job#p2#s7"))
        ok, evidence, _ = only(lanes(queue), "lanes")
        assert ok is False and evidence == "1 lane beyond the 1 that are read have jobs: job#p2#s7"

    def test_a_reservation(self, queue: JobQueue) -> None:
        with queue.reserve("deploy"):
            ok, evidence, _ = only(reservation(queue), "reservation")
            assert ok is None and evidence.startswith("deploy has the queue until 2026-01-01 00:05:00 UTC")
        assert only(reservation(queue), "reservation")[:2] == (
            True,
            "nobody has the queue to themselves, since now",
        )

    def test_schedules_that_are_late_or_not_understood(self, queue: JobQueue, clock: Clock) -> None:
        queue.schedules.create("often", "work", cron="* * * * *")
        queue.schedules.create("off", "work", cron="* * * * *", enabled=False)
        clock.advance(60 + 300)
        assert only(schedules(queue), "schedules")[1] == "2 schedules, none late"
        clock.advance(1)
        put(queue, {"PK": {"S": "schedule"}, "SK": {"S": "broken"}, "cron": {"S": "? ?"}})
        bad, late = schedules(queue)
        assert bad.evidence == "1 schedule cannot be understood, and will not fire: broken"
        assert late.evidence == "1 schedule should have fired over 5 minutes ago: often"
