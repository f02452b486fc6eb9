"""Fixtures every test may use: a DynamoDB client per engine, and a table name nobody else has."""

import os
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from moto import mock_aws

from tests.support import browser as browser_support
from tests.support import deployment, engines, node
from tests.support.deployment import Deployment
from tests.support.engines import DYNAMODB_LOCAL, DYNOXIDE, ENGINES, Engine, RunningEngine
from tools.local import toolbox
from tools.local.toolbox import MINISTACK, SAM
from tools.local.trouble import Trouble

# One worker has all tests of an engine, so that each engine starts once.
CONCURRENT = [
    pytest.param(engine.name, marks=[pytest.mark.engine, pytest.mark.xdist_group(engine.name)])
    for engine in ENGINES
]


def pytest_configure() -> None:
    """No test may see the AWS account of whoever runs it."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    missing = {engine.name: why for engine in ENGINES if (why := engine.why_missing())}
    if why := node.why_missing():
        missing["the end-to-end test of another language's SDK"] = why
    if why := browser_support.why_missing() or engines.AXE.why_missing():
        missing["the operators' page"] = why
    for tool in (toolbox.SAM, toolbox.MINISTACK):
        if any(tool.name in str(skipped.longrepr) for skipped in terminalreporter.stats.get("skipped", [])):
            missing[f"all end-to-end tests, for want of {tool.name}"] = "it could not be installed"
    if missing:
        terminalreporter.section("missing on this machine, so not tested", red=True)
        for name, why in missing.items():
            terminalreporter.line(f"{name}: {why}")


@pytest.fixture
def table_name() -> str:
    """Engines outlive a test, so each test has a table of its own."""
    return f"test-{uuid4().hex}"


@pytest.fixture(scope="session")
def _moto_client() -> Any:
    return engines.plain_session().client("dynamodb")


@pytest.fixture
def moto_client(_moto_client: Any) -> Iterator[Any]:
    """An empty DynamoDB in this process: quick, and for one thread only."""
    with mock_aws():
        yield _moto_client


@pytest.fixture(scope="session")
def dynoxide() -> Iterator[RunningEngine]:
    yield from running(DYNOXIDE)


@pytest.fixture(scope="session")
def dynamodb_local() -> Iterator[RunningEngine]:
    yield from running(DYNAMODB_LOCAL)


@pytest.fixture(params=CONCURRENT)
def concurrent_engine(request: pytest.FixtureRequest) -> RunningEngine:
    """Each engine that keeps DynamoDB's promises to concurrent callers."""
    engine: RunningEngine = request.getfixturevalue(request.param.replace("-", "_"))
    return engine


@pytest.fixture
def concurrent_client(concurrent_engine: RunningEngine) -> Any:
    return engines.client(concurrent_engine)


@pytest.fixture(params=["moto", *CONCURRENT])
def engine_client(request: pytest.FixtureRequest) -> Any:
    """A client of every engine, for what must hold on all of them."""
    if request.param == "moto":
        return request.getfixturevalue("moto_client")
    return engines.client(request.getfixturevalue(request.param.replace("-", "_")))


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


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, for the tests that look at the page."""
    from playwright.sync_api import sync_playwright

    program = browser_support.program()
    if program is None:
        sentence = f"the page cannot be tested: {browser_support.why_missing()}"
        if os.environ.get("CI") == "true":
            pytest.fail(sentence, pytrace=False)
        pytest.skip(sentence)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=browser_support.ARGUMENTS)
        yield launched
        launched.close()


def running(engine: Engine) -> Iterator[RunningEngine]:
    if why := engine.why_missing():
        sentence = f"{engine.name} is missing: {why}"
        # Where every engine is expected, a skip would be a silent hole in the suite.
        if os.environ.get("CI") == "true":
            pytest.fail(sentence, pytrace=False)
        pytest.skip(sentence)
    started = engines.start(engine)
    yield started
    started.stop()
