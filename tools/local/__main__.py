"""`make run`: the stack of template.yaml on this machine, with no AWS account and no docker."""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from botocore.exceptions import BotoCoreError, ClientError

from dynajobs import DynajobsError, JobQueue, Settings
from dynajobs.declared import read_file
from tools.local import lock, pointer
from tools.local.api import access
from tools.local.console import Console
from tools.local.demo import Demonstration
from tools.local.emulator import REGION, Emulator
from tools.local.furniture import furnish
from tools.local.layout import ROOT, TOOLS, Layout
from tools.local.poller import poll
from tools.local.stack import Stack, runtime
from tools.local.toolbox import MINISTACK, SAM
from tools.local.trouble import Trouble, end_of

PORT = 4576
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """Somebody asked us to stop."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    console = Console()
    before = {each: signal.signal(each, _stop) for each in SIGNALS}
    try:
        run(options, console)
    except Trouble as trouble:
        return _sorry(str(trouble))
    except (BotoCoreError, ClientError) as error:
        log = Layout(options.home).logs / "emulator.log"
        return _sorry(f"The emulator did not do what it should: {error}\nIts log ended with:\n{end_of(log)}")
    except Stopped:
        console.say("Stopped.")
        return 0
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    parser.add_argument("--port", type=_port, default=PORT, help="the emulator's port (make run PORT=…)")
    parser.add_argument("--keep", action="store_true", help="jobs survive a restart (make run KEEP=1)")
    parser.add_argument("--home", type=Path, default=TOOLS, help="the folder of the stack's files")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace, console: Console) -> None:
    """Until it is stopped; then everything that was started is stopped, and nothing else."""
    layout = Layout(options.home.absolute())
    with lock.held(layout.lock), ExitStack() as undo:
        try:
            serve(options, layout, console, undo)
        finally:
            _ignore_signals()


def serve(options: argparse.Namespace, layout: Layout, console: Console, undo: ExitStack) -> None:
    runtime()  # a Python that will not do is said first
    emulator = Emulator(layout=layout, port=options.port, keep=options.keep)
    emulator.require_port()
    layout.pointer.unlink(missing_ok=True)  # of one that was killed: there is no other, we have the lock
    prepare(console)
    stack = Stack(layout=layout)
    with console.step("Building the stack with sam build"):
        stack.build()
    undo.callback(_stop_emulator, emulator, console)
    with console.step(f"Starting the emulator on port {options.port}"):
        emulator.start()
    with console.step("Deploying the stack with sam deploy"):
        outputs = stack.deploy(emulator)
    table, poller = outputs["TableName"], outputs["PollerFunctionName"]
    undo.callback(layout.pointer.unlink, missing_ok=True)
    where = {"endpoint": emulator.endpoint, "region": REGION, "table": table, "poller": poller}
    entrance = access(emulator, outputs)
    pointer.write(layout.pointer, where | entrance)
    declare(emulator, table)
    demonstrate(console, emulator, table, poller)
    furnish(JobQueue(table, client=emulator.client("dynamodb"), settings=Settings()))
    summarise(console, emulator, table, entrance, keep=options.keep)
    wait(emulator)


def prepare(console: Console) -> None:
    """The tools, the first time; both at once would only fight for the network."""
    for tool, what in ((SAM, "SAM"), (MINISTACK, "the emulator")):
        if not tool.ready:
            with console.step(f"Installing {what} into {_shown(tool.home)}, once"):
                tool.prepare()


def declare(emulator: Emulator, table: str) -> None:
    """The schedules of functions/schedules.yaml, as `make deploy` brings them to AWS."""
    declared = ROOT / "functions" / "schedules.yaml"
    if declared.exists():
        queue = JobQueue(table, client=emulator.client("dynamodb"), settings=Settings())
        try:
            queue.schedules.sync(read_file(declared))
        except DynajobsError as error:
            raise Trouble(f"functions/schedules.yaml could not be brought into the table: {error}") from error


def demonstrate(console: Console, emulator: Emulator, table: str, poller: str) -> None:
    console.plain("\nFive jobs to watch; new ones wake the poller, and EventBridge asks it every minute.\n")
    queue = JobQueue(table, client=emulator.client("dynamodb"), settings=Settings())
    demonstration = Demonstration(queue, lambda: poll(emulator, poller), console.say)
    try:
        finished = demonstration.run()
    except DynajobsError as error:
        if not emulator.running:
            raise Trouble(f"The emulator died. Its log ended with:\n{end_of(emulator.log)}") from error
        raise Trouble(f"The demonstration could not go on: {error}") from error
    if not finished:
        console.say("Not all of them have ended yet; `make logs` shows why.")


def summarise(
    console: Console, emulator: Emulator, table: str, entrance: dict[str, str], *, keep: bool
) -> None:
    command = _shown(Path(sys.executable).with_name("dynajobs"))
    after = "its jobs are there again after the next `make run KEEP=1`" if keep else "its jobs are gone then"
    console.plain(
        f"""
The stack is running.
  table      {table}
  endpoint   {emulator.endpoint}, region {REGION}
  page       {entrance["url"]}
  token      {entrance["token"]}
  to read    {entrance["read_token"]}
In another shell, in this folder:
  {command} jobs enqueue daily_summary --payload '{{"user_id": "u1"}}'
  {command} jobs enqueue demo.slow --payload '{{"seconds": 10}}' --delay 5
  {command} jobs list
  {command} tick
  make logs
Ctrl-C stops it; {after}.
"""
    )


def wait(emulator: Emulator) -> None:
    while emulator.running:
        time.sleep(0.5)
    raise Trouble(f"The emulator ended by itself. Its log ended with:\n{end_of(emulator.log)}")


def _stop_emulator(emulator: Emulator, console: Console) -> None:
    if emulator.process is not None:
        console.say("Stopping ...")
    emulator.stop()


def _sorry(sentence: str) -> int:
    sys.stdout.flush()
    print(f"\n{sentence}", file=sys.stderr)
    return 1


def _stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the shape of a signal handler
    raise Stopped


def _ignore_signals() -> None:
    """A second Ctrl-C must not interrupt the cleaning up; it takes seconds."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: give a number from 1 to 65535")
    return int(text)


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


if __name__ == "__main__":
    sys.exit(main())
