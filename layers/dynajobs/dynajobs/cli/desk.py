"""Where an operator sits: at the table itself, or at the other end of its HTTP API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

import click

from dynajobs.cli.failure import Unauthorised
from dynajobs.cli.stack import noted_token, open_queue

if TYPE_CHECKING:
    from dynajobs.cli.remote import Remote
    from dynajobs.operating.operator import Operator
    from dynajobs.queue import JobQueue


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """What flags and environment say about where to go."""

    table: str | None = None
    url: str | None = None
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """An operator, and what they see beside the answers."""

    operator: Operator | Remote
    clock: Callable[[], datetime]
    default_attempts: Callable[[], int]

    def now(self) -> datetime:
        """The queue's time."""
        return self.clock()

    @property
    def max_attempts(self) -> int:
        """What a job has that was given no other number."""
        return self.default_attempts()


@contextmanager
def at(where: Where) -> Iterator[Desk]:
    """The desk that flags and environment name."""
    if where.url:
        yield _remote(where.url, where.token)
        return
    with open_queue(where.table) as queue:
        yield Desk(
            operator=_operator(queue),
            clock=queue.now,
            default_attempts=lambda: queue.settings.max_attempts,
        )


@contextmanager
def at_table(table: str | None) -> Iterator[Operator]:
    """The operator of what is done at the table only."""
    with open_queue(table) as queue:
        yield _operator(queue)


def _operator(queue: JobQueue) -> Operator:
    from dynajobs.operating.audit import Actor
    from dynajobs.operating.operator import Operator

    return Operator(queue, Actor(os_user(), "cli"))


def _remote(url: str, token: str | None) -> Desk:
    from dynajobs.cli.remote import Remote
    from dynajobs.cli.wire import Wire, checked_url

    url = checked_url(url)
    token = (token or noted_token(url)).strip()
    if not token:
        raise Unauthorised("no token: give --token or set DYNAJOBS_TOKEN")
    if not (token.isascii() and token.isprintable()):
        raise Unauthorised("the token has characters that no header can hold")
    wire = Wire(url, token, os_user())
    operator = Remote(wire)
    return Desk(
        operator=operator,
        clock=lambda: wire.now,
        # Asked once, however often a list is drawn.
        default_attempts=cache(lambda: int(operator.about()["settings"]["max_attempts"])),
    )


def os_user() -> str:
    """Who runs the command, for the records."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container may have a number only
        return "unknown user"


def chosen(ctx: click.Context) -> Where:
    """What a command's flags say; a flag goes before the environment."""
    table, url, token = (ctx.params.get(name) for name in ("table", "url", "token"))
    by_flag = {name for name in ("table", "url", "token") if _is_flag(ctx, name)}
    if {"table", "url"} <= by_flag:
        raise click.UsageError("--table and --url are both given: give one of them", ctx)
    if "table" in by_flag:
        url = None
    if "token" in by_flag and not url:
        raise click.UsageError("--token is given without --url", ctx)
    return Where(table=table, url=url, token=token)


def _is_flag(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
