"""The emulator of AWS: starts it on this machine only, knows when it is ready, stops all that it started."""

import contextlib
import functools
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import botocore.session
from botocore.config import Config

from tools.local import command, scratch
from tools.local.layout import Layout
from tools.local.toolbox import MINISTACK
from tools.local.trouble import Trouble, end_of

HOST = "127.0.0.1"
REGION = "us-east-1"
START_SECONDS = 60
STOP_SECONDS = 15
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}


@dataclass(kw_only=True)
class Emulator:
    """One emulator; `keep` lets its state survive a restart, `iam` makes it enforce the functions' roles."""

    layout: Layout
    port: int
    keep: bool = False
    iam: bool = False
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def log(self) -> Path:
        return self.layout.logs / "emulator.log"

    def client(self, service: str, **settings: Any) -> Any:
        """A boto3 client of the emulator that no profile or proxy of this machine can bend."""
        config = Config(proxies={}, max_pool_connections=32, **settings)
        return _session().client(service, endpoint_url=self.endpoint, config=config)

    def require_port(self) -> None:
        """`Trouble` if another program has the port."""
        if port_is_taken(self.port):
            raise Trouble(
                f"Port {self.port} is taken by another program: choose another, as in "
                f"`make run PORT={self.port + 1 if self.port < 65535 else self.port - 1}`."
            )

    def start(self) -> None:
        """Return when it answers."""
        self.require_port()
        temporary = scratch.make(self.layout)
        for folder in (self._scratch("home"), self.layout.logs, self._state):
            folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as output:
            self.process = command.start(
                [MINISTACK.python, "-m", "ministack"],
                env=self._environment(temporary),
                cwd=self._scratch("home"),
                output=output,
            )
        give_up_at = time.monotonic() + START_SECONDS
        while not self._answers():
            if not self.running or time.monotonic() > give_up_at:
                raise Trouble(f"The emulator did not start. Its log ended with:\n{end_of(self.log)}")
            time.sleep(0.1)

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stop(self) -> None:
        """End it and every Lambda process of it, and remove what they left behind."""
        if self.process is not None:
            if self.running and self.keep:
                # Time to write down its state. A running Lambda would be waited for, so it ends as well.
                command.signal_group(self.process, signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(STOP_SECONDS)
            command.kill_group(self.process)
        scratch.remove(self.layout)

    def _scratch(self, name: str) -> Path:
        return self.layout.scratch / name

    @property
    def _state(self) -> Path:
        return self.layout.kept if self.keep else self._scratch("state")

    def _environment(self, temporary: Path) -> dict[str, str]:
        """Written out: what is here reaches every Lambda."""
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self._scratch("home")),
            "TMPDIR": str(temporary),
            "LANG": "C.UTF-8",
            "BIND_HOST": HOST,
            "GATEWAY_PORT": str(self.port),
            "MINISTACK_HOST": HOST,
            "MINISTACK_REGION": REGION,
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            # It would remove every container that another emulator has on this machine.
            "DOCKER_HOST": f"unix://{self._scratch('no-docker')}",
            "S3_DATA_DIR": str(self._state / "s3"),
            "STATE_DIR": str(self._state / "state"),
        }
        if self.keep:
            environment |= {"PERSIST_STATE": "1", "S3_PERSIST": "1"}
        if self.iam:
            environment["AUTH"] = "true"
        return environment

    def _answers(self) -> bool:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(f"{self.endpoint}/_ministack/health", timeout=5) as answer:
                return bool(answer.status == 200) and self.running
        except (OSError, urllib.error.URLError):
            return False


@functools.cache
def _session() -> Any:
    """One for all clients: each session reads the service models anew, a quarter of a second."""
    no_profile = {
        "profile": (None, None, None, None),
        "config_file": (None, None, os.devnull, None),
        "credentials_file": (None, None, os.devnull, None),
    }
    return boto3.Session(
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        region_name=REGION,
        botocore_session=botocore.session.Session(session_vars=no_profile),
    )


def port_is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
