"""The DynamoDB client: how it is called, what its errors mean, and when a call is worth repeating."""

from __future__ import annotations

import random as _random
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from dynajobs.errors import DynajobsError, Unavailable
from dynajobs.item import Item
from dynajobs.keys import new_id
from dynajobs.telemetry import logger

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFLICT_PATIENCE = 2.0
"""Seconds for which a write that met somebody's transaction is repeated."""

INSISTENCE = (0.5, 2.0, 5.0)
"""Seconds between the tries of a write whose answer matters: the job runs in this process."""

_CONFLICTS = frozenset({"TransactionConflictException", "TransactionInProgressException"})
_PASSING = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})
_REJECTED = frozenset(
    {
        "AccessDeniedException",
        "ResourceNotFoundException",
        "SerializationException",
        "TransactionCanceledException",
        "ValidationException",
    }
)
_READS = frozenset({"get_item", "batch_get_item", "query"})
_FAILED = "ConditionalCheckFailed"
_UNFIT = re.compile(r"\W", re.ASCII)
"""What a placeholder cannot have in it, and the name of somebody's index or expiry can."""

NEW = "attribute_not_exists(PK)"

Answer = TypeVar("Answer")


class Conflict(DynajobsError):
    """A condition failed. `failed` holds the positions of the refused actions, `item` what stood there."""

    def __init__(self, failed: Sequence[int] = (0,), items: Mapping[int, Item] | None = None) -> None:
        super().__init__("the item is not as it was seen")
        self.failed = tuple(failed)
        self.items = dict(items or {})

    @property
    def item(self) -> Item | None:
        """What stood where a single write was refused."""
        return self.items.get(0)


class Busy(DynajobsError):
    """Somebody's transaction holds the item."""


class Rejected(Unavailable):
    """The request was understood and refused: sending it again cannot help."""


@dataclass
class Expression:
    """An expression under construction: every name and value becomes a placeholder."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[str, Any]] = field(default_factory=dict)

    def name(self, attribute: str) -> str:
        placeholder = "#" + _UNFIT.sub(lambda unfit: f"__{ord(unfit[0]):x}", attribute)
        self.names[placeholder] = attribute
        return placeholder

    def value(self, value: dict[str, Any]) -> str:
        placeholder = f":{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def as_seen(self, item: Item, *attributes: str) -> str:
        """The condition that each attribute still is what it was in `item`, or still is absent."""
        return " AND ".join(
            f"{self.name(attribute)} = {self.value(item[attribute])}"
            if attribute in item
            else f"attribute_not_exists({self.name(attribute)})"
            for attribute in attributes
        )

    def difference(self, old: Item, new: Item, owned: Collection[str] = ()) -> str:
        """The update that makes `old` into `new`; of what only `old` has, only `owned` attributes go."""
        put = [
            f"{self.name(attribute)} = {self.value(value)}"
            for attribute, value in new.items()
            if old.get(attribute) != value
        ]
        remove = [self.name(attribute) for attribute in old if attribute in owned and attribute not in new]
        parts = ["SET " + ", ".join(put)] if put else []
        if remove:
            parts.append("REMOVE " + ", ".join(remove))
        return " ".join(parts)

    def parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.names:
            found["ExpressionAttributeNames"] = self.names
        if self.values:
            found["ExpressionAttributeValues"] = self.values
        return found


def default_client() -> Any:
    """A client for long-lived use, without what botocore would do again for every request.

    Our parameters are built in one place, so they need no check; a user agent that is given is not assembled
    anew. Together that is a quarter of a request's CPU time.
    """
    import boto3
    from botocore.config import Config

    return boto3.client(
        "dynamodb",
        config=Config(
            user_agent=f"Boto3/{boto3.__version__} dynajobs",
            parameter_validation=False,
            tcp_keepalive=True,
            connect_timeout=2,
            read_timeout=10,
            max_pool_connections=64,
            retries={"mode": "standard", "total_max_attempts": 4},
        ),
    )


@dataclass
class Consumed:
    """Capacity units that requests have used, as DynamoDB says."""

    reads: float = 0.0
    writes: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, operation: str, answer: Mapping[str, Any]) -> None:
        told = answer.get("ConsumedCapacity") or ()
        units = sum(each.get("CapacityUnits", 0) for each in ([told] if isinstance(told, dict) else told))
        with self._lock:
            if operation in _READS:
                self.reads += units
            else:
                self.writes += units


class Table:
    """One DynamoDB table: a method is a request, its refusal a `Conflict`, its failure `Unavailable`."""

    def __init__(self, name: str, client: Any, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.name = name
        self._given = client
        self.sleep = sleep
        self._consumed: Consumed | None = None

    def metered(self) -> Consumed:
        """Count from now on, and anew, what requests use."""
        self._consumed = Consumed()
        return self._consumed

    @property
    def client(self) -> Any:
        if self._given is None:
            self._given = default_client()
        return self._given

    def get(self, key: Item, *, consistent: bool = True) -> Item | None:
        """One item, or None."""
        found: Item | None = self._call(
            "get_item", TableName=self.name, Key=key, ConsistentRead=consistent
        ).get("Item")
        return found

    def get_many(self, keys: Sequence[Item], *, consistent: bool = False) -> list[Item]:
        """The items that exist, in the order of their keys."""
        found: dict[tuple[str, str], Item] = {}
        for start in range(0, len(keys), 100):
            request: Any = {
                self.name: {"Keys": list(keys[start : start + 100]), "ConsistentRead": consistent}
            }
            while request:
                answer = self._call("batch_get_item", RequestItems=request)
                for item in answer.get("Responses", {}).get(self.name, ()):
                    found[item["PK"]["S"], item["SK"]["S"]] = item
                request = answer.get("UnprocessedKeys")
        wanted = ((key["PK"]["S"], key["SK"]["S"]) for key in keys)
        return [found[key] for key in wanted if key in found]

    def told(self, operation: str) -> dict[str, Any]:
        """What DynamoDB says of the table itself: `describe_table`, `describe_time_to_live`."""
        answer: dict[str, Any] = self._call(operation, TableName=self.name)
        return answer

    def query(self, **parameters: Any) -> Iterator[dict[str, Any]]:
        """The pages of a query, each read when it is asked for."""
        while True:
            page = self._call("query", TableName=self.name, **parameters)
            yield page
            if not (last := page.get("LastEvaluatedKey")):
                return
            parameters["ExclusiveStartKey"] = last

    def put(self, item: Item) -> None:
        """A new item; `Conflict` if one is there."""
        self.write(self.action("Put", Item=item, ConditionExpression=NEW))

    def update(
        self, key: Item, change: str, condition: str | None, expression: Expression, **options: Any
    ) -> Item:
        """One guarded change; returns what `ReturnValues` asks for."""
        if condition:
            options["ConditionExpression"] = condition
        answer = self.write(
            self.action("Update", Key=key, UpdateExpression=change, **expression.parameters(), **options)
        )
        attributes: Item = answer.get("Attributes", {})
        return attributes

    def write(self, action: dict[str, Any], *, patient: bool = True) -> Any:
        """One action by itself, at half the price of a transaction."""
        ((verb, parameters),) = action.items()
        started = time.monotonic()
        while True:
            try:
                return self._call(f"{verb.lower()}_item", **parameters)
            except Busy as busy:
                if not patient:
                    raise
                self._wait_for_conflict(started, busy)

    def transact(self, actions: list[dict[str, Any]], *, patient: bool = True) -> None:
        """All or nothing. Built once and sent again as it is, so a lost answer cannot double it."""
        token, started = new_id(), time.monotonic()
        while True:
            try:
                self._call("transact_write_items", TransactItems=actions, ClientRequestToken=token)
                return
            except Busy as busy:
                if not patient:
                    raise
                self._wait_for_conflict(started, busy)

    def insist(self, write: Callable[[], Answer], job_id: str) -> Answer:
        """Repeat a write that opens or ends a run until it is answered; it must recognise itself.

        A run that was opened unheard would lapse and count as a failed attempt, one that ended unheard would
        look like a lost lease.
        """
        for wait in INSISTENCE:
            try:
                return write()
            except Rejected:
                raise
            except Unavailable as error:
                logger.warning("write not answered yet", extra={"job_id": job_id, "reason": str(error)})
                self.sleep(wait)
        return write()

    def action(self, verb: str, **parameters: Any) -> dict[str, Any]:
        """One action of a transaction, told to show what stood there if its condition fails."""
        if "ConditionExpression" in parameters:
            parameters["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return {verb: {"TableName": self.name, **parameters}}

    def _wait_for_conflict(self, started: float, busy: Busy) -> None:
        if time.monotonic() - started > CONFLICT_PATIENCE:
            raise Unavailable(
                f"another transaction held the item for {CONFLICT_PATIENCE:g} seconds in table {self.name}"
            ) from busy
        self.sleep(_random.uniform(0.005, 0.05))

    def _call(self, operation: str, **parameters: Any) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

        consumed = self._consumed
        if consumed is not None:
            parameters["ReturnConsumedCapacity"] = "TOTAL"
        try:
            answer = getattr(self.client, operation)(**parameters)
            if consumed is not None:
                consumed.add(operation, answer)
            return answer
        except ClientError as error:
            raise self._translated(error, operation) from error
        except ParamValidationError as error:
            raise Rejected(f"{operation} on table {self.name} was not sent: {error}") from error
        except BotoCoreError as error:
            raise Unavailable(f"{operation} on table {self.name} got no answer: {error}") from error

    def _translated(self, error: Any, operation: str) -> DynajobsError:
        code = error.response.get("Error", {}).get("Code", "")
        if code == "ConditionalCheckFailedException":
            item = error.response.get("Item")
            return Conflict(items={0: item} if item else None)
        if code in _CONFLICTS:
            return Busy(code)
        if code == "TransactionCanceledException":
            reasons = error.response.get("CancellationReasons", ())
            refused = [n for n, reason in enumerate(reasons) if reason.get("Code") == _FAILED]
            if refused:
                return Conflict(refused, {n: reasons[n]["Item"] for n in refused if reasons[n].get("Item")})
            if any(reason.get("Code") in _PASSING for reason in reasons):
                return Busy(code)
        if code == "ResourceNotFoundException" and operation != "transact_write_items":
            return Rejected(
                f"there is no table {self.name!r}, or it lacks the index, in this region and account"
            )
        kind = Rejected if code in _REJECTED else Unavailable
        return kind(f"{operation} on table {self.name} failed: {error}")
