"""One deployed stack for all tests here; each uses jobs of its own."""

from pathlib import Path
from uuid import uuid4

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # xdist looks at the groups when its turn comes
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker has them all, so that the stack is deployed once; `make run` needs no share of it."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.e2e)
            own = item.path.stem == "test_make_run"
            item.add_marker(pytest.mark.xdist_group("make-run" if own else "e2e"))


@pytest.fixture
def batch() -> str:
    """A name under which no other test leaves traces."""
    return uuid4().hex
