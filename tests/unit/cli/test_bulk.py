"""Many jobs at once: shown first, asked for, done in calls, told at the end."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from click import testing

from dynajobs import JobQueue, Status, Unavailable
from dynajobs.operating import bulk
from dynajobs.operating.jobs import Jobs
from tests.support.commands import BOTH_WAYS, UNKNOWN, Run, answer, dead_letter, told

pytestmark = BOTH_WAYS
RETRY = ("jobs", "bulk", "retry", "--state", "dead_letter")
CANCEL = ("jobs", "bulk", "cancel", "--type", "sync")


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """`CliRunner` replaces stdin; what it takes its place with says that it is no terminal."""
    monkeypatch.setattr(testing._NamedTextIOWrapper, "isatty", lambda _: True)


def test_a_preview_changes_nothing(run: Run, queue: JobQueue) -> None:
    dead = dead_letter(queue)
    queue.retry(dead_letter(queue))

    text = run(*RETRY, "--dry-run").stdout

    assert text.startswith("1 job would be retried:\n  by state  dead_letter: 1\n  by type   work: 1\n")
    assert f"such as   {dead.id}  work" in text
    assert "1 job would be left alone: it was retried already: 1." in text
    view = answer(run(*RETRY, "--dry-run", "--json"))
    assert (view["eligible"], view["dry_run"]) == (1, True)
    assert len(queue.list(status="pending")) == 1


def test_it_is_done_in_calls_and_told(run: Run, queue: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "A_CALL", 2)
    for _ in range(5):
        queue.enqueue("sync", delay=60)

    result = run(*CANCEL, "--yes")

    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "5 cancelled."
    assert queue.stats().by_status["cancelled"] == 5


def test_what_is_left_alone_is_told_with_its_reason(run: Run, queue: JobQueue, tmp_path: Path) -> None:
    dead, waiting = dead_letter(queue), queue.enqueue("sync")
    (tmp_path / "ids").write_text(f"{dead.id}\n{waiting.id}\n\n{dead.id}\n{UNKNOWN}\n")

    text = run("jobs", "bulk", "retry", "--ids", "ids", "--yes").stdout

    assert text.splitlines()[-1] == "1 retried, 2 skipped (it is gone: 1, it is pending: 1)."


def test_one_document_of_all_calls(run: Run, queue: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "A_CALL", 2)
    ids = {queue.enqueue("sync", delay=60).id for _ in range(3)}

    result = run(*CANCEL, "--yes", "--json")

    view = json.loads(result.stdout)
    assert (view["done"], view["already"], view["skipped"], view["cursor"]) == (3, 0, {}, None)
    assert {each["id"] for each in view["results"]} == ids
    assert "3 jobs would be cancelled" in result.stderr


def test_nothing_to_do(run: Run, queue: JobQueue) -> None:
    queue.enqueue("work")
    assert run(*CANCEL, "--yes").stdout == "0 jobs would be cancelled.\n0 cancelled.\n"
    lines = run("jobs", "bulk", "retry", "--type", "work", "--yes").stdout.splitlines()
    assert lines[-1] == "0 retried, 1 skipped (it is pending: 1)."


@pytest.mark.usefixtures("at_a_terminal")
@pytest.mark.parametrize(("said", "left"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_a_terminal_is_asked(run: Run, queue: JobQueue, said: str, left: int) -> None:
    queue.enqueue("sync")
    result = run(*CANCEL, input=said)
    assert "Cancel 1 job? [y/N]" in result.stderr
    assert result.exit_code == 0
    assert len(queue.list(status="pending")) == left


def test_without_a_terminal_it_must_be_told(run: Run, queue: JobQueue) -> None:
    queue.enqueue("sync")
    assert "give --yes to do it, or --dry-run" in told(run(*CANCEL), 2)
    assert len(queue.list(status="pending")) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("retry", "--yes"), "which jobs?"),
        (("retry", "--ids", "-", "--type", "a", "--yes"), "not both"),
        (("delete", "--type", "a"), "'delete' is not one of"),
        (("retry", "--ids", "missing", "--yes"), "--ids missing cannot be read"),
    ],
)
def test_what_is_wrong_with_the_arguments(run: Run, arguments: tuple[str, ...], said: str) -> None:
    assert said in told(run("jobs", "bulk", *arguments), 2)


def test_ids_from_stdin(run: Run, queue: JobQueue) -> None:
    job = queue.enqueue("sync")
    assert "1 cancelled." in run("jobs", "bulk", "cancel", "--ids", "-", "--yes", input=f"{job.id}\n").stdout
    bad = run("jobs", "bulk", "cancel", "--ids", "-", "--yes", input="seven\n")
    assert "has 'seven': it must have ids, one a line" in told(bad, 2)
    assert "has no ids in it" in told(run("jobs", "bulk", "cancel", "--ids", "-", "--yes", input=" "), 2)


def test_more_ids_than_one_preview_looks_at(
    run: Run, queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "A_PREVIEW", 2)
    monkeypatch.setattr(bulk, "A_CALL", 2)
    ids = "\n".join(queue.enqueue("sync").id for _ in range(5))
    result = run("jobs", "bulk", "cancel", "--ids", "-", "--yes", input=ids)
    assert result.stdout.startswith("5 jobs would be cancelled:")
    assert result.stdout.endswith("5 cancelled.\n")


def test_ctrl_c_stops_between_two_calls(run: Run, queue: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "A_CALL", 2)
    for _ in range(5):
        queue.enqueue("sync", delay=60)
    carried_out: list[int] = []
    before = bulk.carry_out

    def carry_out(*arguments: Any) -> Any:
        done = before(*arguments)
        carried_out.append(done["done"])
        if len(carried_out) == 1:
            signal.raise_signal(signal.SIGINT)
        return done

    monkeypatch.setattr(bulk, "carry_out", carry_out)
    result = run(*CANCEL, "--yes")

    assert result.exit_code == 130
    assert result.stdout.splitlines()[-1] == "2 cancelled."
    assert "interrupted: some are left. Run it again to go on" in result.stderr
    assert run(*CANCEL, "--yes").stdout.splitlines()[-1].startswith("3 cancelled")
    assert {job.status for job in queue.list()} == {Status.CANCELLED}


def test_a_failure_says_how_far_it_got(run: Run, queue: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "A_CALL", 2)
    for _ in range(3):
        queue.enqueue("sync", delay=60)
    called: list[bulk.Request] = []
    before = Jobs.bulk

    def failing(self: Jobs, request: bulk.Request) -> Any:
        called.append(request)
        if len(called) == 3:
            raise Unavailable("no answer")
        return before(self, request)

    monkeypatch.setattr(Jobs, "bulk", failing)
    result = run(*CANCEL, "--yes")

    assert result.exit_code == 3
    assert "2 are cancelled: run it again to go on" in result.stderr
