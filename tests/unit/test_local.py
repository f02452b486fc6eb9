"""`make run`'s parts: what stands in its way is said in a sentence, and nothing of this machine leaks in."""

import json
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from dynajobs import JobQueue
from dynajobs.testing import create_table
from tools.local import __main__ as program
from tools.local import command, lock, pointer, scratch, stack, toolbox
from tools.local.demo import Demonstration
from tools.local.emulator import Emulator, free_port
from tools.local.layout import ROOT, Layout
from tools.local.stack import Stack
from tools.local.trouble import Trouble


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


def test_a_second_stack_in_a_folder_is_refused_and_names_the_first(layout: Layout) -> None:
    with (
        lock.held(layout.lock),
        pytest.raises(Trouble, match=rf"already running in this folder \(process {os.getpid()}\)"),
        lock.held(layout.lock),
    ):
        pass
    with lock.held(layout.lock):
        pass  # what ended holds nothing


def test_a_port_that_is_taken_is_named_with_another_to_try(
    layout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        code = program.main(["--home", str(layout.home), "--port", str(port)])

    assert code == 1
    assert signal.getsignal(signal.SIGTERM) is before
    said = capsys.readouterr().err
    assert f"Port {port} is taken" in said
    assert "make run PORT=" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("text", ["0", "65536", "http", "-1", "²"])
def test_what_is_no_port_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.parse([f"--port={text}"])

    assert "is no port: give a number from 1 to 65535" in capsys.readouterr().err


def test_a_failed_build_shows_the_end_of_its_log(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Stack, "_sam", lambda *_: [sys.executable, "-c", "print('no wheel'); raise SystemExit(3)"]
    )

    with pytest.raises(Trouble) as trouble:
        Stack(layout=layout).build()

    said = str(trouble.value)
    assert said.startswith("`sam build` failed.")
    assert "exit code 3" in said
    assert "    no wheel" in said
    assert str(layout.logs / "build.log") in said


def test_a_tool_that_cannot_be_installed_says_that_a_network_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolbox, "TOOLS", tmp_path)
    broken = [[sys.executable, "-c", "raise SystemExit('no route to host')"]]
    monkeypatch.setattr(toolbox.Environment, "_steps", lambda _: broken)

    with pytest.raises(Trouble, match="could not be installed") as trouble:
        toolbox.SAM.prepare()

    assert "no route to host" in str(trouble.value)
    assert toolbox.OFFLINE in str(trouble.value)
    assert not toolbox.SAM.ready, "it would be taken for complete"


def test_a_python_that_lambda_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "RUNTIMES", ("python2.7",))

    with pytest.raises(Trouble, match="which Lambda does not offer"):
        stack.runtime()


def test_an_emulator_that_does_not_start_shows_its_log(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(toolbox, "TOOLS", tmp_path / "tools")
    start = command.start
    dying = [sys.executable, "-c", "print('cannot bind')"]
    monkeypatch.setattr(command, "start", lambda _, **options: start(dying, **options))
    emulator = Emulator(layout=layout, port=free_port())

    with pytest.raises(Trouble, match=r"(?s)did not start.*cannot bind"):
        emulator.start()

    emulator.stop()
    assert not layout.scratch.exists()


def test_nothing_of_this_machine_reaches_the_functions(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNAJOBS_TABLE", "somebody's")
    monkeypatch.setenv("AWS_PROFILE", "production")

    environment = Emulator(layout=layout, port=1)._environment(layout.scratch / "tmp")

    assert not [name for name in environment if name.startswith(("AWS_", "DYNAJOBS_"))]
    assert environment["BIND_HOST"] == "127.0.0.1"
    assert Path(environment["TMPDIR"]).is_relative_to(layout.scratch)


@pytest.mark.parametrize("room", [0, 2**62])
def test_temporary_files_go_to_memory_only_where_there_is_plenty_and_are_removed(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, room: int
) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setattr(scratch, "MEMORY", memory)
    monkeypatch.setattr(scratch, "ROOM", room)

    place = scratch.make(layout)

    assert place.is_dir()
    assert place.is_relative_to(memory if room == 0 else layout.scratch)
    (place / "left behind").touch()
    assert not (scratch.make(layout) / "left behind").exists()
    scratch.remove(layout)
    assert not place.exists()


def test_what_killed_stacks_left_in_memory_is_given_back_and_running_ones_keep_theirs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scratch, "MEMORY", tmp_path)
    monkeypatch.setattr(scratch, "ROOM", 0)
    killed, running, new = (Layout(tmp_path / name) for name in ("killed", "running", "new"))
    left = scratch.make(killed)
    scratch._held.pop(left).close()  # as the system does when a process ends
    kept = scratch.make(running)

    scratch.make(new)

    assert not left.exists()
    assert kept.exists()
    for layout in (running, new):
        scratch.remove(layout)


def test_somebody_elses_place_in_memory_is_left_alone(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scratch, "MEMORY", tmp_path / "memory")
    monkeypatch.setattr(scratch, "ROOM", 0)
    monkeypatch.setattr(scratch, "_remove", lambda *_: None)  # the system would refuse it
    taken = scratch.in_memory(layout)
    taken.parent.mkdir()
    taken.touch()

    assert scratch.make(layout).is_relative_to(layout.scratch)


def test_nobodys_aws_account_reaches_the_deployment(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("MAKEFLAGS", "-- PYTHON=python2")
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")

    environment = Stack(layout=layout)._environment()

    assert not {"AWS_PROFILE", "MAKEFLAGS"} & environment.keys()
    assert environment["AWS_ACCESS_KEY_ID"] == "test"
    assert environment["PIP_INDEX_URL"] == "https://mirror.example/simple", "pip needs its settings"


def test_the_pointer_is_for_its_owner_alone(layout: Layout) -> None:
    layout.pointer.write_text("old")

    pointer.write(layout.pointer, {"table": "t"})

    assert layout.pointer.stat().st_mode & 0o777 == 0o600
    assert json.loads(layout.pointer.read_text()) == {"table": "t"}
    assert [path.name for path in layout.home.iterdir()] == ["stack.json"]


def test_the_tools_are_pinned_whole() -> None:
    for tool in (toolbox.SAM, toolbox.MINISTACK):
        lines = [line for line in tool.pins.read_text().splitlines() if line and line[0] not in "# "]
        assert lines
        assert all("==" in line for line in lines)


def test_a_poller_that_fails_ends_the_demonstration(moto_client: object, table_name: str) -> None:
    create_table(moto_client, table_name)
    said: list[str] = []

    def tick() -> None:
        raise Trouble("the poller failed")

    demonstration = Demonstration(JobQueue(table_name, client=moto_client), tick, said.append)

    with pytest.raises(Trouble, match="the poller failed"):
        demonstration.run()
    assert len(said) == 6
    assert "no second job" in said[-1]


def test_nothing_of_the_tools_is_in_the_library_its_functions_or_our_environment() -> None:
    shipped = [*(ROOT / "layers").rglob("*.py"), *(ROOT / "functions").rglob("*.py")]
    ours = (ROOT / "requirements-dev.txt").read_text() + (
        ROOT / "layers/dynajobs/requirements.txt"
    ).read_text()

    assert shipped
    for word in ("ministack", "samcli"):
        assert not [path for path in shipped if word in path.read_text()]
    assert "ministack==" not in ours
    assert "aws-sam-cli==" not in ours
