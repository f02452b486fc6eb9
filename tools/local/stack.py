"""The stack itself: `sam build` and `sam deploy` of the template, onto the emulator."""

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.local import command
from tools.local.emulator import CREDENTIALS, HOST, REGION, Emulator
from tools.local.layout import ROOT, Layout
from tools.local.toolbox import OFFLINE, SAM
from tools.local.trouble import Trouble

NAME = "dynajobs"
RUNTIMES = ("python3.11", "python3.12", "python3.13", "python3.14")
# Each running Lambda is a process with its own copy of the layer: a laptop has room for some.
LOCAL = {"MaxInFlight": "8", "Demo": "true"}


def runtime() -> str:
    """The emulator runs functions on the Python it is made of, which is ours."""
    here = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if here not in RUNTIMES:
        raise Trouble(
            f"The emulator runs functions on {here}, which Lambda does not offer: make .venv with one of "
            f"{', '.join(RUNTIMES)}, as in `make clean setup PYTHON=python3.12`."
        )
    return here


def architecture() -> str:
    return "arm64" if platform.machine().lower() in {"arm64", "aarch64"} else "x86_64"


@dataclass(kw_only=True)
class Stack:
    """A template, how it is set, and where its files go."""

    layout: Layout
    template: Path = ROOT / "template.yaml"
    name: str = NAME
    parameters: Mapping[str, str] = field(default_factory=lambda: LOCAL)

    def build(self) -> None:
        """Needs no emulator."""
        cache = self.layout.cache / runtime()
        options: list[str | Path] = ["--build-dir", self.layout.built, "--cached", "--cache-dir", cache]
        command.run(
            [*self._sam("build", self.template), *options, *self._overrides()],
            log=self.layout.logs / "build.log",
            env=self._environment(),
            cwd=self.template.parent,
            sentence=f"`sam build` failed. {OFFLINE}",
        )

    def deploy(self, emulator: Emulator) -> dict[str, str]:
        """Returns the stack's outputs."""
        options = ["--stack-name", self.name, "--resolve-s3", "--capabilities", "CAPABILITY_IAM"]
        quietly = ["--no-confirm-changeset", "--no-fail-on-empty-changeset", "--no-progressbar"]
        command.run(
            [
                *self._sam("deploy", self.layout.built / "template.yaml"),
                *options,
                *quietly,
                *self._overrides(),
            ],
            log=self.layout.logs / "deploy.log",
            env=self._environment() | {"AWS_ENDPOINT_URL": emulator.endpoint},
            cwd=self.template.parent,
            sentence="`sam deploy` onto the emulator failed",
        )
        [stack] = emulator.client("cloudformation").describe_stacks(StackName=self.name)["Stacks"]
        outputs = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
        _switch_ttl_on(emulator.client("dynamodb"), outputs["TableName"])
        return outputs

    def _sam(self, verb: str, template: Path) -> list[str | Path]:
        # The project's samconfig.toml is for AWS: it must not reach into the local stack.
        nothing = self.layout.work / "samconfig.toml"
        nothing.parent.mkdir(parents=True, exist_ok=True)
        nothing.write_text("version = 0.1\n")
        return [SAM.home / "bin" / "sam", verb, "--template-file", template, "--config-file", nothing]

    def _overrides(self) -> list[str]:
        parameters = {"Runtime": runtime(), "Architecture": architecture(), **self.parameters}
        return ["--parameter-overrides", *(f"{name}={value}" for name, value in parameters.items())]

    def _environment(self) -> dict[str, str]:
        """Ours, with pip's settings, but without anybody's AWS account."""
        foreign = ("AWS_", "SAM_", "MAKE", "MFLAGS")  # a make above us must not steer the layer's own
        mine = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        direct = ",".join(filter(None, [os.environ.get("NO_PROXY") or os.environ.get("no_proxy"), HOST]))
        mine |= CREDENTIALS | {
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "SAM_CLI_TELEMETRY": "0",
            "__SAM_CLI_APP_DIR": str(self.layout.work / "sam-home"),
            "NO_PROXY": direct,
            "no_proxy": direct,
            # The layer's makefile calls it for pip, and for bytecode of the same version.
            "PYTHON": sys.executable,
        }
        if sys.platform != "linux":
            mine["TARGET_FLAGS"] = ""  # wheels for this machine, which is where the functions run
        return mine


def _switch_ttl_on(dynamodb: Any, table: str) -> None:
    """The emulator ignores it in a template."""
    found = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    if found["TimeToLiveStatus"] not in {"ENABLED", "ENABLING"}:
        dynamodb.update_time_to_live(
            TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires_at"}
        )
