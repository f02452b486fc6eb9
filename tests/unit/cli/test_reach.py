"""Which table a command works on, and what is said when it cannot be reached."""

import json
import os
from pathlib import Path

import pytest

from dynajobs.cli.stack import enter
from tests.support.answering import answering
from tests.support.commands import NOBODY, UNKNOWN, Run, told


class TestReach:
    """Which table, where, and as whom."""

    COMMANDS = (
        ("jobs", "list"),
        ("jobs", "show", UNKNOWN),
        ("jobs", "enqueue", "a"),
        ("jobs", "retry", UNKNOWN),
        ("jobs", "cancel", UNKNOWN),
        ("jobs", "reschedule", UNKNOWN, "--delay", "1"),
        ("stats",),
    )

    @pytest.mark.parametrize("command", COMMANDS)
    def test_no_such_table(self, run: Run, command: tuple[str, ...]) -> None:
        assert "there is no table 'nowhere'" in told(run(*command, "--table", "nowhere"), 3)

    @pytest.mark.usefixtures("new_session")
    @pytest.mark.parametrize("command", COMMANDS)
    def test_no_credentials(self, run: Run, command: tuple[str, ...]) -> None:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
            os.environ.pop(name, None)
        assert "no AWS credentials are set" in told(run(*command), 4)

    def test_no_table_named(self, run: Run) -> None:
        del os.environ["DYNAJOBS_TABLE"]
        assert told(run("jobs", "list"), 2) == "no table: give --table or set DYNAJOBS_TABLE"

    @pytest.mark.usefixtures("new_session")
    def test_no_region_and_a_profile_that_is_not_there(self, run: Run) -> None:
        del os.environ["AWS_DEFAULT_REGION"]
        assert "no AWS region is set" in told(run("jobs", "list"), 4)
        os.environ["AWS_PROFILE"] = "nobody"
        assert "profile (nobody) could not be found" in told(run("jobs", "list"), 4)

    @pytest.mark.parametrize(
        "kind", ["UnrecognizedClientException", "ExpiredTokenException", "AccessDeniedException"]
    )
    def test_refused_credentials(self, run: Run, kind: str) -> None:
        refusal = {"__type": f"com.amazon.coral.service#{kind}", "message": "The token is invalid."}
        with answering(refusal, status=400) as url:
            os.environ["AWS_ENDPOINT_URL"] = url
            assert "AWS refused" in told(run("stats"), 4)

    def test_nobody_answers(self, run: Run) -> None:
        os.environ["AWS_ENDPOINT_URL"] = NOBODY
        assert NOBODY in told(run("stats", "--json"), 3)

    def test_a_bad_setting(self, run: Run) -> None:
        os.environ["DYNAJOBS_POLL_LIMIT"] = "0"
        assert "DYNAJOBS_POLL_LIMIT is 0" in told(run("stats"), 2)

    @pytest.mark.usefixtures("new_session")
    def test_a_region_in_the_variable_that_only_boto3_ignores(self, run: Run) -> None:
        os.environ["AWS_REGION"] = os.environ.pop("AWS_DEFAULT_REGION")
        assert run("stats").exit_code == 0


class TestStack:
    def note(self, folder: Path, endpoint: str = "http://127.0.0.1:4566") -> None:
        note = {"endpoint": endpoint, "region": "us-east-1", "table": "local", "poller": "p"}
        (folder / ".local").mkdir()
        (folder / ".local" / "stack.json").write_text(json.dumps(note))

    def test_nothing_set_means_the_local_stack(self, tmp_path: Path) -> None:
        self.note(tmp_path)
        environ: dict[str, str] = {}

        stack = enter(environ, tmp_path)

        assert stack and stack.poller == "p" and not stack.left_because
        assert environ == {
            "DYNAJOBS_TABLE": "local",
            "AWS_ENDPOINT_URL": "http://127.0.0.1:4566",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }

    def test_it_is_found_from_anywhere_in_the_project_and_nowhere_else(self, tmp_path: Path) -> None:
        self.note(tmp_path)
        inside = tmp_path / "functions" / "mine"
        inside.mkdir(parents=True)
        assert enter({}, inside) is None
        (tmp_path / "template.yaml").touch()
        assert enter({}, inside)
        assert enter({}, tmp_path.parent) is None
        (inside / "template.yaml").touch()
        assert enter({}, inside) is None

    @pytest.mark.parametrize(
        ("said", "why"),
        [
            ({"AWS_PROFILE": "prod"}, "AWS_PROFILE is set"),
            ({"AWS_REGION": "eu-west-1"}, "the region is set to eu-west-1"),
            ({"AWS_DEFAULT_REGION": "eu-west-1"}, "the region is set to eu-west-1"),
            ({"AWS_ENDPOINT_URL": "http://other"}, "AWS_ENDPOINT_URL is http://other"),
            ({"AWS_ENDPOINT_URL_DYNAMODB": "http://other"}, "AWS_ENDPOINT_URL_DYNAMODB is http://other"),
            ({"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is true"),
        ],
    )
    def test_who_names_another_place_goes_there(self, tmp_path: Path, said: dict[str, str], why: str) -> None:
        self.note(tmp_path)
        environ = {**said, "DYNAJOBS_TABLE": "mine"}

        stack = enter(environ, tmp_path)

        assert stack and stack.left_because.startswith(why)
        assert environ["DYNAJOBS_TABLE"] == "mine"
        assert environ.get("AWS_ENDPOINT_URL") in (None, "http://other")
        assert "AWS_ACCESS_KEY_ID" not in environ

    def test_who_says_the_same_stays(self, tmp_path: Path) -> None:
        self.note(tmp_path)
        environ = {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "mine", "DYNAJOBS_TABLE": ""}

        stack = enter(environ, tmp_path)

        assert stack and not stack.left_because
        assert environ["AWS_ACCESS_KEY_ID"] == "mine" and environ["DYNAJOBS_TABLE"] == "local"
        assert environ["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"

    def test_a_stack_that_has_gone_is_named(self, run: Run, tmp_path: Path) -> None:
        self.note(tmp_path, endpoint=NOBODY)
        assert "is `make run` still running?" in told(run("stats"), 3)

    @pytest.mark.usefixtures("new_session")
    def test_a_stack_that_was_left_alone_is_named(self, run: Run, tmp_path: Path) -> None:
        self.note(tmp_path)
        os.environ["AWS_PROFILE"] = "nobody"
        assert "was left alone because AWS_PROFILE is set" in told(run("stats"), 4)

    def test_its_poller_is_invoked(self, run: Run, tmp_path: Path) -> None:
        with answering({"ok": True, "claimed": 0, "fired": 0}) as url:
            self.note(tmp_path, endpoint=url)
            assert run("tick").stdout == "0 jobs claimed, 0 slots fired.\n"

    @pytest.mark.parametrize("text", ["", "{}", "[]", '{"endpoint": "x"}'])
    def test_a_note_that_makes_no_sense(self, run: Run, tmp_path: Path, text: str) -> None:
        (tmp_path / ".local").mkdir()
        (tmp_path / ".local" / "stack.json").write_text(text)
        assert "is not what `make run` writes" in told(run("stats"), 2)
