"""Making jobs and changing them."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dynajobs import JobQueue
from dynajobs.testing import drain
from tests.support.commands import BOTH_WAYS, UNKNOWN, Run, answer, dead_letter, running, told
from tests.support.work import working

pytestmark = BOTH_WAYS


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
