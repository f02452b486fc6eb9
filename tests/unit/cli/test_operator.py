"""What operators ask and do beside jobs and schedules."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynajobs import JobQueue
from dynajobs.testing import create_table
from tests.support.commands import BOTH_WAYS, NOW, UNKNOWN, Run, answer, dead_letter, told


@BOTH_WAYS
class TestWhy:
    def test_a_sentence_and_what_was_looked_at(self, run: Run, queue: JobQueue) -> None:
        job = queue.enqueue("sync", delay=180)

        sentence, _, *checks = run("jobs", "why", job.id).stdout.splitlines()

        assert sentence.startswith("It is due in 3m (")
        assert checks[0].split()[:2] == ["✗", "due"]
        assert ["!", "handler"] in [line.split()[:2] for line in checks]
        assert ["✓", "reservation"] in [line.split()[:2] for line in checks]

    def test_a_job_that_is_over_has_no_checks(self, run: Run, queue: JobQueue) -> None:
        dead = dead_letter(queue)
        assert run("jobs", "why", dead.id).stdout == "It is over: it became a dead letter 5h ago.\n"
        assert answer(run("jobs", "why", dead.id, "--json"))["checks"] == []
        assert UNKNOWN in told(run("jobs", "why", UNKNOWN), 1)


@BOTH_WAYS
class TestErrors:
    def test_none(self, run: Run) -> None:
        assert run("errors").stdout == "Nothing has failed.\n"

    def test_groups_and_the_way_on(self, run: Run, queue: JobQueue) -> None:
        dead = dead_letter(queue)
        dead_letter(queue)
        queue.retry(dead)

        head, line = run("errors").stdout.splitlines()
        assert head.split()[:3] == ["FINGERPRINT", "DEAD", "FAILED"]
        assert line.split() == [
            *(str(dead.fingerprint), "2", "2", "2", "5h", "ago", "·" * 18 + "█" + "·" * 5),
            *("work", "Discard:", "no", "such", "file", "1", "retried"),
        ]
        (group,) = answer(run("errors", "--json"))["groups"]
        found = answer(run("jobs", "list", "--fingerprint", group["fingerprint"], "--json"))["jobs"]
        assert len(found) == 2


@BOTH_WAYS
class TestAudit:
    def test_nothing(self, run: Run) -> None:
        result = run("audit")
        assert result.stdout.startswith("Nothing was changed") and result.exit_code == 0

    def test_changes_and_refusals_page_by_page(self, run: Run) -> None:
        run("jobs", "enqueue", "sync")
        run("jobs", "cancel", UNKNOWN)

        result = run("audit", "--limit", "1")
        assert f"jobs.cancel  {UNKNOWN}  JobNotFound" in result.stdout
        cursor = result.stderr.split()[-1]
        rest = run("audit", "--limit", "1", "--cursor", cursor)
        assert "jobs.enqueue  sync" in rest.stdout
        assert "not one that a list returned" in told(run("audit", "--cursor", "x"), 2)


@BOTH_WAYS
class TestTemplates:
    def test_made_shown_changed_used_deleted(self, run: Run, queue: JobQueue) -> None:
        assert run("templates", "list").stdout == "No templates.\n"
        made = run(
            *("templates", "create", "--name", "weekly", "--job-type", "report", "--priority", "2"),
            *("--payload", '{"days": 7, "to": "ops"}', "--description", "all of it", "--max-attempts", "3"),
        )
        assert made.stdout == "weekly is created.\n"
        assert run("templates", "update", "weekly", "--priority", "1").stdout == "weekly is changed.\n"
        view = answer(run("templates", "show", "weekly", "--json"))
        assert (view["priority"], view["max_attempts"], view["description"]) == (1, 3, "all of it")
        text = run("templates", "show", "weekly").stdout
        assert text.startswith(
            "weekly\nall of it\n\n  Job type  report\n  Priority  1\n  Attempts  at most 3\n"
        )
        assert "weekly  report           days=7 to=ops" in run("templates", "list").stdout

        job = answer(
            run(
                *("templates", "enqueue", "weekly", "--param-overrides", '{"to": "board"}'),
                *("--delay", "5m", "--dedup-key", "k", "--dedup-window", "w", "--org-id", "acme", "--json"),
            )
        )
        assert (job["payload"], job["template"]) == ({"days": 7, "to": "board"}, "weekly")
        assert (job["priority"], job["max_attempts"], job["org_id"]) == (1, 3, "acme")
        again = run("templates", "enqueue", "weekly", "--dedup-key", "k", "--dedup-window", "w")
        assert "was there already (pending)" in again.stdout
        assert len(queue.list()) == 1
        assert answer(run("templates", "delete", "weekly", "--json")) == {"name": "weekly", "deleted": True}

    def test_refusals(self, run: Run) -> None:
        create = ("templates", "create", "--name", "t", "--job-type", "work")
        run(*create)
        run("schedules", "create", "--name", "s", "--template", "t", "--cron", "@daily")
        assert "exists" in told(run(*create), 1)
        assert "is used by s" in told(run("templates", "delete", "t"), 1)
        assert "nothing to change" in told(run("templates", "update", "t"), 2)
        for verb in ("show", "delete", "enqueue"):
            assert "no template 'no'" in told(run("templates", verb, "no"), 1)
        bad = run("templates", "create", "--name", "two words", "--job-type", "work")
        assert "name" in told(bad, 2)


@BOTH_WAYS
class TestReservation:
    def test_shown_and_released(self, run: Run, queue: JobQueue) -> None:
        assert run("reservation", "show").stdout == "Nobody has reserved the queue.\n"
        with queue.reserve("deploy"):
            assert run("reservation", "show").stdout.startswith("deploy has reserved the queue until ")
            assert answer(run("reservation", "show", "--json"))["status"] == "active"
            released = "Nobody has reserved the queue; deploy had until now (released).\n"
            assert run("reservation", "release").stdout == released
        assert run("reservation", "show").stdout == released


@BOTH_WAYS
class TestPreview:
    def test_words_slots_and_warnings(self, run: Run) -> None:
        preview = ("schedules", "preview", "--cron", "30 2 * * *", "--timezone", "America/New_York")
        result = run(*preview, "-n", "2")
        lines = result.stdout.splitlines()
        assert lines[0] == "every day at 02:30 in America/New_York, once a day."
        assert len(lines) == 4 and "02:30 E" in lines[2]
        assert "02:30 does not exist in America/New_York" in result.stderr
        assert len(answer(run(*preview, "--json"))["next"]) == 5

    @pytest.mark.parametrize(
        ("cron", "said"),
        [("*/5 * * * *", "288 times a day"), ("0 0 * * 1", "1 time in the next 7 days")],
    )
    def test_how_often(self, run: Run, cron: str, said: str) -> None:
        assert said in run("schedules", "preview", "--cron", cron).stdout

    def test_an_expression_that_is_none(self, run: Run) -> None:
        assert "minute" in told(run("schedules", "preview", "--cron", "61 * * * *"), 2)
        assert "'Mars'" in told(run("schedules", "preview", "--cron", "@daily", "--timezone", "Mars"), 2)
        assert "Missing option '--cron'" in told(run("schedules", "preview"), 2)


class TestDoctor:
    @pytest.fixture(autouse=True)
    def real_time(self, environment: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG002 - it sets another
        """Its clock is compared with that of what answers; a few lanes are read as quickly as one can."""
        monkeypatch.setattr("dynajobs.queue.utc_now", lambda: datetime.now(UTC))
        monkeypatch.setattr("dynajobs.operating.doctor.work.MOST_SHARDS", 4)

    def test_one_line_a_finding_and_what_is_wrong(self, run: Run, queue: JobQueue) -> None:
        queue.enqueue("work", run_at=NOW - timedelta(minutes=10))

        result = run("doctor")

        marks = {line.split()[1]: line[0] for line in result.stdout.splitlines()[:-2]}
        assert "".join(marks[each] for each in ("table", "clock", "stream", "poller", "backlog")) == "✓✓!✗✗"
        assert "→ dynajobs jobs why" in result.stdout
        assert result.stdout.splitlines()[-1] == "2 things wrong, 2 to know about."
        assert result.exit_code == 1
        view = json.loads(run("doctor", "--json").stdout)
        assert view["ok"] is False
        assert {each["check"] for each in view["findings"]} >= {
            "settings",
            "keys",
            "index",
            "expiry",
            "lanes",
        }

    def test_nothing_wrong_is_0(self, run: Run, queue: JobQueue) -> None:
        queue.store.control.tell_pass(queue.now(), 0)
        result = run("doctor")
        assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "Nothing is wrong, 2 to know about.")

    def test_settings_that_are_wrong_are_a_finding(self, run: Run) -> None:
        result = run("doctor", env={"DYNAJOBS_SHARDS": "0"})
        assert "✗  settings  DYNAJOBS_SHARDS is 0" in result.stdout and result.exit_code == 1

    def test_no_table_and_no_function(self, run: Run, moto_client: Any) -> None:
        result = run("doctor", "--table", "nowhere")
        assert "✗  table" in result.stdout and result.exit_code == 1
        create_table(moto_client, "other")
        assert "there is no function 'p'" in run("doctor", "--table", "other", "--function", "p").stdout

    def test_it_looks_at_the_deployment_itself(self, run: Run) -> None:
        assert "No such option '--url'" in told(run("doctor", "--url", "https://x"), 2)
