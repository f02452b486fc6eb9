"""The command line as a whole: help, completion, failures, words."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete

from dynajobs import JobQueue, cli, words
from dynajobs.cli.failure import Application
from tests.support.commands import Run, dead_letter, told


class TestWorker:
    @pytest.mark.parametrize(
        ("target", "why"),
        [
            ("jobs", "must look like myapp.jobs:jobs"),
            ("no_such_module:jobs", "cannot be loaded: ModuleNotFoundError"),
            ("json:jobs", "cannot be loaded: AttributeError"),
            ("json:dumps", "is a function, not a Registry"),
        ],
    )
    def test_a_registry_that_is_none(self, run: Run, target: str, why: str) -> None:
        assert why in told(run("worker", target), 2)

    def test_no_such_table(self, run: Run) -> None:
        target = "tests.support.handlers:jobs"
        assert "there is no table 'nowhere'" in told(run("worker", target, "--table", "nowhere"), 3)


def test_states_and_known_job_types_complete(run: Run, queue: JobQueue) -> None:
    dead_letter(queue)

    def complete(*words: str) -> list[str]:
        shell = BashComplete(cli.main, {}, "dynajobs", "_DYNAJOBS_COMPLETE")
        return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]

    assert complete("jobs", "list", "--state", "dead") == ["dead_letter"]
    assert complete("jobs", "list", "--type", "w") == ["work"]
    assert complete("jobs", "enqueue", "") == ["work"]
    assert complete("jobs", "enqueue", "x") == []
    del os.environ["DYNAJOBS_TABLE"]
    assert complete("jobs", "enqueue", "") == []
    assert "_DYNAJOBS_COMPLETE" in run(env={"_DYNAJOBS_COMPLETE": "bash_source"}, prog_name="dynajobs").stdout


def test_help_is_help(run: Run) -> None:
    assert run("--help").exit_code == 0 and "Exit codes" in run("-h").stdout
    assert run("--version", prog_name="dynajobs").stdout.startswith("dynajobs, version ")
    assert run().exit_code == 2 and "Commands:" in run().stderr
    assert "No such command 'job'" in told(run("job"), 2)


def options_of(command: click.Command) -> set[str]:
    if isinstance(command, click.Group):
        return set().union(*map(options_of, command.commands.values()))
    shown = (param for param in command.params if isinstance(param, click.Option) and not param.hidden)
    return {name for param in shown for name in param.opts}


def test_every_option_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "cli.md").read_text()
    assert [option for option in sorted(options_of(cli.main)) if f"`{option}" not in text] == []


def test_a_bug_of_ours_is_a_sentence_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: JobQueue) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(JobQueue, "stats", broken)
    assert told(run("stats"), 70) == "unexpected KeyError: 'oops' (please report it: this is a bug)"


def test_an_interrupt_is_a_word(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: JobQueue) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(JobQueue, "stats", interrupted)
    assert run("stats").exit_code == 130


def test_the_application_can_be_part_of_another() -> None:
    assert isinstance(cli.main, Application)
    assert cli.main.main(["--version"], standalone_mode=False) == 0


NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "now"), (42, "in 42s"), (-42, "42s ago"), (59.7, "in 1m"), (180, "in 3m"), (-3570, "1h ago"),
        (-18000, "5h ago"), (86400 * 7, "in 7d"), (86400 * 8, "2026-11-26"), (-86400 * 30, "2026-10-19"),
    ],
)  # fmt: skip
def test_times_as_people_say_them(seconds: float, text: str) -> None:
    assert words.relative(NOON + timedelta(seconds=seconds), NOON) == text
    overdue = f"due {text}" if seconds < 0 else text
    assert words.due(NOON + timedelta(seconds=seconds), NOON) == overdue


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0ms"), (0.84, "840ms"), (0.9999, "1.0s"), (3.21, "3.2s"), (59.97, "1m 00s"), (245, "4m 05s"),
        (7800, "2h 10m"), (86400 * 3 + 14500, "3d 4h"), (-1, "0ms"),
    ],
)  # fmt: skip
def test_lengths_as_people_say_them(seconds: float, text: str) -> None:
    assert words.length(timedelta(seconds=seconds)) == text
