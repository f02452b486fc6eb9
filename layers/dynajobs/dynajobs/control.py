"""What everybody agrees on, kept in one partition: lanes in use, known job types, the latest pass."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from dynajobs import keys
from dynajobs.dynamo import Conflict, Expression, Table
from dynajobs.item import Item
from dynajobs.settings import Settings

RESERVATION: Item = {"PK": {"S": keys.CONTROL}, "SK": {"S": "reservation"}}
STILL_FRESH = 0.25
"""Seconds for which a worker relies on what it read of the reservation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Who has, or had, the queue to themselves. `status`: active released expired."""

    by: str
    status: str
    since: datetime
    until: datetime
    released_at: datetime | None = None
    in_flight: int | None = None
    """Jobs that were running when it began; known to the holder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PollerSettings:
    """What the poller was told when it last started, for those who explain what it does."""

    job_types: frozenset[str]
    """It has a function for each of these; `*` stands for the rest."""

    max_in_flight: int
    enabled: bool
    scheduler_enabled: bool

    def handles(self, job_type: str) -> bool:
        """Whether a job of this type has a function to go to."""
        return not self.job_types.isdisjoint({job_type, "*"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """One consistent reading of it all."""

    shards: int
    """Lanes per priority: as many as were ever used."""

    job_types: tuple[str, ...] = ()
    """Every type that has a finished job, or had one."""

    ticked_at: datetime | None = None
    """When a poller last read all lanes."""

    leases: int = 0
    """How many leases were in force then."""

    worked_at: datetime | None = None
    """When a worker last did."""

    watcher: str | None = None
    """The poller that promised to look for new work again and again …"""

    watching_until: datetime | None = None
    """… until here, unless it promises anew."""

    installed: str | None = None
    """Which schedules of our own were installed."""

    reserved_until: datetime | None = None
    """Until here nobody starts a job, unless the reservation is released."""

    poller: PollerSettings | None = None
    """None until a poller function has started."""

    @property
    def looked_at(self) -> datetime | None:
        """When anybody last read all lanes."""
        return max(filter(None, (self.ticked_at, self.worked_at)), default=None)

    def reserved(self, now: datetime) -> bool:
        """Somebody has the queue to themselves."""
        return self.reserved_until is not None and self.reserved_until > now

    def watched(self, now: datetime) -> bool:
        """Somebody looks out for what falls due soon."""
        return self.watching_until is not None and self.watching_until > now


class Control:
    """Reads and writes what is agreed; remembers what it need not write again."""

    def __init__(self, table: Table, settings: Settings) -> None:
        self.table = table
        self.settings = settings
        self._known_types: set[str] = set()
        self._lanes_ensured = 1
        self._reserved_until: datetime | None = None
        self._reservation_read = -float("inf")

    def read(self) -> Agreed:
        """Everything, consistently."""
        expression = Expression()
        partition = expression.value({"S": keys.CONTROL})
        pages = self.table.query(
            KeyConditionExpression=f"PK = {partition}", ConsistentRead=True, **expression.parameters()
        )
        items: dict[str, Item] = {item["SK"]["S"]: item for page in pages for item in page["Items"]}
        lanes, types, poll, held, own, told = (
            items.get(name, {}) for name in ("lanes", "types", "poll", "reservation", "installed", "poller")
        )
        return Agreed(
            shards=max(int(lanes.get("shards", {}).get("N", "1")), self.settings.shards),
            job_types=tuple(sorted(types.get("types", {}).get("SS", ()))),
            ticked_at=_time(poll, "ticked_at"),
            leases=int(poll.get("leases", {}).get("N", "0")),
            worked_at=_time(poll, "worked_at"),
            watcher=poll.get("watcher", {}).get("S"),
            watching_until=_time(poll, "watching_until"),
            installed=own.get("schedules", {}).get("S"),
            reserved_until=_held_until(held),
            poller=_poller_settings(told) if told else None,
        )

    def reserved(self, now: datetime, *, fresh: bool = False) -> bool:
        """Somebody has the queue to themselves; read now, or again a few times a second."""
        if fresh or time.monotonic() - self._reservation_read >= STILL_FRESH:
            self._reservation_read = time.monotonic()
            self._reserved_until = _held_until(self.table.get(RESERVATION) or {})
        return self._reserved_until is not None and self._reserved_until > now

    def reservation(self, now: datetime) -> Reservation | None:
        """The last reservation as it is now; whoever crashed has lost it at its end."""
        item = self.table.get(RESERVATION)
        if item is None:
            return None
        status, until = item["status"]["S"], keys.parse_time(item["until"]["S"])
        return Reservation(
            by=item["by"]["S"],
            status="expired" if status == "active" and until <= now else status,
            since=keys.parse_time(item["since"]["S"]),
            until=until,
            released_at=_time(item, "released_at"),
        )

    def ensure_lanes(self) -> None:
        """Pollers read as many lanes as were ever used: say so before the first job goes to a new one."""
        if self.settings.shards <= self._lanes_ensured:
            return
        expression = Expression()
        name = expression.name("shards")
        count = expression.value({"N": str(self.settings.shards)})
        with suppress(Conflict):  # as many or more are known already
            self.table.update(
                _key("lanes"),
                f"SET {name} = {count}",
                f"attribute_not_exists({name}) OR {name} < {count}",
                expression,
            )
        self._lanes_ensured = self.settings.shards

    def learn_type(self, job_type: str) -> None:
        """A type becomes known before its first job finishes, or a list would miss that one."""
        if job_type in self._known_types:
            return
        expression = Expression()
        types, one = expression.name("types"), expression.value({"SS": [job_type]})
        self.table.update(_key("types"), f"ADD {types} {one}", "", expression)
        self._known_types.add(job_type)

    def tell_installed(self, schedules: str) -> None:
        """The schedules of our own are there."""
        expression = Expression()
        change = f"SET {expression.name('schedules')} = {expression.value({'S': schedules})}"
        self.table.update(_key("installed"), change, None, expression)

    def tell_poller(self) -> None:
        """A poller with our settings has started."""
        expression = Expression()
        told: Item = {
            "max_in_flight": {"N": str(self.settings.max_in_flight)},
            "enabled": {"BOOL": self.settings.enabled},
            "scheduler_enabled": {"BOOL": self.settings.scheduler_enabled},
        }
        if self.settings.handlers:
            told["types"] = {"SS": sorted(self.settings.handlers)}
        change = expression.difference({} if "types" in told else {"types": {"SS": []}}, told, {"types"})
        self.table.update(_key("poller"), change, None, expression)

    def tell_pass(self, passed_at: datetime, leases: int) -> None:
        """A poller has read all lanes and found so many leases in force."""
        expression = Expression()
        self.table.update(_key("poll"), f"SET {_pass(expression, passed_at, leases)}", None, expression)

    def tell_worked(self, now: datetime) -> None:
        """A worker has read all lanes."""
        expression = Expression()
        change = f"SET {expression.name('worked_at')} = {_at(expression, now)}"
        self.table.update(_key("poll"), change, None, expression)

    def watch(
        self, watcher: str, now: datetime, until: datetime, passed: tuple[datetime, int] | None = None
    ) -> bool:
        """Promise to look again and again until then, and tell of a pass; False while another watches."""
        expression = Expression()
        mine = expression.value({"S": watcher})
        who, till = expression.name("watcher"), expression.name("watching_until")
        change = f"{who} = {mine}, {till} = {_at(expression, until)}"
        if passed:
            change += f", {_pass(expression, *passed)}"
        free = f"attribute_not_exists({who}) OR {who} = {mine} OR {till} <= {_at(expression, now)}"
        try:
            self.table.update(_key("poll"), f"SET {change}", free, expression)
        except Conflict:
            return False
        return True

    def leave(self, watcher: str) -> None:
        """Take the promise back: whoever sees new work from now on wakes another poller."""
        expression = Expression()
        who, till = expression.name("watcher"), expression.name("watching_until")
        mine = f"{who} = {expression.value({'S': watcher})}"
        with suppress(Conflict):
            self.table.update(_key("poll"), f"REMOVE {who}, {till}", mine, expression)


def poller_settings(settings: Settings) -> PollerSettings:
    """What a poller with these settings tells."""
    return PollerSettings(
        job_types=frozenset(settings.handlers),
        max_in_flight=settings.max_in_flight,
        enabled=settings.enabled,
        scheduler_enabled=settings.scheduler_enabled,
    )


def _poller_settings(item: Item) -> PollerSettings:
    return PollerSettings(
        job_types=frozenset(item.get("types", {}).get("SS", ())),
        max_in_flight=int(item["max_in_flight"]["N"]),
        enabled=item["enabled"]["BOOL"],
        scheduler_enabled=item["scheduler_enabled"]["BOOL"],
    )


def _held_until(item: Item) -> datetime | None:
    return _time(item, "until") if item.get("status") == {"S": "active"} else None


def _pass(expression: Expression, passed_at: datetime, leases: int) -> str:
    ticked_at, count = expression.name("ticked_at"), expression.name("leases")
    number = expression.value({"N": str(leases)})
    return f"{ticked_at} = {_at(expression, passed_at)}, {count} = {number}"


def _at(expression: Expression, moment: datetime) -> str:
    return expression.value({"S": keys.timestamp(moment)})


def _key(name: str) -> Item:
    return {"PK": {"S": keys.CONTROL}, "SK": {"S": name}}


def _time(item: Item, name: str) -> datetime | None:
    text = item.get(name, {}).get("S")
    return keys.parse_time(text) if text else None
