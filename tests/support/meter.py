"""What a client's requests cost: write units counted from the items by our own rules, read units as told."""

from typing import Any

from dynajobs.units import condition_units, write_units

Item = dict[str, dict[str, Any]]
_READS = ("Query", "GetItem", "BatchGetItem")
_WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")


class Meter:
    """Counts the requests of one client, used by one thread; a second one looks at the items in between."""

    def __init__(self, client: Any, observer: Any) -> None:
        self.writes = 0
        self.control_writes = 0
        self.reads = 0.0
        self.requests: list[str] = []
        self._observer = observer
        self._before: list[tuple[str, str, Item, Item | None]] = []
        for operation in _READS:
            client.meta.events.register(f"provide-client-params.dynamodb.{operation}", self._ask)
        for operation in _WRITES:
            client.meta.events.register(f"provide-client-params.dynamodb.{operation}", self._look)
        client.meta.events.register("after-call.dynamodb", self._count)

    def take(self) -> int:
        """The write units since it was last asked, those of `control` apart."""
        taken, self.writes = self.writes, 0
        return taken

    def _ask(self, params: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {**params, "ReturnConsumedCapacity": "TOTAL"}

    def _look(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        actions = params.get("TransactItems") or [{model.name.removesuffix("Item"): params}]
        self._before = []
        for action in actions:
            ((verb, details),) = action.items()
            key = details.get("Key") or {name: details["Item"][name] for name in ("PK", "SK")}
            self._before.append((verb, details["TableName"], key, self._read(details["TableName"], key)))

    def _count(self, parsed: dict[str, Any], model: Any, http_response: Any, **_: Any) -> None:
        self.requests.append(model.name)
        if model.name in _READS:
            told = parsed.get("ConsumedCapacity", [])
            self.reads += sum(each["CapacityUnits"] for each in (told if isinstance(told, list) else [told]))
        elif model.name in _WRITES and http_response.status_code == 200:
            for verb, table, key, old in self._before:
                self._add(key, self._units(verb, table, key, old, model.name == "TransactWriteItems"))

    def _units(self, verb: str, table: str, key: Item, old: Item | None, transaction: bool) -> int:
        if verb == "ConditionCheck":
            return condition_units(old, transaction=transaction)
        return write_units(old, self._read(table, key), transaction=transaction)

    def _add(self, key: Item, units: int) -> None:
        if key["PK"] == {"S": "control"}:
            self.control_writes += units
        else:
            self.writes += units

    def _read(self, table: str, key: Item) -> Item | None:
        found: Item | None = self._observer.get_item(TableName=table, Key=key, ConsistentRead=True).get(
            "Item"
        )
        return found
