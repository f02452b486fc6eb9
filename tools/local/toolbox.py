"""The pinned environments of SAM and the emulator, apart from each other and from ours."""

import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.local import command
from tools.local.layout import TOOLS

HERE = Path(__file__).parent
OFFLINE = "Without a network this works only once it has worked with one."


@dataclass(frozen=True)
class Environment:
    """A virtual environment made from a file of pins."""

    name: str

    @property
    def home(self) -> Path:
        return TOOLS / self.name

    @property
    def pins(self) -> Path:
        return HERE / f"requirements-{self.name}.txt"

    @property
    def python(self) -> Path:
        return self.home / "bin" / "python"

    @property
    def fingerprint(self) -> str:
        """Changes with the pins and with the Python it is made of."""
        made_of = f"{sys.version}\n{sys.base_prefix}\n{self.home}\n".encode()
        return hashlib.sha256(made_of + self.pins.read_bytes()).hexdigest()

    @property
    def _stamp(self) -> Path:
        return self.home / ".made-of"

    @property
    def ready(self) -> bool:
        return self._stamp.exists() and self._stamp.read_text() == self.fingerprint

    def prepare(self) -> None:
        """Make it, unless it is there already. Two processes may want it at the same time."""
        with _locked(TOOLS / f"{self.name}.lock"):
            if self.ready:
                return
            shutil.rmtree(self.home, ignore_errors=True)
            for step in self._steps():
                command.run(
                    step,
                    log=TOOLS / "logs" / f"install-{self.name}.log",
                    env=os.environ,
                    cwd=TOOLS,
                    sentence=f"The pinned {self.name} could not be installed. {OFFLINE}",
                )
            self._stamp.write_text(self.fingerprint)

    def _steps(self) -> list[list[str | Path]]:
        make = [sys.executable, "-m", "venv"]
        if uv := _uv():
            return [
                [*make, "--without-pip", self.home],
                [uv, "pip", "install", "--python", self.python, "-r", self.pins],
            ]
        pip: list[str | Path] = [self.python, "-m", "pip", "install", "--disable-pip-version-check"]
        return [[*make, self.home], [*pip, "-r", self.pins]]


SAM = Environment("sam")
MINISTACK = Environment("ministack")


def _uv() -> str | None:
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
