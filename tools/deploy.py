"""`make deploy`: builds and deploys template.yaml to AWS with the pinned SAM; the first time it asks.

It asks by itself: `sam deploy --guided` asks after the build, which depends on the answers, and takes no
empty Sentry DSN for one. What it learns is kept in samconfig.toml, where SAM finds it.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.local.console import Console
from tools.local.layout import ROOT
from tools.local.stack import RUNTIMES
from tools.local.toolbox import SAM
from tools.local.trouble import Trouble


@dataclass(frozen=True)
class Question:
    """What to ask for, and what will do as an answer."""

    name: str
    text: str
    usual: str
    fits: str

    def answer(self, ask: Callable[[str], str]) -> str:
        """Ask until the answer fits; an empty one is the usual one."""
        while True:
            given = ask(f"{self.text} [{self.usual or 'none'}]: ").strip() or self.usual
            if re.fullmatch(self.fits, given):
                return given
            print(f"  {given!r} will not do.")


QUESTIONS = (
    Question("stack_name", "Name of the stack", "dynajobs", r"[A-Za-z][A-Za-z0-9-]{0,127}"),
    Question("region", "AWS region", os.environ.get("AWS_REGION", "us-east-1"), r"[a-z]{2}(-[a-z]+)+-\d"),
    Question("Runtime", f"Runtime, {RUNTIMES[0]} to {RUNTIMES[-1]}", "python3.12", "|".join(RUNTIMES)),
    Question("Architecture", "Architecture, x86_64 or arm64", "x86_64", "x86_64|arm64"),
    Question("TableName", "An existing table to share, if any", "", r"|[a-zA-Z0-9_.-]{3,255}"),
    Question("SentryDsn", "Sentry DSN, if failures are to be reported", "", r'|https?://[^\s"]+'),
)
CONFIG = """\
# Made by `make deploy`; every parameter of template.yaml can be set here. Runtime and Architecture decide
# what is built, so they stand in both places.
version = 0.1

[default.build.parameters]
parameter_overrides = {built_for}

[default.deploy.parameters]
stack_name = {stack_name}
region = {region}
resolve_s3 = true
capabilities = "CAPABILITY_IAM"
confirm_changeset = true
fail_on_empty_changeset = false
parameter_overrides = {parameters}
"""


def main(folder: Path = ROOT) -> int:
    console = Console()
    try:
        config = folder / "samconfig.toml"
        if not config.exists():
            write(config, answers())
        if not SAM.ready:
            with console.step("Installing SAM, once"):
                SAM.prepare()
        sam(folder, "build")
        sam(folder, "deploy")
        sync(folder)
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def answers(ask: Callable[[str], str] | None = None) -> dict[str, str]:
    """By name; asked in the terminal."""
    ask = ask or input
    try:
        print("The first deployment from this folder: Enter takes what is in brackets.\n")
        return {question.name: question.answer(ask) for question in QUESTIONS}
    except EOFError:
        raise Trouble(
            "\nThe first `make deploy` asks questions, and there is nobody to answer: run it in a terminal, "
            "or write samconfig.toml as docs/deploy.md says."
        ) from None


def write(config: Path, answered: dict[str, str]) -> None:
    """For its owner alone: it may hold the DSN."""
    parameters = [f"{question.name}={answered[question.name]}" for question in QUESTIONS[2:]]
    text = CONFIG.format(
        stack_name=json.dumps(answered["stack_name"]),
        region=json.dumps(answered["region"]),
        built_for=json.dumps(parameters[:2]),
        parameters=json.dumps([each for each in parameters if not each.endswith("=")]),
    )
    with os.fdopen(os.open(config, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    print(f"\nKept in {config.name}, so that the next `make deploy` need not ask.\n")


def sam(folder: Path, verb: str) -> None:
    """In the foreground: it shows what will change, and asks for consent."""
    # A make above us must not steer the layer's own; the layer is put together by our Python's pip.
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    mine["PYTHON"] = sys.executable
    code = subprocess.call([SAM.home / "bin" / "sam", verb], cwd=folder, env=mine)
    if code:
        raise Trouble(f"`sam {verb}` failed (exit code {code}); what it said is above.")


def sync(folder: Path) -> None:
    """Brings the schedules of functions/schedules.yaml into the table of the stack that was deployed."""
    declared = folder / "functions" / "schedules.yaml"
    if not declared.exists():
        return
    config = tomllib.loads((folder / "samconfig.toml").read_text())
    stack: dict[str, str] = config["default"]["deploy"]["parameters"]
    where = ["--stack-name", stack["stack_name"], "--region", stack["region"]]
    listed = subprocess.run(
        [SAM.home / "bin" / "sam", "list", "stack-outputs", *where, "--output", "json"],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        raise Trouble(f"The stack is deployed, but its table is not known:\n{listed.stderr.strip()}")
    table = {each["OutputKey"]: each["OutputValue"] for each in json.loads(listed.stdout)}["TableName"]
    print(f"\nSchedules declared in {declared.relative_to(folder)}:")
    command = [Path(sys.executable).with_name("dynajobs"), "schedules", "sync", declared, "--table", table]
    if subprocess.call(command, cwd=folder, env={**os.environ, "AWS_DEFAULT_REGION": stack["region"]}):
        raise Trouble(
            "The stack is deployed, but its schedules are not as declared; what went wrong is above."
        )


if __name__ == "__main__":
    sys.exit(main())
