"""Where things are: the tools, and the files of one stack."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".local"


@dataclass(frozen=True)
class Layout:
    """The files of one stack; there is one stack per `home`."""

    home: Path = TOOLS

    @property
    def pointer(self) -> Path:
        """Tells other programs where the stack is, while it runs."""
        return self.home / "stack.json"

    @property
    def work(self) -> Path:
        """Everything else, out of the way."""
        return self.home / "stack"

    @property
    def lock(self) -> Path:
        return self.work / "lock"

    @property
    def scratch(self) -> Path:
        """Gone when the stack is stopped."""
        return self.work / "run"

    @property
    def kept(self) -> Path:
        """State that survives a restart, if that was asked for."""
        return self.work / "kept"

    @property
    def logs(self) -> Path:
        return self.work / "logs"

    @property
    def built(self) -> Path:
        return self.work / "build"

    @property
    def cache(self) -> Path:
        """Built layers, so that only what changed is built again."""
        return self.work / "cache"
