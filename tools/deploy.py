"""`make deploy`: builds and deploys template.yaml to AWS with the pinned SAM; the first time it asks.

The answers are kept in samconfig.toml. `Runtime` and `Architecture` decide what is built, so the build takes
them from there too.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tools.local.console import Console
from tools.local.layout import ROOT
from tools.local.toolbox import SAM
from tools.local.trouble import Trouble

NAME = "dynajobs"
BUILT_FOR = ("Runtime", "Architecture")
_OVERRIDE = re.compile(r'(\w+)=(?:"((?:\\.|[^"\\])*)"|(\S*))')


def main(folder: Path = ROOT) -> int:
    console = Console()
    try:
        if not SAM.ready:
            with console.step("Installing SAM, once"):
                SAM.prepare()
        deploy(folder)
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def deploy(folder: Path) -> None:
    """Once more if the answers ask for another layer than was built before they were given."""
    config = folder / "samconfig.toml"
    before = saved(config)
    built = build(folder, before)
    if before is None:
        sam(folder, "deploy", "--guided", "--stack-name", NAME, "--capabilities", "CAPABILITY_IAM")
        answers = saved(config)
        if answers is None:
            print("Nothing was saved to samconfig.toml, so the next `make deploy` asks again.")
        elif built != what_to_build_for(answers):
            print("The answers ask for another runtime or architecture than was built: building again.")
            build(folder, answers)
            sam(folder, "deploy", "--no-fail-on-empty-changeset")
    else:
        sam(folder, "deploy", "--no-fail-on-empty-changeset")


def build(folder: Path, parameters: dict[str, str] | None) -> dict[str, str]:
    """Returns what it was built for, as far as that was said."""
    wanted = what_to_build_for(parameters or {})
    overrides = [f"{name}={value}" for name, value in wanted.items()]
    sam(folder, "build", *(["--parameter-overrides", *overrides] if overrides else []))
    return wanted


def what_to_build_for(parameters: dict[str, str]) -> dict[str, str]:
    """The parameters that the layer depends on, where they are not the template's defaults."""
    defaults = {"Runtime": "python3.12", "Architecture": "x86_64"}
    return {
        name: parameters[name] for name in BUILT_FOR if parameters.get(name, defaults[name]) != defaults[name]
    }


def saved(config: Path) -> dict[str, str] | None:
    """The parameters of an earlier deployment; None if there was none."""
    if not config.exists():
        return None
    try:
        settings = tomllib.loads(config.read_text())
    except tomllib.TOMLDecodeError as error:
        raise Trouble(f"{config} cannot be read: {error}. Mend it, or remove it to be asked again.") from None
    found = settings.get("default", {}).get("deploy", {}).get("parameters")
    if found is None:
        return None
    overrides = found.get("parameter_overrides", "")
    text = overrides if isinstance(overrides, str) else " ".join(overrides)
    return {name: quoted or plain for name, quoted, plain in _OVERRIDE.findall(text)}


def sam(folder: Path, *arguments: str) -> None:
    """In the foreground: it asks, and shows what will change."""
    # A make above us must not steer the layer's own; the layer is put together by our Python's pip.
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    mine["PYTHON"] = sys.executable
    code = subprocess.call([SAM.home / "bin" / "sam", *arguments], cwd=folder, env=mine)
    if code:
        raise Trouble(f"`sam {arguments[0]}` failed (exit code {code}); what it said is above.")


if __name__ == "__main__":
    sys.exit(main())
