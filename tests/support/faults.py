"""A DynamoDB client whose line can fail at any one call: refused, its answer lost, or the item held."""

import functools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from io import BytesIO
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from moto.core.models import botocore_stubber

from tests.support.engines import plain_session

WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"})
MOST_CONFLICTS = 30
"""An item is let go after so many, for those who do not wait: a claim skips the job and looks again."""


class Fault(StrEnum):
    """What happens to one call; `unaided` means that botocore does not try again."""

    REFUSED = "request refused"
    LOST = "answer lost"
    REFUSED_UNAIDED = "request refused, botocore's retries off"
    LOST_UNAIDED = "answer lost, botocore's retries off"
    CONFLICT = "transaction conflict, once"
    HELD = "transaction conflict, longer than our patience"
    DIED = "the process died before the request"
    DIED_UNHEARD = "the process died before the answer"

    @property
    def unaided(self) -> bool:
        return self in (Fault.REFUSED_UNAIDED, Fault.LOST_UNAIDED)

    @property
    def lost(self) -> bool:
        return self in (Fault.LOST, Fault.LOST_UNAIDED, Fault.DIED_UNHEARD)

    @property
    def deadly(self) -> bool:
        return self in (Fault.DIED, Fault.DIED_UNHEARD)

    def concerns(self, api: str) -> bool:
        """A read has one way to fail: no transaction stops it, and an answer lost is a question not asked."""
        return api in WRITES or self in (Fault.REFUSED_UNAIDED, Fault.DIED)


class Died(BaseException):
    """Nobody catches it, as nobody survives a kill."""


class Line:
    """The line of one client to its engine. A call counts once, however often botocore sends it."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.calls: list[str] = []
        self.broken = False
        self._fault: Fault | None = None
        self._at = 0
        self._conflicts = 0
        self.in_process = client.meta.endpoint_url.endswith(".amazonaws.com")
        # botocore runs every handler of an event, so moto would carry out even what is refused here.
        client.meta.events.unregister("before-send", botocore_stubber)
        client.meta.events.register("before-call.dynamodb", self._count)
        client.meta.events.register("before-send.dynamodb", self._send)

    @contextmanager
    def failing(self, call: int, fault: Fault | None) -> Iterator[None]:
        """Count anew, and let the given call fail, the first being 1."""
        self.calls, self.broken, self._at, self._fault, self._conflicts = [], False, call, fault, 0
        try:
            yield
        finally:
            self._fault = None

    def mend(self) -> None:
        """Nothing fails any more."""
        self._fault = None

    def _count(self, model: Any, **_: Any) -> None:
        self.calls.append(model.name)

    def _send(self, request: Any, event_name: str, **_: Any) -> Any:
        match self._due_fault():
            case Fault.REFUSED | Fault.REFUSED_UNAIDED:
                raise EndpointConnectionError(endpoint_url=request.url, error="refused by the test")
            case Fault.LOST | Fault.LOST_UNAIDED:
                self._deliver(request, event_name)
                raise ReadTimeoutError(endpoint_url=request.url, error="lost by the test")
            case Fault.DIED:
                raise Died
            case Fault.DIED_UNHEARD:
                self._deliver(request, event_name)
                raise Died
            case Fault.CONFLICT | Fault.HELD:
                return _conflict(request, event_name.rpartition(".")[2])
        return self._deliver(request, event_name)

    def _due_fault(self) -> Fault | None:
        if self._fault is Fault.HELD:
            due = len(self.calls) >= self._at and self.calls[-1] in WRITES
            self._conflicts += due
            due = due and self._conflicts < MOST_CONFLICTS
        else:
            due = len(self.calls) == self._at and not self.broken
        if not due:
            return None
        self.broken = True
        return self._fault

    def _deliver(self, request: Any, event_name: str) -> Any:
        if self.in_process:
            return botocore_stubber(event_name, request)
        return self.client._endpoint.http_session.send(request)


@functools.cache
def line(endpoint_url: str, *, retries: bool) -> Line:
    """A line to an engine; with retries, botocore tries as often as it does for the library's own client."""
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 4 if retries else 1},
        parameter_validation=False,
        proxies={},
    )
    return Line(plain_session().client("dynamodb", endpoint_url=endpoint_url, config=config))


class _Body(BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()


def _conflict(request: Any, api: str) -> AWSResponse:
    """What DynamoDB answers while another transaction holds the item; no emulator ever does."""
    if api == "TransactWriteItems":
        *others, _ = json.loads(request.body)["TransactItems"]
        held = {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}
        reasons = [*({"Code": "None"} for _ in others), held]
        codes = ", ".join(reason["Code"] for reason in reasons)
        answer = {
            "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
            "Message": f"Transaction cancelled, please refer cancellation reasons [{codes}]",
            "CancellationReasons": reasons,
        }
    else:
        answer = {
            "__type": "com.amazonaws.dynamodb.v20120810#TransactionConflictException",
            "message": "Transaction is ongoing for the item",
        }
    headers = {"content-type": "application/x-amz-json-1.0"}
    return AWSResponse(request.url, 400, headers, _Body(json.dumps(answer).encode()))
