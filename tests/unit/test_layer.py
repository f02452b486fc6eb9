"""The layer holds everything the library imports, and nothing it does not pin."""

import ast
import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support import cloudformation
from tests.support.cloudformation import ROOT

LAYER = ROOT / "layers" / "dynajobs"
# One worker has all tests here, so that the layer is built once.
pytestmark = pytest.mark.xdist_group("layer")

PIN = re.compile(r"([a-z0-9][a-z0-9._-]*)==([^ ;]+)")
IN_THE_RUNTIME = {"boto3", "botocore"}
OF_THE_CLI = {"click", "pyyaml", "rich"}


def pins(path: Path) -> dict[str, set[str]]:
    """Each package with its versions; there are several where they depend on the Python version."""
    found: dict[str, set[str]] = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith(("#", " ")):
            match = PIN.match(line)
            assert match, f"{path.name}: {line!r} is no pin"
            found.setdefault(match[1], set()).add(match[2])
    return found


def imported_packages() -> set[str]:
    """The top-level packages from outside that the library imports anywhere, also inside functions."""
    found: set[str] = set()
    for path in (LAYER / "dynajobs").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"dynajobs"}


def test_pins_are_those_everything_is_tested_with() -> None:
    tested = pins(ROOT / "requirements-dev.txt")

    for package, versions in pins(LAYER / "requirements.txt").items():
        assert versions == tested.get(package), package


def test_every_import_and_every_dependency_is_there() -> None:
    distributions = importlib.metadata.packages_distributions()
    pinned = set(pins(LAYER / "requirements.txt"))
    imported = {distributions[package][0].lower().replace("_", "-") for package in imported_packages()}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    required = {re.split(r"[<>=~!\[ ]", each)[0] for each in declared}

    assert imported - IN_THE_RUNTIME - OF_THE_CLI <= pinned
    assert required - IN_THE_RUNTIME <= pinned
    assert not pinned & IN_THE_RUNTIME


def test_there_is_a_build_for_every_runtime_and_architecture() -> None:
    template = cloudformation.parse((ROOT / "template.yaml").read_text())
    parameters = template["Parameters"]
    layer = template["Resources"]["DynajobsLayer"]
    folder = ROOT / layer["Metadata"]["ContextPath"]["Fn::Sub"].removesuffix("/${Runtime}-${Architecture}")
    wanted = {
        f"{runtime}-{machine}": f"RUNTIME := {runtime}\nARCHITECTURE := {machine}\ninclude Makefile\n"
        for runtime in parameters["Runtime"]["AllowedValues"]
        for machine in parameters["Architecture"]["AllowedValues"]
    }

    assert {path.parent.name: path.read_text() for path in folder.glob("*/Makefile")} == wanted


@pytest.fixture(scope="module")
def built_layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The layer for this interpreter, made by its own recipe just as `sam build` runs it."""
    folder = tmp_path_factory.mktemp("layer")
    target = f"python{sys.version_info.major}.{sys.version_info.minor}-x86_64"
    # For this machine's Python, whatever it is: what is missing would be missing on every platform.
    command = ["make", "--makefile", f"{LAYER}/targets/{target}/Makefile", "build-DynajobsLayer"]
    variables = [f"PYTHON={sys.executable}", f"ARTIFACTS_DIR={folder}", "TARGET_FLAGS="]
    run = subprocess.run([*command, *variables], cwd=LAYER, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return folder / "python"


def test_every_module_imports_from_the_layer_alone(built_layer: Path, tmp_path: Path) -> None:
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    for package in ("boto3", "botocore", "s3transfer"):  # what a Lambda runtime brings
        spec = importlib.util.find_spec(package)
        assert spec and spec.origin
        (runtime / package).symlink_to(Path(spec.origin).parent)
    script = f"""
import importlib, pkgutil, sys
sys.path[:0] = [{str(built_layer)!r}, {str(runtime)!r}]
import dynajobs
for name in dynajobs.__all__:
    getattr(dynajobs, name)
for module in pkgutil.walk_packages(dynajobs.__path__, "dynajobs."):
    if not module.name.startswith(("dynajobs.cli", "dynajobs.__main__")):
        importlib.import_module(module.name)
import aws_lambda_powertools, croniter, sentry_sdk, tzdata
print(dynajobs.__file__)
"""

    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str(built_layer / "dynajobs" / "__init__.py")


def test_the_layer_is_small(built_layer: Path) -> None:
    """Lambda's limit is far, but every cold start unpacks it. Sources and bytecode are each about half."""
    files = [path for path in built_layer.rglob("*") if path.is_file()]

    assert sum(path.stat().st_size for path in files) < 30_000_000
    assert not [path for path in files if {"tests", "bin"} & set(path.relative_to(built_layer).parts[:-1])]
    assert shutil.which("dynajobs", path=str(built_layer)) is None
    bytecode = [path for path in files if path.suffix == ".pyc"]
    assert len(bytecode) > 100, "each cold start would compile every module"


def test_the_recipe_says_what_it_lacks(tmp_path: Path) -> None:
    command = [
        "make",
        "-C",
        str(LAYER),
        "build-DynajobsLayer",
        f"ARTIFACTS_DIR={tmp_path}",
        "RUNTIME=python3.12",
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)

    assert run.returncode != 0
    assert "ARCHITECTURE (x86_64 or arm64)" in run.stderr
