"""Imports point one way, outside libraries have one home each, the public surface is the documented one."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dynajobs

PACKAGE = Path(dynajobs.__file__).parent

LAYERS = [
    {"errors"},
    {"version", "job", "schedule", "keys", "jsons", "units", "redact"},
    {"settings", "backoff", "cron", "fault", "words"},
    {"lifecycle", "item", "slots", "telemetry", "views"},
    {"dynamo", "claiming"},
    {"dedup"},
    {"control"},
    {"store"},
    {"producing", "listing", "lease", "lanes", "invoke", "finishing", "history"},
    {"schedule_item", "reservation"},
    {"templates", "launching"},
    {"firing", "schedules", "declared"},
    {"outcome", "context", "registry", "queue", "installing"},
    {"execution", "poller", "housekeeping"},
    {"vigil"},
    {"wake"},
    {"function", "worker", "poller_function"},
    {"operating"},
    {"http"},
    {"testing", "cli"},
]
HOMES = {
    "boto3": {"dynamo", "invoke", "http"},
    "botocore": {"dynamo", "invoke", "http"},
    "sentry_sdk": {"telemetry"},
    "aws_lambda_powertools": {"telemetry", "http"},
    "pydantic": {"registry", "housekeeping", "http"},
    "pydantic_core": {"redact"},
    "croniter": {"cron"},
    "yaml": {"declared"},
    "click": {"cli"},
    "rich": {"cli"},
}
PUBLIC = {
    "BaseJobHandler", "Backoff", "Discard", "Job", "JobContext", "JobQueue", "JobResult", "Page",
    "Registry", "Run", "Schedule", "ScheduleRun", "Settings", "Snooze", "Stats", "Status", "make_dedup_key",
    "AlreadyExists",
    "DynajobsError", "EnqueueFailed", "InvalidCursor", "InvalidJob", "InvalidSchedule",
    "InvalidSettings", "InvalidTransition", "JobNotFound", "LeaseLost", "RegistrationError",
    "ReservationBusy", "ScheduleNotFound", "TemplateInUse", "TemplateNotFound", "Unavailable",
}  # fmt: skip


def source(module: str) -> str:
    return (PACKAGE / f"{module.replace('.', '/')}.py").read_text()


def imports(module: str) -> set[str]:
    """What a module imports, at any depth of its code, imports for type checkers apart."""
    tree = ast.parse(source(module))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "dynajobs":
            found |= {f"dynajobs.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


MODULES = sorted(
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    for path in PACKAGE.rglob("*.py")
    if path != PACKAGE / "__init__.py"
)


def top(module: str) -> str:
    """A module's name, or that of the package it is in: a package is one thing to the others."""
    return module.split(".")[0]


def test_every_module_has_its_layer() -> None:
    assert set(map(top, MODULES)) == set().union(*LAYERS)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module: str) -> None:
    level = next(number for number, layer in enumerate(LAYERS) if top(module) in layer)
    allowed = set().union(*LAYERS[: level + 1])
    used = {name.split(".")[1] for name in imports(module) if name.startswith("dynajobs.")}
    upward = used - allowed
    if module == "registry":
        upward -= {"function"}  # lambda_handler() opens the entry point when it is called
    assert not upward


@pytest.mark.parametrize("library", sorted(HOMES))
def test_an_outside_library_has_one_home(library: str) -> None:
    users = {top(module) for module in MODULES if library in {name.split(".")[0] for name in imports(module)}}
    assert users == HOMES[library]


def test_only_settings_reads_the_environment() -> None:
    readers = {module for module in MODULES if "os.environ" in source(module)}
    assert readers == {"settings", "cli.stack"}  # the command line completes it, for settings to read


def test_the_public_surface_is_the_documented_one() -> None:
    assert set(dynajobs.__all__) == PUBLIC
    assert all(getattr(dynajobs, name) for name in dynajobs.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dynajobs.nothing


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(answer.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded_by("import dynajobs") & {"boto3", "botocore", "pydantic", "dynajobs.queue"}


def test_a_cold_poller_loads_no_pydantic_croniter_or_sentry() -> None:
    assert not loaded_by("import dynajobs.poller") & {
        "pydantic",
        "croniter",
        "sentry_sdk",
        "click",
        "dynajobs.registry",
    }


def test_a_command_loads_no_tables_and_no_client_before_it_needs_them() -> None:
    assert not loaded_by("import dynajobs.cli") & {
        "rich",
        "boto3",
        "botocore",
        "pydantic",
        "aws_lambda_powertools",
        "dynajobs.queue",
    }
