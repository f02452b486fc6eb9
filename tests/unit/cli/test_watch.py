"""`--watch` draws again and again, in place, and ends well."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from click import testing

from dynajobs import JobQueue, Unavailable
from tests.support.commands import BOTH_WAYS, Run, told

pytestmark = BOTH_WAYS


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What happens at each pause; after that Ctrl-C is pressed. How long they are is left in their place."""
    events: list[Any] = []
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if not events:
            raise KeyboardInterrupt
        events.pop(0)()

    monkeypatch.setattr("dynajobs.cli.watch.time", type("Time", (), {"sleep": staticmethod(sleep)}))
    assert time.sleep is not sleep
    events_and_slept: list[Any] = [events, slept]
    return events_and_slept


def test_it_draws_until_ctrl_c(run: Run, queue: JobQueue, sleeps: list[Any]) -> None:
    events, slept = sleeps
    events.append(lambda: queue.enqueue("sync"))

    result = run("jobs", "list", "--watch")

    assert (result.exit_code, slept) == (0, [2.0, 2.0])
    assert result.stdout.startswith("No jobs.\n") and "● pending" in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("command", [("stats",), ("errors",), ("schedules", "list"), ("jobs", "list")])
def test_so_many_seconds(run: Run, sleeps: list[Any], command: tuple[str, ...]) -> None:
    assert run(*command, "--watch", "5").exit_code == 0
    assert sleeps[1] == [5.0]


def test_a_terminal_is_drawn_over(
    run: Run, queue: JobQueue, sleeps: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testing._NamedTextIOWrapper, "isatty", lambda _: True)
    monkeypatch.setenv("LINES", "5")
    monkeypatch.setenv("COLUMNS", "130")
    for _ in range(9):
        queue.enqueue("sync")
    sleeps[0].append(lambda: None)

    result = run("jobs", "list", "--watch", color=True)

    _, first, second = result.stdout.split("\x1b[H")[-3:]
    assert first == second and first.endswith("\x1b[J")
    assert "… 7 more lines" in first and len(first.splitlines()) == 5


def test_a_look_that_fails_is_tried_again(
    run: Run, sleeps: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: JobQueue) -> Any:
        raise Unavailable("no answer")

    before: Callable[[JobQueue], Any] = JobQueue.stats
    sleeps[0].append(lambda: monkeypatch.setattr(JobQueue, "stats", failing))
    sleeps[0].append(lambda: monkeypatch.setattr(JobQueue, "stats", before))

    result = run("stats", "--watch")

    assert result.exit_code == 0
    assert result.stdout.count("No job is due.") == 2
    assert ": trying again.\n" in result.stdout


def test_the_first_look_must_succeed(run: Run, sleeps: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: JobQueue) -> Any:
        raise Unavailable("no answer")

    monkeypatch.setattr(JobQueue, "stats", failing)
    told(run("stats", "--watch"), 3)
    assert sleeps[1] == []


def test_what_it_does_not_go_with(run: Run) -> None:
    assert "--watch and --json are both given" in told(run("stats", "--watch", "--json"), 2)
    assert "0.2<=x<=3600" in told(run("stats", "--watch", "0"), 2)
