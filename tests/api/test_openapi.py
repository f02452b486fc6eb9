"""The OpenAPI document is right: made-up requests are answered as it says, clients made from it work."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dynajobs import JobQueue, Settings
from dynajobs.http import rate
from dynajobs.http.function import lambda_handler
from dynajobs.testing import create_table
from tests.api.conftest import OPERATE
from tests.support import engines
from tests.support.calling import Caller
from tests.support.engines import RunningEngine
from tests.support.generated import use_generated_client
from tests.support.serving import serving

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("dynoxide")]


@pytest.fixture
def served(
    dynoxide: RunningEngine, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, JobQueue]]:
    """The API on a real engine, behind a real HTTP server."""
    monkeypatch.setattr(rate, "AT_ONCE", 1e9)
    client = engines.client(dynoxide)
    create_table(client, table_name)
    queue = JobQueue(table_name, client=client, settings=Settings())
    queue.store.control.tell_pass(queue.now(), 0)  # a poller that is alive
    handler = lambda_handler(
        queue,
        tokens=lambda: {"operate": (OPERATE,)},
        tick=lambda: {"claimed": 0, "fired": 0},
        sleep=lambda _: None,
    )
    with serving(handler) as url:
        yield url, queue


def test_requests_made_up_from_the_document_are_answered_as_it_says(
    served: tuple[str, JobQueue], tmp_path: Path
) -> None:
    url, queue = served
    queue.templates.create("0", "work")
    run = subprocess.run(
        [
            *(
                BIN / "schemathesis",
                "--config-file",
                HERE / "schemathesis.toml",
                "run",
                f"{url}/openapi.json",
            ),
            *("--url", url, "--header", f"Authorization: Bearer {OPERATE}", "--checks", "all"),
            *("--max-examples", "10", "--seed", "1", "--no-color", "--warnings", "off"),
        ],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout[-8000:]
    assert "No issues found" in run.stdout, run.stdout[-2000:]


def test_a_client_made_from_the_document_works(
    served: tuple[str, JobQueue], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, queue = served

    use_generated_client(url, OPERATE, queue, tmp_path, monkeypatch)


def test_the_document_lists_every_path_and_what_it_refuses(local: Caller) -> None:
    document = local.ok("GET", "/openapi.json")

    assert document["openapi"].startswith("3.1")
    assert document["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert set(document["paths"]) == {
        "/health",
        "/api/jobs/tick",
        *(
            f"/api/admin/{path}"
            for path in (
                "about",
                "audit",
                "errors",
                "jobs",
                "jobs/bulk",
                "jobs/stats",
                "jobs/{job_id}",
                "jobs/{job_id}/cancel",
                "jobs/{job_id}/reschedule",
                "jobs/{job_id}/retry",
                "jobs/{job_id}/why",
                "reservation",
                "schedules",
                "schedules/preview",
                "schedules/{name}",
                "schedules/{name}/backfill",
                "schedules/{name}/disable",
                "schedules/{name}/enable",
                "schedules/{name}/next",
                "schedules/{name}/runs",
                "schedules/{name}/trigger",
                "templates",
                "templates/{name}",
                "templates/{name}/enqueue",
            )
        ),
    }
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["summary"] and operation["operationId"], path
            assert path == "/health" or {"401", "429", "503"} <= set(operation["responses"])
