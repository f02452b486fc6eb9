"""`dynajobs worker MODULE:REGISTRY`: poll and run in this process."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from dynajobs.cli import output
from dynajobs.cli.arguments import direct
from dynajobs.cli.crew import Crew, when_parent_ends
from dynajobs.cli.failure import REFUSED
from dynajobs.cli.stack import open_queue

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue
    from dynajobs.registry import Registry


@click.command(short_help="Run due jobs in this process.")
@click.argument("target", metavar="MODULE:REGISTRY")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Jobs at once; DYNAJOBS_WORKER_CONCURRENCY.",
)
@click.option("--once", is_flag=True, help="Run what is due, then stop.")
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    default=1,
    metavar="N",
    help="So many processes, each with that concurrency: one Python process uses one core.",
)
@click.option("--share", hidden=True, help="Which of how many processes this is.")
@click.option("--tallies", hidden=True, help="The folder where it leaves how many jobs it finished.")
@direct
def worker(
    target: str,
    table: str | None,
    as_json: bool,
    concurrency: int | None,
    once: bool,
    processes: int,
    share: str | None,
    tallies: str | None,
) -> None:
    """Run due jobs in this process with the handlers of MODULE:REGISTRY, until stopped.

    SIGTERM or SIGINT: nothing more is claimed, running jobs may finish for DYNAJOBS_SHUTDOWN_TIMEOUT_SECONDS.
    The exit code is 0 if they all did, else 1. What happens is logged as JSON lines; with --json they go to
    stderr, and stdout gets the counts at the end.
    """
    from dynajobs.housekeeping import registry as housekeeping
    from dynajobs.telemetry import configure

    with open_queue(table) as queue:
        configure(queue.settings, stream=sys.stderr if as_json else None)
        registry = load_registry(target)
        if share is None:
            _sync(queue, registry)  # a missing table or credential is said now, not once per poll
        registry = registry.including(housekeeping(queue))
        if processes > 1:
            arguments = [target, "--table", queue.store.table.name]
            arguments += ["--concurrency", str(concurrency)] if concurrency else []
            arguments += [flag for flag, on in (("--once", once), ("--json", as_json)) if on]
            drained = _run_crew(arguments, processes, once=once, as_json=as_json)
        else:
            drained = _run(queue, registry, concurrency, share, tallies, once=once, as_json=as_json)
    sys.stdout.flush()
    if not drained:
        # A thread that does not end would keep the interpreter alive; its lease lapses by itself.
        os._exit(REFUSED)


def _sync(queue: JobQueue, registry: Registry) -> None:
    """Bring the schedules that are declared with handlers, and our own, into the table."""
    from dynajobs.installing import install
    from dynajobs.telemetry import logger

    install(queue)
    for change in queue.schedules.sync(registry):
        about = {"schedule": change.name, "action": change.action}
        logger.info("schedule declared", extra=about)
        if change.drift:
            logger.warning(
                "schedule differs from its declaration", extra=about | {"fields": sorted(change.drift)}
            )


def _run_crew(arguments: list[str], processes: int, *, once: bool, as_json: bool) -> bool:
    with tempfile.TemporaryDirectory(prefix="dynajobs-") as folder:
        crew = Crew(arguments, processes, once=once, tallies=Path(folder))
        code = crew.run()
    if code not in (0, REFUSED):
        raise SystemExit(code)
    if as_json:
        output.print_json({"finished": crew.finished, "drained": code == 0})
    return code == 0


def _run(
    queue: JobQueue,
    registry: Registry,
    concurrency: int | None,
    share: str | None,
    tallies: str | None,
    *,
    once: bool,
    as_json: bool,
) -> bool:
    from dynajobs.telemetry import logger
    from dynajobs.worker import Share, Worker

    mine = Share(*map(int, share.split("/"))) if share else None
    running = Worker(queue, registry, concurrency=concurrency, share=mine)
    if share:
        threading.Thread(target=when_parent_ends, args=(running.stop,), daemon=True).start()

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the shape of a signal handler
        logger.info("stopping", extra={"signal": signal.Signals(number).name})
        running.stop()

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stop)
    logger.info("worker started", extra={"table": queue.settings.table, "types": sorted(registry.handlers)})
    # What handlers print must not get into the one JSON document.
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        drained = running.run(once=once)
    logger.info("worker stopped", extra={"finished": running.finished, "drained": drained})
    if tallies:
        (Path(tallies) / str(os.getpid())).write_text(str(running.finished))
    elif as_json:
        output.print_json({"finished": running.finished, "drained": drained})
    return drained


def load_registry(target: str) -> Registry:
    """The registry a target such as `myapp.jobs:jobs` names; the current directory is importable."""
    from dynajobs.registry import Registry

    module_name, _, attribute = target.partition(":")
    if not module_name or not attribute:
        raise _bad(f"{target!r} must look like myapp.jobs:jobs")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = getattr(import_module(module_name), attribute)
    except Exception as error:  # importing runs the user's own code
        raise _bad(f"{target!r} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(found, Registry):
        raise _bad(f"{target!r} is a {type(found).__name__}, not a Registry")
    return found


def _bad(message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint="MODULE:REGISTRY")
