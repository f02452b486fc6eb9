"""Records of the table's stream start new jobs at once and wake a poller for those that fall due soon."""

import json
from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dynajobs import Job, JobQueue, Status
from dynajobs.poller import Poller
from dynajobs.poller_function import lambda_handler
from dynajobs.testing import Clock
from dynajobs.vigil import LOOK_AHEAD, WATCH
from dynajobs.wake import STARTING, Waker
from tests.integration.conftest import queues_on
from tests.support import engines
from tests.support.delivery import Delivery
from tests.support.engines import RunningEngine
from tests.support.table import live_items, put
from tests.support.world import Context

START = datetime(2026, 1, 1, tzinfo=UTC)
EVENTS = Path(__file__).parents[2] / "events"
SHAPE = json.loads((EVENTS / "dynamodb-stream-insert.json").read_text())["Records"][0]


def record(item: dict[str, Any], event: str = "INSERT") -> dict[str, Any]:
    """A record as the stream sends it."""
    made: dict[str, Any] = deepcopy(SHAPE)
    made["eventName"] = event
    made["dynamodb"]["Keys"] = {name: item[name] for name in ("PK", "SK")}
    images = {
        "INSERT": {"NewImage": item},
        "MODIFY": {"NewImage": item, "OldImage": item},
        "REMOVE": {"OldImage": item},
    }
    made["dynamodb"].pop("NewImage")
    made["dynamodb"] |= images[event]
    return made


class Stream:
    """A queue whose new jobs become records, and the function that reads them."""

    def __init__(self, queue: JobQueue) -> None:
        self.queue = queue
        self.delivery = Delivery()
        self.woken: list[dict[str, Any]] = []
        self.waker = Waker(Poller(queue, self.delivery, wake=self.woken.append))

    def enqueue(self, **options: Any) -> tuple[Job, dict[str, Any]]:
        job = self.queue.enqueue("work", **options)
        [item] = [each for each in live_items(self.queue) if job.id in each["SK"]["S"]]
        return job, record(item)

    def take(self, *records: dict[str, Any]) -> int:
        return self.waker.take(list(records)).claimed

    def requests(self) -> list[str]:
        """The requests made from now on."""
        made: list[str] = []
        events = self.queue.store.table.client.meta.events
        events.register("before-call.dynamodb", lambda model, **_: made.append(model.name))
        return made


@pytest.fixture
def stream(moto_queue: JobQueue) -> Stream:
    return Stream(moto_queue)


@pytest.fixture
def capped(moto_client: Any, table_name: str, clock: Clock) -> Callable[..., Stream]:
    make = queues_on(moto_client, table_name, clock)
    return lambda **settings: Stream(make(**settings))


def test_new_jobs_that_are_due_start_at_once(stream: Stream) -> None:
    made = [stream.enqueue() for _ in range(3)]

    assert stream.take(*(each for _, each in made)) == 3

    assert sorted(stream.delivery.ids) == sorted(job.id for job, _ in made)
    assert stream.woken == []


def test_a_hand_written_item_starts_as_well(stream: Stream) -> None:
    due = "2025-12-31T23:59:59Z"
    item = put(
        stream.queue,
        {
            "PK": {"S": "job"},
            "SK": {"S": "scheduled#2025-12-31T23:59:59.000000Z#9b1c7c4e-7a57-4a53-8a57-3a1f9f4f3f10"},
            "job_type": {"S": "work"},
            "payload": {"M": {"n": {"N": "1"}}},
            "scheduled_for": {"S": due},
            "status": {"S": "pending"},
        },
    )

    assert stream.take(record(item)) == 1


def test_records_that_come_twice_or_late_start_nothing_twice(stream: Stream) -> None:
    job, made = stream.enqueue()

    assert [stream.take(made, made), stream.take(made)] == [1, 0]

    stream.queue.cancel(job)
    assert stream.take(made) == 0
    assert stream.delivery.ids == [job.id]


def test_what_is_no_new_job_costs_nothing(stream: Stream, clock: Clock) -> None:
    _, later = stream.enqueue(delay=LOOK_AHEAD + timedelta(seconds=1))
    job, _ = stream.enqueue()
    [item] = [each for each in live_items(stream.queue) if job.id in each["SK"]["S"]]
    requests = stream.requests()

    assert stream.take(later, record(item, "MODIFY"), record(item, "REMOVE")) == 0

    assert (requests, stream.woken) == ([], [])
    assert clock() == START


def test_a_bad_record_does_not_hold_up_the_good_ones(stream: Stream) -> None:
    job, good = stream.enqueue()
    bad: list[dict[str, Any]] = [
        {},
        {"eventName": "INSERT"},
        {"eventName": "INSERT", "dynamodb": {"NewImage": {"PK": {"S": "job"}, "SK": {"N": "1"}}}},
        record({"PK": {"S": "jobs-of-mine"}, "SK": {"S": "scheduled#x"}}),
        record({"PK": {"S": "job"}, "SK": {"S": "scheduled#nonsense"}, "job_type": {"S": "work"}}),
    ]

    assert stream.take(*bad[:3], good, *bad[3:]) == 1

    assert stream.delivery.ids == [job.id]
    assert stream.woken == [{"source": WATCH}]  # to look at what it could not understand


def test_a_poller_is_woken_once_for_what_falls_due_soon(stream: Stream, clock: Clock) -> None:
    soon = [stream.enqueue(delay=delay)[1] for delay in (1, 30, 60)]

    for each in soon:
        assert stream.take(each) == 0

    assert stream.woken == [{"source": WATCH}]
    clock.advance(STARTING)
    stream.take(soon[1])
    assert len(stream.woken) == 2  # the first one never came


def test_nobody_is_woken_while_a_poller_watches(stream: Stream) -> None:
    now = START
    stream.queue.store.control.watch("another", now, now + timedelta(seconds=5))

    stream.take(stream.enqueue(delay=2)[1])

    assert stream.woken == []


def test_a_poller_that_came_and_went_is_woken_again(stream: Stream, clock: Clock) -> None:
    stream.take(stream.enqueue(delay=1)[1])
    clock.advance(timedelta(seconds=1))
    stream.queue.store.control.tell_pass(clock(), 0)
    clock.advance(timedelta(seconds=0.5))

    stream.take(stream.enqueue(delay=1)[1])

    assert len(stream.woken) == 2


def test_over_the_cap_it_starts_nothing_and_wakes_a_poller(capped: Callable[..., Stream]) -> None:
    stream = capped(max_in_flight=3)
    made = [stream.enqueue()[1] for _ in range(5)]

    assert [stream.take(*made[:4]), stream.take(made[4])] == [3, 0]
    assert stream.woken == [{"source": WATCH}]


def test_after_a_round_the_leases_are_counted_anew(capped: Callable[..., Stream]) -> None:
    """Somebody else may have started jobs meanwhile: what it remembers is not enough."""
    stream = capped(poll_limit=2, max_in_flight=6)
    other = Poller(stream.queue, Delivery())
    for _ in range(3):
        stream.queue.enqueue("work")
    assert other.poll().claimed == 3
    made = [stream.enqueue()[1] for _ in range(5)]

    assert stream.take(*made[:2]) == 2
    assert stream.queue.store.control.read().ticked_at is None
    assert stream.take(*made[2:]) == 1
    assert stream.queue.store.control.read().leases == 6
    assert stream.woken == [{"source": WATCH}]


def test_one_batch_reads_what_is_agreed_once(stream: Stream) -> None:
    made = [stream.enqueue()[1] for _ in range(10)]
    requests = stream.requests()

    stream.take(*made)

    assert requests.count("Query") == 1
    assert requests.count("UpdateItem") == 10
    assert len(requests) == 11


def test_while_the_queue_is_disabled_nothing_starts(capped: Callable[..., Stream]) -> None:
    stream = capped(enabled=False)

    assert stream.take(stream.enqueue()[1], stream.enqueue(delay=2)[1]) == 0
    assert (stream.delivery.jobs, stream.woken) == ([], [])


def test_the_poller_function_takes_the_real_event(stream: Stream) -> None:
    event = json.loads((EVENTS / "dynamodb-stream-insert.json").read_text())
    put(stream.queue, event["Records"][0]["dynamodb"]["NewImage"])
    stream.queue.clock.set(datetime(2026, 11, 18, 7, tzinfo=UTC))  # type: ignore[attr-defined]

    answer = lambda_handler(stream.queue, stream.delivery)(event, Context())

    assert answer == {"ok": True, "claimed": 1, "fired": 0}
    assert [job.status for job in stream.delivery.jobs] == [Status.IN_PROGRESS]


def test_real_records_of_a_real_stream(
    concurrent_engine: RunningEngine, concurrent_client: Any, table_name: str
) -> None:
    """What an engine's stream says of enqueueing, claiming and finishing."""
    streams_client = engines.client(concurrent_engine, "dynamodbstreams")
    make = queues_on(concurrent_client, table_name, Clock(START))
    concurrent_client.update_table(
        TableName=table_name,
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    stream = Stream(make())
    due, later = stream.queue.enqueue("work", {"n": 1}), stream.queue.enqueue("work", delay=5)
    arn = concurrent_client.describe_table(TableName=table_name)["Table"]["LatestStreamArn"]

    assert stream.take(*records_of(streams_client, arn)) == 1
    assert stream.delivery.ids == [due.id]
    assert stream.woken == [{"source": WATCH}]

    stream.queue.cancel(later)
    assert stream.take(*records_of(streams_client, arn)) == 0  # all of it again, and what happened since


def records_of(client: Any, arn: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for shard in client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        iterator = client.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        found += client.get_records(ShardIterator=iterator)["Records"]
    return found
