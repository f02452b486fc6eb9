"""Who changed what, when, on what, and what came of it."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from dynajobs import keys
from dynajobs.dynamo import Expression
from dynajobs.errors import DynajobsError, InvalidCursor
from dynajobs.item import Item
from dynajobs.jsons import cut_json, dump_json, exact, load_json
from dynajobs.producing import checked_whole
from dynajobs.telemetry import logger

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

DAYS_A_PAGE = 31
"""Days looked through for one page of the list."""

MAX_DETAILS = 8 * 1024


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does something, and by which way: `api` or `cli`."""

    name: str
    via: str


class Audit:
    """The records of one actor's changes, and the list of everybody's."""

    def __init__(self, queue: JobQueue, actor: Actor) -> None:
        self._queue = queue
        self._actor = actor

    @contextmanager
    def of(self, action: str, target: str, **details: Any) -> Iterator[dict[str, Any]]:
        """Record what happens in the block: done, or the error that ended it. More details may be added."""
        try:
            yield details
        except Exception as error:
            said = str(error) if isinstance(error, DynajobsError) else "a fault of ours"
            self.record(action, target, type(error).__name__, **details, message=said)
            raise
        self.record(action, target, "done", **details)

    def record(self, action: str, target: str, outcome: str, **details: Any) -> None:
        """Write down one thing that was done, or refused."""
        try:
            self._queue.store.table.put(self._item(action, target, outcome, details))
        except DynajobsError as error:  # what was done is done, and must be answered
            logger.error("audit record not written", extra={"action": action, "reason": str(error)})

    def _item(self, action: str, target: str, outcome: str, details: dict[str, Any]) -> Item:
        now, settings = self._queue.now(), self._queue.settings
        item: Item = {
            "PK": {"S": keys.audit_partition(now.date())},
            "SK": {"S": f"{keys.timestamp(now)}#{keys.new_id()}"},
            "who": {"S": self._actor.name},
            "via": {"S": self._actor.via},
            "action": {"S": action},
            "target": {"S": target[:1024]},
            "outcome": {"S": outcome},
            settings.ttl_attribute: {"N": str(int((now + timedelta(days=settings.audit_days)).timestamp()))},
        }
        if details:
            item["details"] = {"S": dump_json(cut_json(exact(details, "details"), MAX_DETAILS))}
        return item

    def list(self, limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
        """One page, newest first."""
        checked_whole("limit", limit, 1, 200)
        before = _parse(cursor) if cursor is not None else ""
        today = self._queue.now().date()
        day = keys.parse_slot_key(before).date() if before else today
        oldest = today - timedelta(days=self._queue.settings.audit_days)
        if day < oldest:
            return {"entries": [], "cursor": None}
        first = max(day - timedelta(days=DAYS_A_PAGE - 1), oldest)
        found = list(islice(self._walk(day, first, before, limit + 1), limit + 1))
        entries, more = found[:limit], len(found) > limit
        after = entries[-1]["SK"]["S"] if more else f"{first.isoformat()}T00:00:00.000000Z"
        return {
            "entries": [_view(item) for item in entries],
            "cursor": _cursor(after) if more or first > oldest else None,
        }

    def _walk(self, day: date, first: date, before: str, page: int) -> Iterator[Item]:
        """The records of some days, both ends included, newest first."""
        while day >= first:
            expression = Expression()
            condition = f"PK = {expression.value({'S': keys.audit_partition(day)})}"
            if before:
                condition += f" AND SK < {expression.value({'S': before})}"
            for answer in self._queue.store.table.query(
                KeyConditionExpression=condition,
                ScanIndexForward=False,
                Limit=page,
                **expression.parameters(),
            ):
                yield from answer["Items"]
            day -= timedelta(days=1)


def _view(item: Item) -> dict[str, Any]:
    details = item.get("details", {}).get("S")
    texts = {name: item[name]["S"] for name in ("who", "via", "action", "target", "outcome")}
    at = item["SK"]["S"].partition("#")[0]
    return {"at": at, **texts, "details": None if details is None else load_json(details)}


def _cursor(sk: str) -> str:
    return urlsafe_b64encode(sk.encode()).decode().rstrip("=")


def _parse(cursor: str) -> str:
    try:
        text = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        keys.parse_slot_key(text)
    except (ValueError, TypeError):
        raise InvalidCursor(f"cursor {cursor[:80]!r} is not one that a list returned") from None
    return text
