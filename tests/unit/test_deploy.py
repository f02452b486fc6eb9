"""`make deploy` asks the first time and keeps the answers where SAM finds them; then it asks no more."""

import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import cloudformation
from tests.support.cloudformation import ROOT
from tools import deploy
from tools.local.toolbox import Environment
from tools.local.trouble import Trouble


def typing(*lines: str) -> Callable[[str], str]:
    """Somebody who types these lines, then only Enter."""
    left = list(lines)
    return lambda _: left.pop(0) if left else ""


@pytest.fixture
def sam(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that were given to SAM, which does nothing."""
    given: list[str] = []
    monkeypatch.setattr(deploy, "sam", lambda _, verb: given.append(verb))
    monkeypatch.setattr(Environment, "ready", True)
    return given


def test_enter_takes_the_templates_defaults(tmp_path: Path) -> None:
    parameters = cloudformation.parse((ROOT / "template.yaml").read_text())["Parameters"]

    answered = deploy.answers(typing())

    for question in deploy.QUESTIONS[2:]:
        assert answered[question.name] == parameters[question.name]["Default"]
    deploy.write(tmp_path / "samconfig.toml", answered)
    config = tomllib.loads((tmp_path / "samconfig.toml").read_text())["default"]
    both = ["Runtime=python3.12", "Architecture=x86_64"]
    assert config["build"]["parameters"]["parameter_overrides"] == both
    assert config["deploy"]["parameters"]["parameter_overrides"] == both
    assert config["deploy"]["parameters"]["stack_name"] == "dynajobs"
    assert config["deploy"]["parameters"]["confirm_changeset"] is True


def test_answers_reach_build_and_deployment_and_are_private(tmp_path: Path) -> None:
    config = tmp_path / "samconfig.toml"
    dsn = "https://key@sentry.example/1"

    deploy.write(config, deploy.answers(typing("jobs", "eu-west-1", "python3.13", "arm64", "mine", dsn)))

    found = tomllib.loads(config.read_text())["default"]
    both = ["Runtime=python3.13", "Architecture=arm64"]
    assert found["build"]["parameters"]["parameter_overrides"] == both
    assert found["deploy"]["parameters"]["parameter_overrides"] == [
        *both,
        "TableName=mine",
        f"SentryDsn={dsn}",
    ]
    assert found["deploy"]["parameters"]["region"] == "eu-west-1"
    assert config.stat().st_mode & 0o777 == 0o600


def test_an_answer_that_will_not_do_is_asked_for_again(capsys: pytest.CaptureFixture[str]) -> None:
    answered = deploy.answers(typing("1st", "jobs", "Mars", "eu-north-1", "python2.7", "python3.14"))

    assert (answered["stack_name"], answered["region"], answered["Runtime"]) == (
        "jobs",
        "eu-north-1",
        "python3.14",
    )
    assert "'Mars' will not do" in capsys.readouterr().out


def test_with_nobody_to_answer_it_says_what_to_do() -> None:
    def nobody(_: str) -> str:
        raise EOFError

    with pytest.raises(Trouble, match=r"write samconfig\.toml"):
        deploy.answers(nobody)


def test_the_first_time_it_asks(tmp_path: Path, sam: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", typing("jobs"))

    assert deploy.main(tmp_path) == 0

    assert sam == ["build", "deploy"]
    assert 'stack_name = "jobs"' in (tmp_path / "samconfig.toml").read_text()


def test_later_it_only_builds_and_deploys(tmp_path: Path, sam: list[str]) -> None:
    (tmp_path / "samconfig.toml").write_text("version = 0.1\n")

    assert deploy.main(tmp_path) == 0

    assert sam == ["build", "deploy"]


def test_a_failed_step_ends_it_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "samconfig.toml").write_text("version = 0.1\n")
    monkeypatch.setattr(Environment, "ready", True)
    monkeypatch.setattr(subprocess, "call", lambda *_, **__: 1)

    assert deploy.main(tmp_path) == 1

    assert "`sam build` failed" in capsys.readouterr().err
