"""Fetches the DynamoDB engines, and axe, into .local/engines; who cannot have one is told so by name.

Run by `make engines`. It succeeds without them, so that the other tests run anywhere, except where CI=true.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.engines import AXE, ENGINES, HOME, Fetched


def main() -> int:
    wanted: tuple[Fetched, ...] = (*ENGINES, AXE)
    for each in wanted:
        fetch(each)
    missing = {each.name: why for each in wanted if (why := each.why_missing())}
    for name, why in missing.items():
        print(f"\n*** {name} is MISSING: {why}.\n", file=sys.stderr)
    return 1 if missing and os.environ.get("CI") == "true" else 0


def fetch(engine: Fetched) -> None:
    if engine.find_program():
        return
    HOME.mkdir(parents=True, exist_ok=True)
    if why := install(engine):
        engine.why_not_fetched.write_text(why)
    else:
        engine.why_not_fetched.unlink(missing_ok=True)


def install(engine: Fetched) -> str | None:
    """Install it, whole or not at all; return why it could not be."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed, so it could not be fetched"
    print(f"Fetching {engine.name} {engine.version} ...")
    with tempfile.TemporaryDirectory(dir=HOME) as workshop:
        options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        done = subprocess.run(
            [npm, "install", "--prefix", workshop, *options, engine.npm_package],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            said = done.stderr.strip().partition("\n")[0]
            return f"npm could not install {engine.npm_package} ({said})"
        shutil.rmtree(engine.home, ignore_errors=True)
        engine.home.mkdir()
        Path(workshop, "node_modules").rename(engine.home / "node_modules")
    return None


if __name__ == "__main__":
    sys.exit(main())
