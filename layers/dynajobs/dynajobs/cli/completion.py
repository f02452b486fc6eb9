"""What the shell completes beside commands, options and states: names that are in the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from dynajobs.cli.desk import Desk, at, chosen

if TYPE_CHECKING:
    Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _asked(names: Callable[[Desk], Iterable[str]]) -> Complete:
    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
        try:
            with at(chosen(ctx)) as desk:
                found = list(names(desk))
        except Exception:  # noqa: BLE001 - a Tab key must never print an error
            return []
        return [CompletionItem(each) for each in found if each.startswith(incomplete)]

    return complete


TYPES = _asked(lambda desk: desk.operator.about()["job_types"])
"""Those that have finished before."""

SCHEDULES = _asked(lambda desk: (each["name"] for each in desk.operator.schedules.list()["schedules"]))
TEMPLATES = _asked(lambda desk: (each["name"] for each in desk.operator.templates.list()["templates"]))
