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
from tests.support.commands import NOW, Run


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
