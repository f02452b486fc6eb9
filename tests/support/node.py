"""Node with AWS's own SDK for it: what other languages' programs do to the table."""

import functools
import shutil
import subprocess
from pathlib import Path

from tools.local.layout import ROOT, TOOLS

SOURCE = ROOT / "tests" / "e2e" / "node"
HOME = TOOLS / "node"
PINS = ("package.json", "package-lock.json")


def why_missing() -> str | None:
    """The sentence that says why there is no Node here, or None if there is."""
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    return f"{' and '.join(missing)} not installed" if missing else None


@functools.cache
def sdk() -> Path:
    """The folder where the pinned SDK is installed."""
    if not all(_same(name) for name in PINS) or not (HOME / "node_modules").exists():
        shutil.rmtree(HOME, ignore_errors=True)
        HOME.mkdir(parents=True)
        for name in PINS:
            shutil.copy(SOURCE / name, HOME / f"{name}")
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        try:
            subprocess.run(["npm", "ci", *options], cwd=HOME, check=True, capture_output=True, text=True)
        except subprocess.CalledProcessError as error:
            shutil.rmtree(HOME)
            raise AssertionError(f"npm could not install the SDK: {error.stderr}") from error
    return HOME


def run(script: str, *arguments: str, env: dict[str, str]) -> str:
    """Run one of the scripts of tests/e2e/node and return what it says."""
    place = sdk() / script
    shutil.copy(SOURCE / script, place)
    done = subprocess.run(["node", place, *arguments], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _same(name: str) -> bool:
    copy = HOME / name
    return copy.exists() and copy.read_bytes() == (SOURCE / name).read_bytes()
