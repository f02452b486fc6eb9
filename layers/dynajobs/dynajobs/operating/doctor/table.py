"""Whether the table is what dynajobs needs: keys, index, expiry, stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dynajobs.errors import Unavailable
from dynajobs.operating.doctor.finding import Finding, aws_code, denied, fine, odd, wrong

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue
    from dynajobs.settings import Settings

DEPLOY = "compare it with JobTable in template.yaml"
_NEW_IMAGES = ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")


def table(queue: JobQueue) -> Iterator[Finding]:
    """The table itself; if there is none, there is nothing more to look at."""
    name = queue.settings.table
    try:
        about = queue.store.table.told("describe_table")["Table"]
    except Unavailable as error:
        if aws_code(error) == "ResourceNotFoundException":
            evidence = f"there is no table {name!r} in this region and account"
            advice = "check --table, AWS_REGION and AWS_PROFILE, or run make deploy"
            yield wrong("table", evidence, advice)
            return
        if not denied(error):
            raise
        evidence = "it cannot be looked at: dynamodb:DescribeTable is denied"
        yield odd("table", evidence, "allow it to check keys and stream")
        return
    active = about["TableStatus"] == "ACTIVE"
    yield Finding(
        check="table",
        ok=active,
        evidence=f"{name} is {about['TableStatus'].lower()}",
        advice="" if active else "wait until it is active",
    )
    yield _keys(about)
    yield _index(about, queue.settings)
    yield _expiry(queue)
    yield _stream(about)


def _keys(about: dict[str, Any]) -> Finding:
    found = _schema(about, about["KeySchema"])
    right = found == {"HASH": ("PK", "S"), "RANGE": ("SK", "S")}
    return Finding(
        check="keys",
        ok=right,
        evidence="PK and SK, strings" if right else f"they are {_told(found)}, not PK and SK as strings",
        advice="" if right else "keys cannot be changed: use another table",
    )


def _index(about: dict[str, Any], settings: Settings) -> Finding:
    name = settings.index
    index = next(
        (each for each in about.get("GlobalSecondaryIndexes", ()) if each["IndexName"] == name), None
    )
    if index is None:
        evidence = f"there is no index {name}"
        return wrong("index", evidence, f"set DYNAJOBS_INDEX, or {DEPLOY}")
    found, projection = _schema(about, index["KeySchema"]), index["Projection"]["ProjectionType"]
    if found != {"HASH": (f"{name}PK", "S"), "RANGE": (f"{name}SK", "S")}:
        evidence = f"the keys of {name} are {_told(found)}, not {name}PK and {name}SK as strings"
        return wrong("index", evidence, DEPLOY)
    if (status := index.get("IndexStatus", "ACTIVE")) != "ACTIVE":
        evidence = f"{name} is {status.lower()}"
        return wrong("index", evidence, "wait until it is active")
    if projection != "KEYS_ONLY":
        evidence = f"{name} has {projection} of each item: it works, and costs more"
        return odd("index", evidence, "KEYS_ONLY is enough for dynajobs")
    return fine("index", f"{name}, keys only")


def _expiry(queue: JobQueue) -> Finding:
    wanted = queue.settings.ttl_attribute
    try:
        told = queue.store.table.told("describe_time_to_live")["TimeToLiveDescription"]
    except Unavailable as error:
        if not denied(error):
            raise
        evidence = "it cannot be looked at: dynamodb:DescribeTimeToLive is denied"
        return odd("expiry", evidence, "allow it to have it checked")
    if told.get("TimeToLiveStatus") not in ("ENABLED", "ENABLING"):
        evidence = "it is off: finished jobs stay until dynajobs.delete_expired deletes them"
        return wrong("expiry", evidence, f"enable time to live on {wanted}")
    if (name := told.get("AttributeName")) != wanted:
        evidence = f"it goes by {name}, not by {wanted}"
        return wrong("expiry", evidence, f"set DYNAJOBS_TTL_ATTRIBUTE to {name}")
    return fine("expiry", f"by {wanted}")


def _stream(about: dict[str, Any]) -> Finding:
    stream = about.get("StreamSpecification") or {}
    if not stream.get("StreamEnabled"):
        evidence = "there is none: new jobs start with the poller's next tick"
        return odd("stream", evidence, "enable NEW_AND_OLD_IMAGES")
    kind = stream.get("StreamViewType")
    if kind not in _NEW_IMAGES:
        evidence = f"it has {kind}: the poller cannot see what is due, and new jobs start with its next tick"
        return wrong("stream", evidence, "change it to NEW_AND_OLD_IMAGES")
    return fine("stream", f"with {kind}")


def _schema(about: dict[str, Any], schema: list[dict[str, str]]) -> dict[str, tuple[str, str]]:
    kinds = {each["AttributeName"]: each["AttributeType"] for each in about["AttributeDefinitions"]}
    return {
        each["KeyType"]: (each["AttributeName"], kinds.get(each["AttributeName"], "?")) for each in schema
    }


def _told(schema: dict[str, tuple[str, str]]) -> str:
    return " and ".join(f"{name} ({kind})" for name, kind in schema.values())
