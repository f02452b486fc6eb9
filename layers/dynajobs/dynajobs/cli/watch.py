"""`--watch`: the same answer again and again, in the same place, until Ctrl-C."""

from __future__ import annotations

import io
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import wraps
from typing import Any, TypeVar, cast

import click

from dynajobs.errors import Unavailable

Command = TypeVar("Command", bound=Callable[..., Any])

EVERY = 2.0
_HOME, _REST_OF_LINE, _REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


def watch(command: Command) -> Command:
    """The option `--watch`; the command is told `every` how many seconds, None without it."""

    @wraps(command)
    def told(*args: Any, every: float | None, as_json: bool, **given: Any) -> Any:
        if every is not None and as_json:
            raise click.UsageError("--watch and --json are both given: --json prints one document")
        return command(*args, every=every, as_json=as_json, **given)

    return cast(
        Command,
        click.option(
            "--watch",
            "every",
            type=click.FloatRange(min=0.2, max=3600),
            is_flag=False,
            flag_value=EVERY,
            metavar="[SECONDS]",
            help="Ask again every 2 s, or so many, until Ctrl-C.",
        )(told),
    )


def watched(draw: Callable[[], None], every: float | None) -> None:
    """Draw once, or until Ctrl-C; a look that fails after the first is told and tried again."""
    if every is None:
        draw()
        return
    screen = sys.stdout.isatty()
    drawn = _drawn(draw)
    if screen:
        click.clear()
    try:
        while True:
            click.echo(_on_screen(drawn) if screen else drawn, nl=not screen, color=screen)
            time.sleep(every)
            try:
                drawn = _drawn(draw)
            except Unavailable as error:
                drawn = f"{error}: trying again.\n"
    except KeyboardInterrupt:
        return


class _Page(io.StringIO):
    """Takes what is printed, and is a terminal if that is where it will go."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def _drawn(draw: Callable[[], None]) -> str:
    page = _Page(terminal=sys.stdout.isatty())
    with redirect_stdout(page), redirect_stderr(page):
        draw()
    return page.getvalue()


def _on_screen(text: str) -> str:
    """Written over what was there, no longer than the screen."""
    lines, room = text.splitlines(), shutil.get_terminal_size().lines - 1
    if len(lines) > room:
        more = len(lines) - room + 1
        lines = [*lines[: room - 1], f"… {more:,} more lines"]
    return _HOME + "".join(f"{line}{_REST_OF_LINE}\n" for line in lines) + _REST_OF_SCREEN
