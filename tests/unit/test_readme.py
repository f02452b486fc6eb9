"""What the README shows works when it is pasted."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

README = Path(__file__).parents[2] / "README.md"


def python_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "us-east-1" if name.endswith("REGION") else "test")
    with mock_aws():
        yield


@pytest.mark.usefixtures("aws")
def test_every_python_block_runs_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    first, setup, *rest = python_blocks()
    definitions, producing = first.split("\n\n\nqueue = ")
    setup = setup.replace("mock_aws().start()\n", "")  # the fixture has started it, and stops it
    scope: dict[str, Any] = {"__name__": "readme"}
    for block in (definitions, setup, f"queue = {producing}", *rest):
        exec(compile(block, str(README), "exec"), scope)
    assert "completed {'said': 'Hello Ada, attempt 1'}" in capsys.readouterr().out
