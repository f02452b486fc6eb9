"""A table whose partitions take no more than DynamoDB lets one take, and jobs that pass through it.

Every partition key, of the table and of its index, takes 1,000 write units a second; nothing is saved up and
no partition is split (adaptive capacity off). Items, keys and units are the real ones of a job's life.
"""

import random
from collections import Counter, deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from uuid import UUID

from dynajobs import Job, Settings, Status, keys, lifecycle
from dynajobs.item import Item, encode
from dynajobs.units import write_units

UNITS_PER_SECOND = 1000
TICK_SECONDS = 0.01
SAMPLE = str(UUID(int=0))
NOW = datetime(2026, 1, 1, tzinfo=UTC)

Step = dict[str, int]
"""Units by partition."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """What is enqueued: so many lanes, so many types, so many jobs under way for each lane."""

    shards: int
    job_types: int = 1
    under_way: int = 100
    done_shards: bool = True
    """False: finished jobs of a type share one index partition, to see what that would mean."""


def throughput(load: Load, seconds: float = 1.0, seed: int = 1) -> float:
    """Jobs a second that go from enqueue to completed."""
    chance = random.Random(seed)
    waiting = deque(_life(load, chance) for _ in range(load.under_way * load.shards))
    finished = 0
    for _ in range(round(seconds / TICK_SECONDS)):
        left: Counter[str] = Counter()
        room = UNITS_PER_SECOND * TICK_SECONDS
        for _ in range(len(waiting)):
            steps = waiting.popleft()
            while steps and all(left[partition] + units <= room for partition, units in steps[0].items()):
                left.update(steps.pop(0))
            if not steps:
                finished += 1
                steps = _life(load, chance)
            waiting.append(steps)
    return finished / seconds


def _life(load: Load, chance: random.Random) -> list[Step]:
    """The writes of one job."""
    number = chance.getrandbits(128)
    shard = keys.shard_of(str(UUID(int=number)), load.shards)
    sample = _sample(load, shard, f"type-{chance.randrange(load.job_types)}")
    return [{place.replace(SAMPLE, f"{number:x}"): units for place, units in step.items()} for step in sample]


@cache
def _sample(load: Load, shard: int, job_type: str) -> list[Step]:
    settings = Settings(shards=load.shards)
    job_id = SAMPLE
    pending = Job(
        id=job_id,
        job_type=job_type,
        payload={},
        payload_json="{}",
        status=Status.PENDING,
        scheduled_for=NOW,
        created_at=NOW,
        shard=shard,
    )
    claimed = lifecycle.claim(
        pending, NOW, token=job_id, lease=timedelta(seconds=90), max_attempts=settings.max_attempts
    )
    begun = lifecycle.begin(claimed, NOW, worker="worker", log=None, max_attempts=5, until=NOW)
    done = lifecycle.complete(begun, NOW, result=None, message=None, details=None)
    items = [encode(each, settings) for each in (pending, claimed, begun, done)]
    live, finished = items[2], items[3]
    if not load.done_shards:
        finished = {**finished, "GSI1PK": {"S": finished["GSI1PK"]["S"].partition("#s")[0]}}
    return [
        _write(None, items[0]),
        _write(items[0], items[1]),
        _write(items[1], items[2]),
        _together(_write(live, None, transaction=True), _write(None, finished, transaction=True)),
    ]


def _write(old: Item | None, new: Item | None, *, transaction: bool = False) -> Step:
    """The units of one write, in the partition of the item and in that of its index entry."""
    item = new or old or {}
    everywhere = write_units(old, new, transaction=transaction)
    plain = [_without_index(each) for each in (old, new)]
    in_table = write_units(*plain, transaction=transaction)
    step = {f"table {item['PK']['S']}": in_table}
    if everywhere > in_table:
        step[f"index {item['GSI1PK']['S']}"] = everywhere - in_table
    return step


def _without_index(item: Item | None) -> Item | None:
    # An attribute of the same size in its stead: the table's part depends on it.
    return item and {name.replace("GSI1", "gsi1"): value for name, value in item.items()}


def _together(*steps: Step) -> Step:
    return dict(sum((Counter(step) for step in steps), Counter()))
