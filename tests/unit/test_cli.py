"""The command line on a table: what it prints, for people and for programs, and how it ends."""

import json
import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import click
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner, Result

from dynajobs import Job, JobQueue, Stats, cli
from dynajobs.cli import words
from dynajobs.cli.failure import Application
from dynajobs.cli.stack import enter
from dynajobs.execution import Executor
from dynajobs.lease import Renewer
from dynajobs.telemetry import Telemetry
from dynajobs.testing import Clock, create_table, drain
from dynajobs.worker import begin_here
from tests.support import engines
from tests.support.answering import answering
from tests.support.work import working

Run = Callable[..., Result]
NOBODY = "http://127.0.0.1:9"
NOW = datetime.now(UTC)
UNKNOWN = "0198f3e0-0000-7000-8000-000000000000"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty folder, and an environment that is put back: a command completes its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", engines.plain_session())
    monkeypatch.setattr("dynajobs.queue.utc_now", lambda: NOW)
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def new_session(environment: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    """A quarter of a second, for those who look at how credentials, region and profile are found."""
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


@pytest.fixture
def run(moto_client: Any, environment: None, table_name: str) -> Run:  # noqa: ARG001
    create_table(moto_client, table_name)
    os.environ["DYNAJOBS_TABLE"] = table_name

    def run(*arguments: str, **options: Any) -> Result:
        return CliRunner().invoke(cli.main, arguments, **options)

    return run


@pytest.fixture
def queue(run: Run, moto_client: Any, table_name: str) -> JobQueue:  # noqa: ARG001 - it made the table
    return JobQueue(table_name, client=moto_client)


def answer(result: Result) -> Any:
    """The one document on stdout of a command that succeeded in silence."""
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def told(result: Result, code: int) -> str:
    """The sentence of a command that failed with a code."""
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith("dynajobs: ")
    assert "Traceback" not in result.stderr
    return result.stderr.removeprefix("dynajobs: ").strip()


def dead_letter(queue: JobQueue, **payload: Any) -> Job:
    old = JobQueue(
        queue.settings.table,
        client=queue.store.table.client,
        clock=Clock(NOW - timedelta(hours=5)),
    )
    old.enqueue("work", {"do": "discard", "value": "no such file", **payload})
    (job,) = drain(old, working())
    return job


def running(queue: JobQueue) -> Job:
    job = queue.enqueue("work", {"do": "ok"})
    executor = Executor(queue, working(), Telemetry(queue.settings), Renewer(queue.settings.lease))
    begun = begin_here(executor, queue.store.find(job.id), "host:1")
    assert begun
    return begun.job


class TestList:
    def test_nothing_is_said_in_a_sentence(self, run: Run) -> None:
        assert run("jobs", "list").stdout == "No jobs.\n"
        assert run("jobs", "list", "--state", "failed").stdout == "No failed jobs.\n"
        assert run("jobs", "list", "--type", "x").stdout == "No jobs that match.\n"
        assert answer(run("jobs", "list", "--json")) == {"jobs": [], "cursor": None}

    def test_a_pipe_gets_one_line_per_job_with_what_matters_in_its_state(
        self, run: Run, queue: JobQueue
    ) -> None:
        late = queue.enqueue("sync", {"user": "u1"}, run_at=NOW - timedelta(minutes=7))
        soon = queue.enqueue("sync", {"note": "two words", "token": "t"}, delay=180, priority=2)
        dead = dead_letter(queue)
        now = running(queue)

        lines = run("jobs", "list").stdout.splitlines()

        assert [line.split() for line in lines] == [
            ["STATE", "ID", "TYPE", "WHEN", "TRIES"],
            f'● pending {soon.id} sync P2 in 3m 0/5 note="two words" token="•••"'.split(),
            f"● pending {late.id} sync due 7m ago 0/5 user=u1".split(),
            f"● in_progress {now.id} work for 0s 0/5 do=ok".split(),
            f"● dead_letter {dead.id} work 5h ago 0/5 Discard: no such file".split(),
        ]

    def test_eighty_columns_hold_every_id_whole(
        self, run: Run, queue: JobQueue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        jobs = [queue.enqueue("x" * 60, {"text": "y" * 200}, delay=n) for n in range(1, 4)]
        for columns in ("40", "80", "140"):
            monkeypatch.setenv("COLUMNS", columns)
            text = run("jobs", "list").stdout
            assert all(job.id in text for job in jobs)
            assert max(map(len, text.splitlines())) <= max(int(columns), 76)
            assert "…" in text and "● pending" in text and "0/5" in text

    def test_filters_and_pages(self, run: Run, queue: JobQueue) -> None:
        jobs = [queue.enqueue("a", org_id="acme", delay=n) for n in (1, 2, 3)]
        queue.enqueue("b")
        first = answer(run("jobs", "list", "--org-id", "acme", "--limit", "2", "--json"))
        rest = answer(
            run("jobs", "list", "--org-id", "acme", "--limit", "2", "--cursor", first["cursor"], "--json")
        )

        assert [job["id"] for job in first["jobs"] + rest["jobs"]] == [job.id for job in jobs]
        assert rest["cursor"] is None
        assert len(answer(run("jobs", "list", "--type", "b", "--state", "pending", "--json"))["jobs"]) == 1
        assert answer(run("jobs", "list", "--schedule-name", "s", "--json"))["jobs"] == []
        shown = run("jobs", "list", "--org-id", "acme", "--limit", "2")
        assert shown.exit_code == 0 and f"--cursor {first['cursor']}" in shown.stderr

    def test_what_it_does_not_understand(self, run: Run) -> None:
        assert "one of 'pending', 'in_progress'" in told(run("jobs", "list", "--state", "late"), 2)
        assert "1<=x<=200" in told(run("jobs", "list", "--limit", "201"), 2)
        assert "not one that a list returned" in told(run("jobs", "list", "--cursor", "x"), 2)
        assert "not one that a list returned" in told(run("jobs", "list", "--cursor", ""), 2)
        assert "not empty" in told(run("jobs", "list", "--type", ""), 2)

    def test_what_is_stored_cannot_steer_the_terminal(self, run: Run, queue: JobQueue) -> None:
        dead_letter(queue, value="\x1b[2J\x9b31m\u202e[red]gone[/red]")
        queue.enqueue("work", {"\x1b]0;title": "\x07 [bold]x[/bold]"})

        for shown in (run("jobs", "list"), run("jobs", "list", "--json")):
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown.stdout)
        assert "[red]gone[/red]" in run("jobs", "list").stdout


class TestShow:
    def test_a_document_in_detail(self, run: Run, queue: JobQueue) -> None:
        job = queue.enqueue("work", {"n": 12345678901234567890, "f": 1.0, "password": "x"})

        view = answer(run("jobs", "show", job.id, "--json"))

        assert view["id"] == job.id and view["runs"] == [] and view["created"] is False
        assert view["payload"] == {"n": 12345678901234567890, "f": 1.0, "password": "•••"}
        assert view["payload_json"] == '{"n":12345678901234567890,"f":1.0,"password":"•••"}'

    def test_everything_about_a_job_that_failed(self, run: Run, queue: JobQueue) -> None:
        clock = Clock(NOW - timedelta(hours=1))
        old = JobQueue(queue.settings.table, client=queue.store.table.client, clock=clock)
        job = old.enqueue(
            "work",
            {"do": "fail", "value": "card was declined", "n": 3},
            max_attempts=2,
            org_id="acme",
            dedup_key="k",
            dedup_window="w",
            priority=1,
        )
        drain(old, working(), advance=True)

        text = run("jobs", "show", job.id, env={"COLUMNS": "80"}).stdout

        assert text.startswith("work  ● dead_letter, ")
        assert job.id in text
        for fact in (
            r"Tries +2/2 failed",
            r"Priority +1",
            r"Organisation +acme",
            r"Dedup key +k",
            r"Was due +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \(\d+m ago\)",
            r"#1 .* ● failed +0ms +RuntimeError: card was declined",
            r"#2 .* ● failed +0ms +RuntimeError: card was declined",
            r"Last error\n  Traceback",
            r'Payload\n  \{\n    "do": "fail",\n    "value": "card was declined",\n    "n": 3\n  \}',
        ):
            assert re.search(fact, text), fact

    def test_a_running_job_tells_its_lease_and_its_result_when_done(self, run: Run, queue: JobQueue) -> None:
        job = running(queue)
        text = run("jobs", "show", job.id).stdout
        assert "● in_progress, for 0s" in text and re.search(r"Lease +until .* \(in 1m\)", text)
        assert re.search(r"● running +\S+ +host:1", text)

        queue.enqueue("work", {"do": "return", "value": {"sent": [1, {}]}})
        (done,) = drain(queue, working())
        assert (
            'Result\n  {\n    "sent": [\n      1,\n      {}\n    ]\n  }'
            in run("jobs", "show", done.id).stdout
        )

    @pytest.mark.parametrize("command", ["show", "retry", "cancel"])
    def test_an_unknown_job(self, run: Run, command: str) -> None:
        assert UNKNOWN in told(run("jobs", command, UNKNOWN), 1)
        assert "must be a UUID" in told(run("jobs", command, "nonsense", "--json"), 1)
        assert "Missing argument 'ID'" in told(run("jobs", command), 2)


class TestEnqueue:
    def test_every_argument_is_a_flag(self, run: Run, queue: JobQueue) -> None:
        view = answer(
            run(
                *("jobs", "enqueue", "sync", "--payload", '{"user": "u1", "f": 1.0}', "--priority", "3"),
                *("--run-at", "2026-11-18T08:00:00+01:00", "--max-attempts", "7", "--org-id", "acme"),
                *("--group-id", "g", "--dedup-key", "k", "--dedup-window", "2026-11-18"),
                *("--job-id", UNKNOWN, "--json"),
            )
        )

        job = queue.get(UNKNOWN)
        assert view["id"] == UNKNOWN and view["created"] is True
        assert job.payload_json == '{"user":"u1","f":1.0}'
        assert job.scheduled_for == datetime(2026, 11, 18, 7, tzinfo=UTC)
        assert (job.priority, job.max_attempts, job.org_id, job.group_id) == (3, 7, "acme", "g")
        assert (view["dedup_key"], view["dedup_window"]) == ("k", "2026-11-18")

    def test_a_sentence_with_the_id(self, run: Run, queue: JobQueue) -> None:
        sentence = run("jobs", "enqueue", "sync").stdout
        (job,) = queue.list()
        assert sentence == f"{job.id} is enqueued, due now.\n"
        assert "due in 5m (" in run("jobs", "enqueue", "sync", "--delay", "5m").stdout
        assert (
            "due 9999-01-01 00:00:00 UTC." in run("jobs", "enqueue", "a", "--run-at", "9999-01-01T00Z").stdout
        )

    def test_a_duplicate_is_told_and_no_failure(self, run: Run, queue: JobQueue) -> None:
        run("jobs", "enqueue", "sync", "--dedup-key", "k")
        again = run("jobs", "enqueue", "sync", "--dedup-key", "k")

        assert again.exit_code == 0 and "was there already (pending)" in again.stdout
        assert answer(run("jobs", "enqueue", "sync", "--dedup-key", "k", "--json"))["created"] is False
        assert len(queue.list()) == 1

    def test_a_payload_from_a_file_and_from_stdin(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "p.json").write_text('{"é": 1}')

        assert answer(run("jobs", "enqueue", "a", "--payload", "@p.json", "--json"))["payload"] == {"é": 1}
        piped = run("jobs", "enqueue", "a", "--payload", "-", "--json", input='{"b": 2}')
        assert answer(piped)["payload"] == {"b": 2}

    @pytest.mark.parametrize(
        ("payload", "sentence"),
        [
            ('{"a": tru}', 'not JSON: expecting value at column 7\n  {"a": tru}\n        ^'),
            ('{\n "a": 1,\n "b": [1,,]\n}', 'at line 3, column 10\n   "b": [1,,]\n           ^'),
            ("", "it is empty"),
            ("[1]", "is a JSON list: it must be an object"),
            ("null", "is a JSON null"),
            ('{"a": NaN}', "NaN is no JSON"),
            ('{"a": 1e999}', "payload.a is inf"),
            ("@missing.json", "cannot be read"),
            ("@folder", "cannot be read"),
            ("[" * 100_000, "nested too deeply"),
        ],
    )
    def test_what_is_wrong_with_a_payload_is_shown(
        self, run: Run, queue: JobQueue, tmp_path: Path, payload: str, sentence: str
    ) -> None:
        (tmp_path / "folder").mkdir()
        assert sentence in told(run("jobs", "enqueue", "a", "--payload", payload), 2)
        assert not queue.list()

    def test_only_the_part_of_a_long_line_that_is_wrong_is_shown(self, run: Run) -> None:
        text = '{"long": "' + "x" * 500 + '", oops, "more": "' + "y" * 500 + '"}'
        *_, line, mark = told(run("jobs", "enqueue", "a", "--payload", text), 2).split("\n")

        assert len(line) < 70 and line[len(mark) - 1 :].startswith("oops")

    @pytest.mark.parametrize(
        ("flags", "sentence"),
        [
            (("--run-at", "2026-11-18T08:00"), "has no offset from UTC: write 2026-11-18T08:00Z for UTC"),
            (("--run-at", "2026-11-18"), "write 2026-11-18T00:00Z for UTC"),
            (("--run-at", "tomorrow"), "is no time: write one such as 2026-11-18T07:00:00Z"),
            (("--run-at", "9999-12-31T23:59:59-10:00"), "outside the years 1..9999"),
            (("--delay", "-5"), "is no duration: write seconds, or 90s, 5m, 2h, 3d"),
            (("--delay", "5 minutes"), "is no duration"),
            (("--delay", "nan"), "is no duration"),
            (("--delay", "1.2.3h"), "is no duration"),
            (("--delay", "9999999d"), "beyond the year 9999"),
            (("--delay", "1", "--run-at", "2026-11-18T07:00Z"), "--run-at and --delay are both given"),
            (("--priority", "4"), "0<=x<=3"),
            (("--max-attempts", "0"), "1<=x<=100"),
            (("--dedup-window", "w"), "there is no dedup_key"),
            (("--job-id", "7"), "must be a UUID"),
            (("--colour", "red"), "No such option '--colour'"),
        ],
    )
    def test_what_is_wrong_with_a_flag_is_said(
        self, run: Run, queue: JobQueue, flags: tuple[str, ...], sentence: str
    ) -> None:
        assert sentence in told(run("jobs", "enqueue", "a", *flags), 2)
        assert not queue.list()

    def test_a_naive_time_is_answered_in_the_machine_s_zone_too(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TZ", "Europe/Berlin")
        time_zone = pytest.importorskip("time").tzset
        time_zone()
        try:
            sentence = told(run("jobs", "enqueue", "a", "--run-at", "2026-07-18 08:00"), 2)
        finally:
            monkeypatch.delenv("TZ")
            time_zone()
        assert "2026-07-18 08:00Z for UTC, 2026-07-18 08:00+02:00 for this machine's" in sentence

    def test_a_bad_type_and_an_id_that_exists(self, run: Run, queue: JobQueue) -> None:
        assert "it must match" in told(run("jobs", "enqueue", "two words"), 2)
        job = queue.enqueue("a")
        assert "exists" in told(run("jobs", "enqueue", "a", "--job-id", job.id), 2)

    @pytest.mark.parametrize(
        ("text", "seconds"),
        [("90", 90), ("1.5", 1.5), ("90s", 90), ("5m", 300), ("2h", 7200), ("3d", 259200), ("1h30m", 5400)],
    )
    def test_durations(self, run: Run, queue: JobQueue, text: str, seconds: float) -> None:
        run("jobs", "enqueue", "a", "--delay", text)
        (job,) = queue.list()
        assert job.scheduled_for - job.created_at == timedelta(seconds=seconds)


class TestChange:
    def test_retry_makes_one_new_job(self, run: Run, queue: JobQueue) -> None:
        dead = dead_letter(queue)

        first = run("jobs", "retry", dead.id)
        again = run("jobs", "retry", dead.id)

        (job,) = queue.list(status="pending")
        assert first.stdout == f"{job.id} is enqueued, due now: it runs {dead.id} again.\n"
        assert again.stdout == f"{job.id} runs it again already (pending): nothing new is enqueued.\n"
        view = answer(run("jobs", "retry", dead.id, "--json"))
        assert (view["id"], view["retry_of"], view["created"]) == (job.id, dead.id, False)

    def test_retry_of_a_failed_job_makes_it_due(self, run: Run, queue: JobQueue) -> None:
        job = queue.enqueue("work", {"do": "fail"})
        drain(queue, working())

        assert run("jobs", "retry", job.id).stdout == f"{job.id} is failed, due now.\n"

    def test_cancel(self, run: Run, queue: JobQueue) -> None:
        waiting, busy = queue.enqueue("work", delay=60), running(queue)

        assert run("jobs", "cancel", waiting.id).stdout == f"{waiting.id} is cancelled.\n"
        assert run("jobs", "cancel", busy.id).stdout == f"{busy.id} is running: it is asked to stop.\n"
        assert answer(run("jobs", "cancel", waiting.id, "--json"))["status"] == "cancelled"
        assert answer(run("jobs", "cancel", busy.id, "--json"))["cancel_requested"] is True
        assert "asked to stop" in run("jobs", "list", "--state", "in_progress").stdout

    def test_reschedule(self, run: Run, queue: JobQueue) -> None:
        job, other = queue.enqueue("a", delay=60), queue.enqueue("a", delay=30, priority=1)

        moved = run("jobs", "reschedule", job.id, "--delay", "2h", "--priority", "2")
        assert re.fullmatch(rf"{job.id} is pending, due in 2h \(.* UTC\) with priority 2\.\n", moved.stdout)
        view = answer(run("jobs", "reschedule", job.id, "--run-at", "2030-01-01T00:00Z", "--json"))
        assert view["scheduled_for"] == "2030-01-01T00:00:00.000000Z"
        run("jobs", "reschedule", job.id, "--before", other.id)
        assert [each.id for each in queue.list()] == [job.id, other.id]

    def test_reschedule_needs_to_know_one_thing(self, run: Run, queue: JobQueue) -> None:
        job = queue.enqueue("a")
        assert "nothing to change" in told(run("jobs", "reschedule", job.id), 2)
        both = run("jobs", "reschedule", job.id, "--before", UNKNOWN, "--delay", "0")
        assert "give it alone" in told(both, 2)
        assert UNKNOWN in told(run("jobs", "reschedule", job.id, "--before", UNKNOWN), 1)

    @pytest.mark.parametrize("form", [(), ("--json",)])
    def test_what_the_state_forbids(self, run: Run, queue: JobQueue, form: tuple[str, ...]) -> None:
        waiting, dead = queue.enqueue("a", delay=60), dead_letter(queue)

        assert "is pending: only a finished" in told(run("jobs", "retry", waiting.id, *form), 1)
        assert "is dead_letter: it cannot be cancelled" in told(run("jobs", "cancel", dead.id, *form), 1)
        moved = run("jobs", "reschedule", dead.id, "--delay", "1", *form)
        assert "is dead_letter: it cannot be rescheduled" in told(moved, 1)


class TestStats:
    def test_counts(self, run: Run, queue: JobQueue) -> None:
        dead_letter(queue)
        queue.enqueue("sync", run_at=NOW - timedelta(minutes=4))

        text, view = run("stats").stdout, answer(run("stats", "--json"))

        assert view["by_status"]["dead_letter"] == 1 and view["by_type"] == {"sync": 1, "work": 1}
        assert view["oldest_due_age"] == 240 and view["truncated"] is False
        assert re.search(r"● dead_letter +1", text) and re.search(r"● pending +1 +sync +1", text)
        assert "The oldest due job has waited 4m 00s." in text

    def test_an_empty_table(self, run: Run) -> None:
        assert "No job is due." in run("stats").stdout

    def test_counts_that_stopped(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        counted = Stats(
            by_status={"pending": 1000, "failed": 7},
            by_type={"a": 12480},
            oldest_due_age=None,
            truncated=True,
        )
        monkeypatch.setattr(JobQueue, "stats", lambda _: counted)
        text = run("stats").stdout
        assert "1,000+" in text and "12,480+" in text and "  7\n" in text and "stops at 1,000" in text


class TestTick:
    def test_it_invokes_the_poller_and_waits(self, run: Run) -> None:
        with answering({"ok": True, "claimed": 2, "fired": 1}) as url:
            os.environ["AWS_ENDPOINT_URL"] = url
            assert run("tick", "--function", "poller").stdout == "2 jobs claimed, 1 slot fired.\n"
            assert answer(run("tick", "--function", "p", "--json")) == {"ok": True, "claimed": 2, "fired": 1}

    def test_a_poller_that_fails_is_missing_or_is_none(self, run: Run) -> None:
        with answering(
            {"errorType": "KeyError", "errorMessage": "'x'"}, X_Amz_Function_Error="Unhandled"
        ) as url:
            os.environ["AWS_ENDPOINT_URL"] = url
            assert told(run("tick", "--function", "p"), 3) == "p failed: KeyError: 'x'"
        missing = {"Message": "Function not found"}
        with answering(missing, status=404, X_Amzn_ErrorType="ResourceNotFoundException") as url:
            os.environ["AWS_ENDPOINT_URL"] = url
            assert "there is no such function" in told(run("tick", "--function", "p"), 3)
        with answering("hello") as url:
            os.environ["AWS_ENDPOINT_URL"] = url
            assert "it is no poller" in told(run("tick", "--function", "p"), 3)
        with answering({"Message": "no"}, status=403, X_Amzn_ErrorType="AccessDeniedException") as url:
            os.environ["AWS_ENDPOINT_URL"] = url
            assert "refused" in told(run("tick", "--function", "p"), 4)
        os.environ["AWS_ENDPOINT_URL"] = NOBODY
        assert "could not be invoked" in told(run("tick", "--function", "p"), 3)

    def test_without_a_poller(self, run: Run) -> None:
        assert "give --function" in told(run("tick"), 2)


class TestReach:
    """Which table, where, and as whom."""

    COMMANDS = (
        ("jobs", "list"),
        ("jobs", "show", UNKNOWN),
        ("jobs", "enqueue", "a"),
        ("jobs", "retry", UNKNOWN),
        ("jobs", "cancel", UNKNOWN),
        ("jobs", "reschedule", UNKNOWN, "--delay", "1"),
        ("stats",),
    )

    @pytest.mark.parametrize("command", COMMANDS)
    def test_no_such_table(self, run: Run, command: tuple[str, ...]) -> None:
        assert "there is no table 'nowhere'" in told(run(*command, "--table", "nowhere"), 3)

    @pytest.mark.usefixtures("new_session")
    @pytest.mark.parametrize("command", COMMANDS)
    def test_no_credentials(self, run: Run, command: tuple[str, ...]) -> None:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
            os.environ.pop(name, None)
        assert "no AWS credentials are set" in told(run(*command), 4)

    def test_no_table_named(self, run: Run) -> None:
        del os.environ["DYNAJOBS_TABLE"]
        assert told(run("jobs", "list"), 2) == "no table: give --table or set DYNAJOBS_TABLE"

    @pytest.mark.usefixtures("new_session")
    def test_no_region_and_a_profile_that_is_not_there(self, run: Run) -> None:
        del os.environ["AWS_DEFAULT_REGION"]
        assert "no AWS region is set" in told(run("jobs", "list"), 4)
        os.environ["AWS_PROFILE"] = "nobody"
        assert "profile (nobody) could not be found" in told(run("jobs", "list"), 4)

    @pytest.mark.parametrize(
        "kind", ["UnrecognizedClientException", "ExpiredTokenException", "AccessDeniedException"]
    )
    def test_refused_credentials(self, run: Run, kind: str) -> None:
        refusal = {"__type": f"com.amazon.coral.service#{kind}", "message": "The token is invalid."}
        with answering(refusal, status=400) as url:
            os.environ["AWS_ENDPOINT_URL"] = url
            assert "AWS refused" in told(run("stats"), 4)

    def test_nobody_answers(self, run: Run) -> None:
        os.environ["AWS_ENDPOINT_URL"] = NOBODY
        assert NOBODY in told(run("stats", "--json"), 3)

    def test_a_bad_setting(self, run: Run) -> None:
        os.environ["DYNAJOBS_POLL_LIMIT"] = "0"
        assert "DYNAJOBS_POLL_LIMIT is 0" in told(run("stats"), 2)

    @pytest.mark.usefixtures("new_session")
    def test_a_region_in_the_variable_that_only_boto3_ignores(self, run: Run) -> None:
        os.environ["AWS_REGION"] = os.environ.pop("AWS_DEFAULT_REGION")
        assert run("stats").exit_code == 0


class TestStack:
    def note(self, folder: Path, endpoint: str = "http://127.0.0.1:4566") -> None:
        note = {"endpoint": endpoint, "region": "us-east-1", "table": "local", "poller": "p"}
        (folder / ".local").mkdir()
        (folder / ".local" / "stack.json").write_text(json.dumps(note))

    def test_nothing_set_means_the_local_stack(self, tmp_path: Path) -> None:
        self.note(tmp_path)
        environ: dict[str, str] = {}

        stack = enter(environ, tmp_path)

        assert stack and stack.poller == "p" and not stack.left_because
        assert environ == {
            "DYNAJOBS_TABLE": "local",
            "AWS_ENDPOINT_URL": "http://127.0.0.1:4566",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }

    def test_it_is_found_from_anywhere_in_the_project_and_nowhere_else(self, tmp_path: Path) -> None:
        self.note(tmp_path)
        inside = tmp_path / "functions" / "mine"
        inside.mkdir(parents=True)
        assert enter({}, inside) is None
        (tmp_path / "template.yaml").touch()
        assert enter({}, inside)
        assert enter({}, tmp_path.parent) is None
        (inside / "template.yaml").touch()
        assert enter({}, inside) is None

    @pytest.mark.parametrize(
        ("said", "why"),
        [
            ({"AWS_PROFILE": "prod"}, "AWS_PROFILE is set"),
            ({"AWS_REGION": "eu-west-1"}, "the region is set to eu-west-1"),
            ({"AWS_DEFAULT_REGION": "eu-west-1"}, "the region is set to eu-west-1"),
            ({"AWS_ENDPOINT_URL": "http://other"}, "AWS_ENDPOINT_URL is http://other"),
            ({"AWS_ENDPOINT_URL_DYNAMODB": "http://other"}, "AWS_ENDPOINT_URL_DYNAMODB is http://other"),
            ({"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is true"),
        ],
    )
    def test_who_names_another_place_goes_there(self, tmp_path: Path, said: dict[str, str], why: str) -> None:
        self.note(tmp_path)
        environ = {**said, "DYNAJOBS_TABLE": "mine"}

        stack = enter(environ, tmp_path)

        assert stack and stack.left_because.startswith(why)
        assert environ["DYNAJOBS_TABLE"] == "mine"
        assert environ.get("AWS_ENDPOINT_URL") in (None, "http://other")
        assert "AWS_ACCESS_KEY_ID" not in environ

    def test_who_says_the_same_stays(self, tmp_path: Path) -> None:
        self.note(tmp_path)
        environ = {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "mine", "DYNAJOBS_TABLE": ""}

        stack = enter(environ, tmp_path)

        assert stack and not stack.left_because
        assert environ["AWS_ACCESS_KEY_ID"] == "mine" and environ["DYNAJOBS_TABLE"] == "local"
        assert environ["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"

    def test_a_stack_that_has_gone_is_named(self, run: Run, tmp_path: Path) -> None:
        self.note(tmp_path, endpoint=NOBODY)
        assert "is `make run` still running?" in told(run("stats"), 3)

    @pytest.mark.usefixtures("new_session")
    def test_a_stack_that_was_left_alone_is_named(self, run: Run, tmp_path: Path) -> None:
        self.note(tmp_path)
        os.environ["AWS_PROFILE"] = "nobody"
        assert "was left alone because AWS_PROFILE is set" in told(run("stats"), 4)

    def test_its_poller_is_invoked(self, run: Run, tmp_path: Path) -> None:
        with answering({"ok": True, "claimed": 0, "fired": 0}) as url:
            self.note(tmp_path, endpoint=url)
            assert run("tick").stdout == "0 jobs claimed, 0 slots fired.\n"

    @pytest.mark.parametrize("text", ["", "{}", "[]", '{"endpoint": "x"}'])
    def test_a_note_that_makes_no_sense(self, run: Run, tmp_path: Path, text: str) -> None:
        (tmp_path / ".local").mkdir()
        (tmp_path / ".local" / "stack.json").write_text(text)
        assert "is not what `make run` writes" in told(run("stats"), 2)


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
    text = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
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
