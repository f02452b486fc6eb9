"""A table, a folder of its own and a still clock for the command line."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from click.testing import CliRunner, Result

from dynajobs import JobQueue, cli
from dynajobs.testing import create_table
from tests.support import engines
from tests.support.commands import NOW, TOKEN, Run, api
from tests.support.serving import serving


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
def run(
    request: pytest.FixtureRequest,
    moto_client: Any,
    environment: None,  # noqa: ARG001
    table_name: str,
) -> Iterator[Run]:
    """Runs a command; at the table, or through the API if the test asks for it by `BOTH_WAYS`."""
    create_table(moto_client, table_name)

    def run(*arguments: str, **options: Any) -> Result:
        return CliRunner().invoke(cli.main, arguments, **options)

    if getattr(request, "param", "direct") == "direct":
        os.environ["DYNAJOBS_TABLE"] = table_name
        yield run
        return
    queue = JobQueue(table_name, client=moto_client)
    with serving(api(queue)) as url:
        os.environ |= {"DYNAJOBS_URL": url, "DYNAJOBS_TOKEN": TOKEN}
        yield run


@pytest.fixture
def queue(run: Run, moto_client: Any, table_name: str) -> JobQueue:  # noqa: ARG001 - it made the table
    return JobQueue(table_name, client=moto_client)
