"""Operations told as stories, once for every storage call and every way in which it can go wrong.

A story prepares a table, yields the operation under test, gets its answer, and says what must be true. It is
told once without a fault, to count its calls, and then once for each call and fault. An operation that says
`Unavailable` is called again, as its caller would; one whose process died is called again by another process.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import botocore.endpoint
import pytest

from dynajobs import Unavailable, dynamo, firing, poller, producing
from dynajobs.lease import Renewer
from tests.support.faults import Died, Fault, line
from tests.support.table import create_lasting_table
from tests.support.world import World

Story = Generator[Callable[[], Any], Any, Any]
Tell = Callable[[World], Story]

MOTO_FAULTS = {Fault.LOST, Fault.REFUSED_UNAIDED, Fault.LOST_UNAIDED, Fault.DIED, Fault.DIED_UNHEARD}
"""moto is slow, and forgets the tokens of transactions: there our own eyes alone tell what arrived."""

RETRIED = {Fault.REFUSED, Fault.LOST, Fault.CONFLICT}


@dataclass(frozen=True)
class Operation:
    name: str
    tell: Tell
    settings: dict[str, Any]


@dataclass
class Stories:
    """The operations of a test module; called with settings it adds the story below it."""

    operations: list[Operation] = field(default_factory=list)

    def __call__(self, **settings: Any) -> Callable[[Tell], Tell]:
        def add(tell: Tell) -> Tell:
            self.operations.append(Operation(tell.__name__, tell, settings))
            return tell

        return add


def perform(operation: Operation, world: World, call: int = 0, fault: Fault | None = None) -> list[str]:
    """Tell a story with one fault in it; the calls of its operation."""
    steps = operation.tell(world)
    act = next(steps)
    world.slept, world.fault = 0.0, fault
    with world.line.failing(call, fault):
        try:
            answer = act()
        except (Unavailable, Died) as error:
            if not isinstance(error, Died) and (fault in RETRIED or error.__cause__ is None):
                raise
            world.line.mend()
            world.repeats += 1
            answer = act()
        calls = list(world.line.calls)
        assert fault is None or world.line.broken, "the fault never happened"
    with pytest.raises(StopIteration):
        steps.send(answer)
    world.assert_healthy()
    return calls


def tell_with_faults(
    operation: Operation,
    faults: Iterable[Fault],
    client: Any,
    table_name: str,
    monkeypatch: pytest.MonkeyPatch,
    subtests: pytest.Subtests,
) -> None:
    """Tell a story with each of its calls failing in each of these ways."""
    # One call at a time, so that each has its number; nobody waits, and nothing is renewed in the background.
    monkeypatch.setattr(producing, "PUT_THREADS", 1)
    monkeypatch.setattr(poller, "CLAIM_THREADS", 1)
    monkeypatch.setattr(firing, "FIRE_THREADS", 1)
    monkeypatch.setattr(Renewer, "_run", lambda _: None)
    monkeypatch.setattr(botocore.endpoint, "time", SimpleNamespace(sleep=lambda _: None))
    create_lasting_table(client, table_name)

    def world(fault: Fault | None = None) -> World:
        retries = fault is None or not fault.unaided
        made = World(line(client.meta.endpoint_url, retries=retries), table_name, **operation.settings)
        monkeypatch.setattr(dynamo, "time", SimpleNamespace(monotonic=made.monotonic))
        made.empty()
        return made

    told = world()
    calls = perform(operation, told)
    assert calls
    chosen = [fault for fault in faults if not told.line.in_process or fault in MOTO_FAULTS]
    for number, api in enumerate(calls, start=1):
        for fault in chosen:
            if fault.concerns(api):
                with subtests.test(f"{operation.name}, call {number} of {len(calls)} ({api}): {fault}"):
                    perform(operation, world(fault), number, fault)
