"""`dynajobs errors`: what went wrong lately, grouped."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from dynajobs import keys, words
from dynajobs.cli import output
from dynajobs.cli.arguments import shared
from dynajobs.cli.desk import Where, at
from dynajobs.cli.output import View, styled
from dynajobs.cli.watch import watch, watched

if TYPE_CHECKING:
    from rich.text import Text

_HEIGHTS = "▁▂▃▄▅▆▇█"


@click.command()
@watch
@shared
def errors(where: Where, as_json: bool, every: float | None) -> None:
    """Group dead letters and jobs that wait for a retry by what went wrong.

    `jobs list --fingerprint` shows those of a group, `jobs bulk retry --fingerprint` runs them again.
    """
    with at(where) as desk:

        def draw() -> None:
            view = desk.operator.jobs.errors()
            output.print_json(view) if as_json else _show(view, desk.now())

        watched(draw, every)


def _show(view: View, now: datetime) -> None:
    if view["groups"]:
        _table(view["groups"], now)
    else:
        click.echo("Nothing has failed.")
    if view["truncated"]:
        click.echo(f"{view['examined']:,} jobs were looked at; there are more.")


def _table(groups: list[View], now: datetime) -> None:
    """One line each where there is room, else two; a fingerprint is never cut."""
    onto = output.console()
    wide = onto.width >= output.ONE_LINE
    numbers = ("DEAD", "FAILED", "HOUR", "DAY", "WEEK")
    columns = ("FINGERPRINT", *numbers, "LAST", *(("24 HOURS", "") if wide else ()))
    table = output.plain_table(*(columns if wide else ("ERROR", *columns[1:])), right=numbers)
    table.expand = True
    table.columns[-1 if wide else 0].ratio = 1
    for group in groups:
        fingerprint, bars = styled(group["fingerprint"]), styled(_bars(group["bars"]), "red")
        counts = [group[name] for name in ("dead_letters", "failed", "hour", "day", "week")]
        facts = [styled(f"{number:,}" if number else "") for number in counts]
        facts.append(styled(words.relative(keys.parse_time(group["last_seen"]), now)))
        if wide:
            table.add_row(fingerprint, *facts, bars, _what(group))
        else:
            table.add_row(
                _what(group).append("\n").append_text(fingerprint).append("  ").append_text(bars), *facts
            )
    output.show(table, onto=onto)


def _what(group: View) -> Text:
    what = styled("").append_text(styled(", ".join(group["job_types"]), "bold")).append("  ")
    what.append_text(styled(" ".join(group["title"].split()), "red"))
    return what.append(f"  {group['retried']:,} retried", style="dim") if group["retried"] else what


def _bars(numbers: list[int]) -> str:
    """One character an hour, the latest last; an hour without any is a dot."""
    most = max(numbers, default=0)
    return "".join(
        _HEIGHTS[(number * (len(_HEIGHTS) - 1) + most - 1) // most] if number else "·" for number in numbers
    )
