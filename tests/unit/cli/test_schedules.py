"""Schedules on the command line."""

from datetime import timedelta

import pytest

from dynajobs import JobQueue, keys
from dynajobs.testing import Clock, drain
from tests.support.commands import BOTH_WAYS, NOW, Run, answer, told
from tests.support.work import working

pytestmark = BOTH_WAYS

NIGHTLY = ("--job-type", "work", "--cron", "30 2 * * *", "--timezone", "America/New_York")


def create(run: Run, *more: str, name: str = "nightly") -> None:
    result = run("schedules", "create", "--name", name, *NIGHTLY, *more)
    assert result.exit_code == 0, result.stderr


def test_none_is_said_in_a_sentence(run: Run) -> None:
    assert run("schedules", "list").stdout == "No schedules.\n"
    assert answer(run("schedules", "list", "--json")) == {"schedules": []}


def test_every_argument_is_a_flag(run: Run, queue: JobQueue) -> None:
    create(
        run,
        *("--payload", '{"do": "ok"}', "--description", "every night", "--enabled", "false"),
        *("--priority", "2", "--max-attempts", "3", "--catchup", "all", "--catchup-window", "2h"),
        *("--overlap", "queue_one"),
    )

    made = queue.schedules.get("nightly")
    assert (made.job_type, made.payload, made.description) == ("work", {"do": "ok"}, "every night")
    assert (made.enabled, made.priority, made.max_attempts) == (False, 2, 3)
    assert (made.catchup, made.catchup_window, made.overlap) == ("all", timedelta(hours=2), "queue_one")


def test_what_is_created_is_told_with_its_next_slot_and_warnings(run: Run) -> None:
    result = run("schedules", "create", "--name", "nightly", *NIGHTLY)

    assert result.stdout.startswith("nightly is created, next ")
    assert "02:30 does not exist in America/New_York" in result.stderr


def test_the_document_of_a_schedule(run: Run) -> None:
    create(run, "--payload", '{"password": "secret"}')

    view = answer(run("schedules", "show", "nightly", "--json"))

    assert view | {"recent": []} == answer(run("schedules", "list", "--json"))["schedules"][0]
    assert view["payload"] == {"password": "•••"}
    assert (view["cron_words"], view["catchup_window"]) == ("every day at 02:30", 86400)
    assert (view["success_rate"], view["total_runs"], view["last_run_at"]) == (None, 0, None)


def test_a_template_takes_the_place_of_a_type(run: Run, queue: JobQueue) -> None:
    queue.templates.create("report", "work", payload={"kind": "daily", "to": "ops"})

    result = run(
        *("schedules", "create", "--name", "r", "--template", "report", "--cron", "@daily"),
        *("--param-overrides", '{"to": "board"}', "--json"),
    )

    assert answer(result)["param_overrides"] == {"to": "board"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--job-type", "work"), 2, "no --cron"),
        (("--cron", "61 * * * *", "--job-type", "work"), 2, "minute"),
        (("--cron", "0 0 31 2 *", "--job-type", "work"), 2, "never comes"),
        (("--cron", "@daily"), 2, "job_type"),
        (("--cron", "@daily", "--job-type", "work", "--timezone", "Mars"), 2, "timezone is 'Mars'"),
        (("--cron", "@daily", "--template", "no"), 1, "no template 'no'"),
        (("--cron", "@daily", "--job-type", "work", "--enabled", "perhaps"), 2, "perhaps"),
        (("--cron", "@daily", "--job-type", "work", "--payload", "[1]"), 2, "must be an object"),
    ],
)
def test_what_is_wrong_is_a_sentence_and_nothing_is_made(
    run: Run, queue: JobQueue, arguments: tuple[str, ...], code: int, said: str
) -> None:
    assert said in told(run("schedules", "create", "--name", "x", *arguments), code)
    assert queue.schedules.list() == ()


def test_names_that_are_taken_or_unknown(run: Run) -> None:
    create(run)

    assert "exists" in told(run("schedules", "create", "--name", "nightly", *NIGHTLY), 1)
    for verb in ("show", "enable", "disable", "delete", "trigger", "runs", "next"):
        assert "no schedule 'no'" in told(run("schedules", verb, "no"), 1)
    assert "nothing to change" in told(run("schedules", "update", "nightly"), 2)


def test_changes(run: Run, queue: JobQueue) -> None:
    create(run)

    assert run("schedules", "disable", "nightly").stdout.startswith("nightly is disabled")
    assert answer(run("schedules", "show", "nightly", "--json"))["next_run_at"] is None
    assert run("schedules", "enable", "nightly").stdout.startswith("nightly is enabled, next ")
    assert run("schedules", "update", "nightly", "--cron", "@hourly").stdout.startswith("nightly is changed")
    assert queue.schedules.get("nightly").cron == "@hourly"
    assert answer(run("schedules", "delete", "nightly", "--json")) == {"name": "nightly", "deleted": True}
    assert queue.schedules.list() == ()


def test_a_run_by_hand_and_the_history(run: Run, queue: JobQueue) -> None:
    create(run, "--payload", '{"do": "ok"}')

    job_id = answer(run("schedules", "trigger", "nightly", "--json"))["job_id"]
    drain(queue, working())

    (entry,) = answer(run("schedules", "runs", "nightly", "--json"))["runs"]
    assert (entry["job_id"], entry["triggered_by"], entry["outcome"]) == (job_id, "manual", "completed")
    shown = run("schedules", "show", "nightly").stdout
    assert job_id in shown
    assert "1 run, 100% of the recent ones succeeded" in shown
    assert f"● completed   0ms  {job_id}" in run("schedules", "runs", "nightly").stdout


def test_missed_slots_show_how_many(run: Run, queue: JobQueue) -> None:
    early = Clock(NOW - timedelta(hours=3))
    JobQueue(queue.settings.table, client=queue.store.table.client, clock=early).schedules.create(
        "often", "work", cron="*/30 * * * *", catchup="none", payload={"do": "ok"}
    )
    drain(queue, working())

    assert "● missed x" in run("schedules", "runs", "often").stdout


def test_pages_of_runs(run: Run) -> None:
    create(run)
    for _ in range(3):
        run("schedules", "trigger", "nightly")

    first = run("schedules", "runs", "nightly", "--limit", "2")
    cursor = first.stderr.split()[-1]
    rest = answer(run("schedules", "runs", "nightly", "--limit", "2", "--cursor", cursor, "--json"))

    assert (len(rest["runs"]), rest["cursor"]) == (1, None)
    assert "cursor" in told(run("schedules", "runs", "nightly", "--cursor", "x"), 2)


def test_coming_slots_in_both_times(run: Run, queue: JobQueue) -> None:
    create(run)
    slots = queue.schedules.next("nightly", 2)

    assert answer(run("schedules", "next", "nightly", "--n", "2", "--json")) == {
        "next": [keys.timestamp(slot) for slot in slots]
    }
    lines = run("schedules", "next", "nightly", "-n", "2").stdout.splitlines()
    assert len(lines) == 2
    assert all("02:30 E" in line and " UTC " in line for line in lines)


def test_backfill(run: Run) -> None:
    create(run)
    day = timedelta(days=1)
    span = ("--start", (NOW - 3 * day).isoformat(), "--end", (NOW - day).isoformat())

    assert len(answer(run("schedules", "backfill", "nightly", *span, "--json"))["job_ids"]) == 2
    assert run("schedules", "backfill", "nightly", *span).stdout == "There are no new slots to run there.\n"
