"""The command line: `dynajobs worker MODULE:REGISTRY`."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from types import FrameType

import click

from dynajobs.errors import DynajobsError, InvalidSettings, Unavailable
from dynajobs.queue import JobQueue
from dynajobs.registry import Registry
from dynajobs.settings import Settings
from dynajobs.telemetry import configure, logger
from dynajobs.worker import Worker

REFUSED, USAGE, UNREACHABLE, UNAUTHORISED = 1, 2, 3, 4
_CREDENTIALS = frozenset(
    {
        "AccessDeniedException",
        "ExpiredTokenException",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "UnrecognizedClientException",
    }
)


class _Group(click.Group):
    """Turns our errors into one line on stderr and the documented exit code."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except DynajobsError as error:
            click.echo(f"dynajobs: {error}", err=True)
            ctx.exit(_exit_code(error))


@click.group(cls=_Group)
@click.version_option(package_name="dynajobs")
def main() -> None:
    """A scheduled job queue in one DynamoDB table."""


@main.command()
@click.argument("target", metavar="MODULE:REGISTRY")
@click.option("--table", help="The table; DYNAJOBS_TABLE if left out.")
@click.option("--concurrency", type=click.IntRange(1, 64), help="Jobs at once; DYNAJOBS_WORKER_CONCURRENCY.")
@click.option("--once", is_flag=True, help="Run what is due, then stop.")
def worker(target: str, table: str | None, concurrency: int | None, once: bool) -> None:
    """Run due jobs in this process with the handlers of MODULE:REGISTRY, until stopped.

    SIGTERM or SIGINT: nothing more is claimed, running jobs may finish for DYNAJOBS_SHUTDOWN_TIMEOUT_SECONDS.
    The exit code is 0 if they all did, else 1.
    """
    settings = Settings.from_env()
    name = table or settings.table
    if not name:
        raise InvalidSettings("no table: give --table or set DYNAJOBS_TABLE")
    configure(settings)
    registry = _registry(target)
    queue = JobQueue(name, settings=settings)
    queue.store.control()  # a missing table or credential is said now, not once per poll
    running = Worker(queue, registry, concurrency=concurrency)

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the shape of a signal handler
        logger.info("stopping", extra={"signal": signal.Signals(number).name})
        running.stop()

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stop)
    logger.info("worker started", extra={"table": name, "types": sorted(registry.handlers)})
    drained = running.run(once=once)
    logger.info("worker stopped", extra={"finished": running.finished, "drained": drained})
    sys.stdout.flush()
    if not drained:
        # A thread that does not end would keep the interpreter alive; its lease lapses by itself.
        os._exit(REFUSED)


def _registry(target: str) -> Registry:
    """The registry a target such as `myapp.jobs:jobs` names; the current directory is importable."""
    module_name, _, attribute = target.partition(":")
    if not module_name or not attribute:
        raise click.BadParameter(f"{target!r} must look like myapp.jobs:jobs", param_hint="MODULE:REGISTRY")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = getattr(import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise click.BadParameter(
            f"{target!r} cannot be loaded: {error}", param_hint="MODULE:REGISTRY"
        ) from error
    if not isinstance(found, Registry):
        raise click.BadParameter(f"{target!r} is a {type(found).__name__}, not a Registry")
    return found


def _exit_code(error: DynajobsError) -> int:
    if isinstance(error, Unavailable):
        cause = error.__cause__
        code = getattr(cause, "response", {}).get("Error", {}).get("Code", "")
        missing = type(cause).__name__ in ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound")
        return UNAUTHORISED if missing or code in _CREDENTIALS else UNREACHABLE
    return USAGE if isinstance(error, ValueError) else REFUSED
