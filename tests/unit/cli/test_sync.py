"""Declared schedules, brought into the table: at the table only."""

import json
from pathlib import Path

from dynajobs import JobQueue
from tests.support.commands import Run, answer, told


def test_sync_of_a_file(run: Run, queue: JobQueue) -> None:
    declared = {"nightly": {"job_type": "work", "cron": "0 2 * * *"}}
    Path("schedules.yaml").write_text(json.dumps(declared))

    assert run("schedules", "sync", "schedules.yaml", "--dry-run").stdout == "nightly would be created.\n"
    assert queue.schedules.list() == ()
    assert run("schedules", "sync", "schedules.yaml").stdout == "nightly is created.\n"
    assert run("schedules", "sync", "schedules.yaml").stdout == "nightly is as declared.\n"
    run("schedules", "disable", "nightly")
    declared["nightly"]["cron"] = "0 3 * * *"
    Path("schedules.yaml").write_text(json.dumps(declared))
    assert answer(run("schedules", "sync", "schedules.yaml", "--json"))["schedules"] == [
        {
            "name": "nightly",
            "action": "updated",
            "changed": ["cron"],
            "drift": {"enabled": {"declared": True, "stored": False}},
        }
    ]


def test_sync_of_a_registry(run: Run, queue: JobQueue) -> None:
    Path("declaring.py").write_text(
        "from dynajobs import Registry\njobs = Registry()\n"
        "@jobs.handler('sweep', cron='@daily')\ndef sweep(payload: dict) -> None: ...\n"
    )

    assert run("schedules", "sync", "declaring:jobs").stdout == "sweep is created.\n"
    assert queue.schedules.get("sweep").job_type == "sweep"
    assert "cannot be loaded" in told(run("schedules", "sync", "nothing:jobs"), 2)
    assert "cannot be read" in told(run("schedules", "sync", "none.yaml"), 2)
