"""A client that somebody else's generator makes from the API's OpenAPI document, and its use."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from dynajobs import JobQueue
from tests.support.calling import Caller, over_http

BIN = Path(sys.executable).parent


def use_generated_client(
    url: str, token: str, queue: JobQueue, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Make it, then enqueue, list, count, be refused, and keep a schedule with it."""
    name = f"made_{uuid4().hex}"
    (folder / "openapi.json").write_text(
        json.dumps(Caller(over_http(url), token, "").ok("GET", "/openapi.json"))
    )
    made = subprocess.run(
        [
            *(BIN / "openapi-python-client", "generate", "--path", "openapi.json"),
            *("--meta", "none", "--output-path", name, "--fail-on-warning"),
        ],
        cwd=folder,
        env=os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()

    def module(part: str) -> Any:
        return importlib.import_module(f"{name}.{part}")

    models, kind, schedule = module("models"), f"generated.{name}", f"generated-{name[-8:]}"
    with module("client").AuthenticatedClient(base_url=url.rstrip("/"), token=token) as client:
        body = models.Enqueue.from_dict({"job_type": kind, "payload": {"n": 1}, "delay": 60})
        job = module("api.jobs.enqueue_job").sync(client=client, body=body)
        page = module("api.jobs.list_jobs").sync(client=client, state="pending", type_=kind, limit=5)
        stats = module("api.jobs.get_stats").sync(client=client)
        refused = module("api.jobs.get_job").sync_detailed("7", client=client)
        wanted = models.CreateSchedule.from_dict({"name": schedule, "job_type": kind, "cron": "@daily"})
        created = module("api.schedules.create_schedule").sync(client=client, body=wanted)
        gone = module("api.schedules.delete_schedule").sync_detailed(schedule, client=client)

    assert (job.job_type, job.payload.to_dict()) == (kind, {"n": 1})
    assert [each.id for each in page.jobs] == [job.id] == [each.id for each in queue.list(job_type=kind)]
    assert stats.by_type[kind] == 1
    assert (refused.status_code, refused.parsed.error) == (404, "JobNotFound")
    assert created.cron_words == "every day at 00:00"
    assert gone.status_code == 204
