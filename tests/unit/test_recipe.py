"""The recipe for a new function in docs/deploy.md works when it is followed to the letter."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dynajobs import JobQueue, Status
from dynajobs.testing import create_table, drain
from tests.support import cloudformation
from tests.support.cloudformation import ROOT
from tests.support.recipe import add_functions

RECIPE = ROOT / "docs" / "recipes" / "new-function"
STEPS = (ROOT / "docs" / "deploy.md").read_text().split("## Adding a job type")[1]


def lines_to_add() -> list[str]:
    """What steps 3 and 4 add; three columns of its indentation belong to the numbered list."""
    return re.findall(r"^   ```yaml\n   (.*\n)   ```$", STEPS, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a project looks like after all steps."""
    folder = tmp_path_factory.mktemp("project")
    function = folder / "functions" / "reminder"
    function.mkdir(parents=True)
    (function / "app.py").write_text((RECIPE / "app.py").read_text())

    mapped, invoked = lines_to_add()
    text = add_functions(
        (ROOT / "template.yaml").read_text(),
        resources=(RECIPE / "template.yaml").read_text(),
        mapped=mapped,
        invoked=invoked,
    )
    (folder / "template.yaml").write_text(text)
    return folder


def test_the_steps_name_the_files_and_places_that_exist() -> None:
    for quoted in re.findall(r"`((?:docs|functions)/[^`]+)`", STEPS):
        assert quoted == "functions/reminder/app.py" or (ROOT / quoted).is_file()
    for place in ("Outputs:", "DYNAJOBS_HANDLERS: !Sub", "Sid: HandOver", "Resource:"):
        assert f"`{place}`" in STEPS
        assert place in (ROOT / "template.yaml").read_text()


def test_the_template_that_comes_out_is_sound(followed: Path) -> None:
    before = cloudformation.parse((ROOT / "template.yaml").read_text())
    after = cloudformation.parse((followed / "template.yaml").read_text())

    assert cloudformation.lint(followed / "template.yaml") == ""
    assert set(after["Resources"]) - set(before["Resources"]) == {"ReminderFunction", "ReminderLogs"}
    assert set(cloudformation.references(after["Resources"])) <= cloudformation.known(after)


def test_the_poller_knows_the_type_and_may_invoke_its_function(followed: Path) -> None:
    template = cloudformation.parse((followed / "template.yaml").read_text())

    before = cloudformation.parse((ROOT / "template.yaml").read_text())
    mapped = cloudformation.handler_map(before) | {"send_reminder": "ReminderFunction"}
    assert cloudformation.handler_map(template) == mapped
    assert cloudformation.invocable(template) == cloudformation.invocable(before) | {"ReminderFunction"}
    assert cloudformation.statements(template, "ReminderFunction") == cloudformation.statements(
        template, "HandlerPolicy"
    )
    code = cloudformation.functions(template)["ReminderFunction"]["CodeUri"]
    assert (followed / code / "app.py").is_file()


def test_the_function_runs_its_jobs(followed: Path, moto_client: Any, table_name: str) -> None:
    app = load(followed / "functions" / "reminder" / "app.py")
    create_table(moto_client, table_name)
    queue = JobQueue(table_name, client=moto_client)
    said = queue.enqueue("send_reminder", {"user_id": "u1", "text": "water the plants"})
    silent = queue.enqueue("send_reminder", {"user_id": "u1", "text": " "})

    drain(queue, app.jobs)

    assert queue.get(said).status is Status.COMPLETED
    assert queue.get(said).runs[-1].message == "reminded u1"
    assert queue.get(silent).status is Status.DEAD_LETTER
    assert callable(app.handler)


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("reminder_app", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
