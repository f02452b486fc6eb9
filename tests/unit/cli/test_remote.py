"""Through the HTTP API: the same answers, the same exit codes, and a token that goes nowhere else."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.shell_completion import BashComplete
from click.testing import Result

from dynajobs import JobQueue, cli
from tests.support.answering import answering
from tests.support.commands import (
    NOBODY,
    READ_TOKEN,
    TOKEN,
    UNKNOWN,
    Run,
    answer,
    api,
    dead_letter,
    running,
    told,
)
from tests.support.serving import serving


@pytest.fixture
def url(queue: JobQueue) -> Iterator[str]:
    with serving(api(queue)) as url:
        yield url


def remotely(run: Run, url: str, *arguments: str, token: str = TOKEN) -> Result:
    return run(*arguments, "--url", url, "--token", token)


class TestSameAnswers:
    def test_every_document_is_the_same_to_the_byte(self, run: Run, queue: JobQueue, url: str) -> None:
        dead, busy = dead_letter(queue, password="x", n=12345678901234567890, f=1.0), running(queue)
        queue.enqueue("sync", {"é": [1, {}]}, delay=60, dedup_key="k", org_id="acme")
        queue.templates.create("weekly", "work", payload={"token": "t"})
        queue.schedules.create("s", "work", cron="30 2 * * *", timezone="America/New_York")
        queue.schedules.create("t", template="weekly", cron="@hourly", param_overrides={"a": 1.50})
        queue.schedules.trigger("s")
        span = ("--start", "2026-11-01T00:00Z", "--end", "2026-11-03T00:00Z")
        for command in (
            ("jobs", "list"),
            ("jobs", "list", "--state", "pending", "--type", "sync", "--org-id", "acme", "--limit", "1"),
            ("jobs", "list", "--schedule-name", "s"),
            ("jobs", "list", "--fingerprint", str(dead.fingerprint)),
            ("jobs", "list", "--type", "no such type"),
            ("jobs", "show", dead.id),
            ("jobs", "show", busy.id),
            ("jobs", "why", busy.id),
            ("jobs", "retry", queue.retry(dead).retry_of or ""),
            ("jobs", "bulk", "cancel", "--type", "sync", "--dry-run"),
            ("errors",),
            ("stats",),
            ("schedules", "list"),
            ("schedules", "show", "t"),
            ("schedules", "runs", "s"),
            ("schedules", "next", "s"),
            ("schedules", "preview", "--cron", "0 8 * * 1-5", "--timezone", "Europe/Berlin"),
            ("schedules", "disable", "t"),
            ("schedules", "backfill", "s", *span[:3], "2026-11-01T00:00Z"),
            ("templates", "list"),
            ("templates", "show", "weekly"),
            ("reservation", "show"),
            ("audit", "--limit", "1"),
        ):
            here, there = run(*command, "--json"), remotely(run, url, *command, "--json")
            assert (here.exit_code, here.stderr) == (0, ""), command
            if command[0] != "audit":  # looking at it is all that leaves it as it is
                assert there.stdout == here.stdout, command

    def test_the_audit_list_is_the_same_to_the_byte(self, run: Run, url: str) -> None:
        run("jobs", "enqueue", "sync")
        remotely(run, url, "jobs", "enqueue", "sync")
        assert remotely(run, url, "audit", "--json").stdout == run("audit", "--json").stdout

    def test_what_people_read_is_the_same(self, run: Run, queue: JobQueue, url: str) -> None:
        dead = dead_letter(queue)
        for command in ("jobs list", f"jobs show {dead.id}", "stats", "errors", "schedules list"):
            here, there = run(*command.split()), remotely(run, url, *command.split())
            assert (there.exit_code, there.stdout) == (0, here.stdout)

    def test_times_are_by_the_queue_s_clock(self, run: Run, url: str) -> None:
        assert "due in 5m (" in remotely(run, url, "jobs", "enqueue", "a", "--delay", "5m").stdout


class TestRecords:
    def test_changes_bear_the_name_of_who_runs_the_command(
        self, run: Run, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("getpass.getuser", lambda: "ada")
        run("jobs", "enqueue", "a")
        remotely(run, url, "jobs", "enqueue", "b")
        remotely(run, url, "jobs", "retry", UNKNOWN)

        made = [
            (each["who"], each["via"], each["action"], each["target"], each["outcome"])
            for each in answer(run("audit", "--json"))["entries"]
        ]
        assert made == [
            ("ada", "api", "jobs.retry", UNKNOWN, "JobNotFound"),
            ("ada", "api", "jobs.enqueue", "b", "done"),
            ("ada", "cli", "jobs.enqueue", "a", "done"),
        ]

    def test_a_name_that_no_header_can_hold_and_none_at_all(
        self, run: Run, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def nobody() -> str:
            raise KeyError("uid 4711")

        monkeypatch.setattr("getpass.getuser", lambda: "Zoë\n")
        assert remotely(run, url, "jobs", "enqueue", "a").exit_code == 0
        monkeypatch.setattr("getpass.getuser", nobody)
        assert run("jobs", "enqueue", "a").exit_code == 0
        latest, before = answer(run("audit", "--json"))["entries"]
        assert (latest["who"], before["who"]) == ("unknown user", "Zo??")


class TestTokens:
    def test_none_a_wrong_one_and_one_that_may_only_read(self, run: Run, url: str) -> None:
        assert told(run("stats", "--url", url), 4) == "no token: give --token or set DYNAJOBS_TOKEN"
        assert "refused the token: send a valid token" in told(remotely(run, url, "stats", token="wrong"), 4)
        assert remotely(run, url, "stats", token=READ_TOKEN).exit_code == 0
        sentence = told(remotely(run, url, "jobs", "enqueue", "a", token=READ_TOKEN), 4)
        assert "this token may read, but not change anything" in sentence

    def test_a_token_is_told_to_nobody(self, run: Run, url: str) -> None:
        secret = "tell-nobody-0123"
        for command, token in (
            (("stats", "--url", url), secret),
            (("stats", "--url", NOBODY), secret),
            (("stats", "--url", "http://example.com"), secret),
            (("stats", "--url", url, "--table", "t"), secret),
            (("jobs", "show", "x", "--url", url), f"{secret}\nX: y"),
            (("jobs", "show", "x", "--url", url), f"{secret}é"),
            (("stats", "--help"), secret),
        ):
            result = run(*command, env={"DYNAJOBS_TOKEN": token})
            assert secret not in result.output
            assert result.exit_code != 70

    def test_a_token_that_no_header_can_hold(self, run: Run, url: str) -> None:
        assert "no header can hold" in told(remotely(run, url, "stats", token="a\nb"), 4)

    @pytest.mark.parametrize(
        ("url", "said"),
        [
            ("http://example.com", "over plain http to this machine only; write https"),
            ("http://localhost.example.com", "write https"),
            ("http://127.0.0.1.example.com/", "write https"),
            ("ftp://localhost", "it must look like https://"),
            ("localhost:8080", "it must look like https://"),
            ("https://", "it must look like https://"),
            ("https://me:pw@example.com", "leave the rest out"),
            ("https://example.com/?q=1", "leave the rest out"),
            ("https://example.com:port", "--url is"),
            ("http://[::1", "--url is"),
        ],
    )
    def test_where_it_must_not_go(self, run: Run, url: str, said: str) -> None:
        sentence = told(remotely(run, url, "stats"), 2)
        assert said in sentence and "pw" not in sentence

    def test_it_does_not_follow_a_redirect(self, run: Run, url: str) -> None:
        with answering({}, status=307, Location=f"{url}/api/admin/jobs") as elsewhere:
            sentence = told(remotely(run, elsewhere, "jobs", "enqueue", "a"), 3)
        assert f"answers 307 and sends on to {url}" in sentence
        assert answer(run("jobs", "list", "--json"))["jobs"] == []

    def test_no_proxy_reads_what_goes_to_this_machine(
        self, run: Run, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, NOBODY)
        assert remotely(run, url, "stats").exit_code == 0


class TestFailures:
    def test_nobody_answers(self, run: Run) -> None:
        assert f"{NOBODY} cannot be reached: " in told(remotely(run, NOBODY, "stats"), 3)

    @pytest.mark.parametrize("body", ["hello", {"hello": 1}, []])
    def test_what_answers_is_no_api(self, run: Run, body: object) -> None:
        with answering(body, status=404) as url:
            assert "is it the URL of a dynajobs API?" in told(remotely(run, url, "jobs", "enqueue", "a"), 3)

    @pytest.mark.parametrize(
        ("status", "error", "code"),
        [
            (400, "InvalidCursor", 2), (404, "JobNotFound", 1), (404, "NotFound", 3),
            (409, "AlreadyExists", 1), (409, "ReservationBusy", 1), (409, "InvalidTransition", 1),
            (413, "TooLarge", 2), (422, "Invalid", 2), (422, "InvalidJob", 2), (422, "InvalidSchedule", 2),
            (429, "TooManyRequests", 3), (500, "InternalError", 3), (503, "Unavailable", 3),
            (403, "Forbidden", 4), (500, "TYPE_CHECKING", 3), (409, "EnqueueFailed", 3),
        ],
    )  # fmt: skip
    def test_each_refusal_has_its_exit_code(self, run: Run, status: int, error: str, code: int) -> None:
        with answering({"error": error, "message": "it is so", "details": ["x"]}, status=status) as url:
            assert "it is so" in told(remotely(run, url, "jobs", "enqueue", "a"), code)

    def test_a_refusal_says_the_same_as_at_the_table(self, run: Run, queue: JobQueue, url: str) -> None:
        dead = dead_letter(queue)
        for command in (
            ("jobs", "cancel", dead.id),
            ("jobs", "show", "../stats"),
            ("jobs", "show", ""),
            ("jobs", "list", "--cursor", "x"),
            ("schedules", "show", "a/b"),
            ("schedules", "show", ".."),
            ("templates", "show", "no such"),
            ("schedules", "create", "--name", "s", "--job-type", "a", "--cron", "61 * * * *"),
        ):
            here, there = run(*command), remotely(run, url, *command)
            assert here.exit_code in (1, 2)
            assert (there.exit_code, there.stderr) == (here.exit_code, here.stderr)


class TestWhichWay:
    def test_both_flags_are_too_many(self, run: Run, url: str) -> None:
        assert "--table and --url are both given" in told(remotely(run, url, "stats", "--table", "t"), 2)
        assert "--token is given without --url" in told(run("stats", "--token", "t"), 2)

    def test_a_flag_goes_before_the_environment(self, run: Run, url: str) -> None:
        os.environ["DYNAJOBS_URL"] = NOBODY
        table = os.environ["DYNAJOBS_TABLE"]
        assert NOBODY in told(run("stats", "--token", "t"), 3)
        assert run("stats", "--table", table).exit_code == 0
        assert remotely(run, url, "stats").exit_code == 0

    def test_the_local_stack_s_token_goes_to_its_own_api_alone(
        self, run: Run, url: str, tmp_path: Path
    ) -> None:
        note = {"endpoint": NOBODY, "region": "us-east-1", "table": "t", "url": f"{url}/", "token": TOKEN}
        (tmp_path / ".local").mkdir()
        (tmp_path / ".local" / "stack.json").write_text(json.dumps(note))

        assert run("stats", "--url", url).exit_code == 0
        assert "no token" in told(run("stats", "--url", NOBODY), 4)

    def test_names_complete(self, queue: JobQueue, url: str) -> None:
        dead_letter(queue)
        queue.templates.create("weekly", "work")
        queue.schedules.create("nightly", "work", cron="@daily")

        def complete(*words: str) -> list[str]:
            shell = BashComplete(cli.main, {}, "dynajobs", "_DYNAJOBS_COMPLETE")
            return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]

        for way in ((), ("--url", url, "--token", TOKEN)):
            assert complete("jobs", "list", *way, "--type", "") == ["work"]
            assert complete("jobs", "list", *way, "--schedule-name", "n") == ["nightly"]
            assert complete("schedules", "show", *way, "") == ["nightly"]
            assert complete("schedules", "create", *way, "--template", "") == ["weekly"]
            assert complete("templates", "show", *way, "w") == ["weekly"]
        assert complete("templates", "show", "--url", NOBODY, "--token", "t", "") == []
