"""One deployed stack for all tests here; each uses jobs of its own."""

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.support import deployment
from tests.support.deployment import Deployment
from tools.local.toolbox import MINISTACK, SAM
from tools.local.trouble import Trouble

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # xdist looks at the groups when its turn comes
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker has them all, so that the stack is deployed once; `make run` needs no share of it."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.e2e)
            own = item.path.stem == "test_make_run"
            item.add_marker(pytest.mark.xdist_group("make-run" if own else "e2e"))


@pytest.fixture(scope="session")
def tools() -> None:
    """SAM and the emulator, in their own environments."""
    try:
        for each in (SAM, MINISTACK):
            each.prepare()
    except Trouble as trouble:
        if os.environ.get("CI") == "true":
            pytest.fail(str(trouble), pytrace=False)
        pytest.skip(str(trouble))


@pytest.fixture(scope="session")
def stack(tools: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:  # noqa: ARG001
    deployed = deployment.deploy(tmp_path_factory.mktemp("e2e"))
    try:
        deployed.ticking(False)
        deployed.waking(False)
        yield deployed
    finally:
        deployed.emulator.stop()


@pytest.fixture
def batch() -> str:
    """A name under which no other test leaves traces."""
    return uuid4().hex
