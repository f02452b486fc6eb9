"""Looking at jobs: what lists and details show."""

import re
from datetime import timedelta

import pytest

from dynajobs import JobQueue
from dynajobs.testing import Clock, drain
from tests.support.commands import BOTH_WAYS, NOW, UNKNOWN, Run, answer, dead_letter, running, told
from tests.support.work import working

pytestmark = BOTH_WAYS


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
