"""`dynajobs errors`: what went wrong lately, grouped."""

from __future__ import annotations

from datetime import datetime

import click

from dynajobs import keys, words
from dynajobs.cli import output
from dynajobs.cli.arguments import shared
from dynajobs.cli.desk import Where, at
from dynajobs.cli.output import View, styled
from dynajobs.cli.watch import watch, watched

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
    if not view["groups"]:
        click.echo("Nothing has failed.")
    else:
        columns = ("FINGERPRINT", "DEAD", "FAILED", "HOUR", "DAY", "WEEK", "LAST", "24 HOURS", "ERROR")
        table = output.plain_table(*columns, right=columns[1:6])
        for group in view["groups"]:
            counts = [group[name] for name in ("dead_letters", "failed", "hour", "day", "week")]
            types = ", ".join(group["job_types"])
            what = styled(f"{types}  ", "bold").append_text(styled(group["title"], "red"))
            what.append_text(styled(f"  {group['retried']:,} retried" if group["retried"] else "", "dim"))
            table.add_row(
                styled(group["fingerprint"]),
                *(styled(f"{number:,}" if number else "", "") for number in counts),
                styled(words.relative(keys.parse_time(group["last_seen"]), now)),
                styled(_bars(group["bars"]), "red"),
                what,
            )
        output.show(table)
    if view["truncated"]:
        click.echo(f"{view['examined']:,} jobs were looked at; there are more.")


def _bars(numbers: list[int]) -> str:
    """One character an hour, the latest last; an hour without any is a dot."""
    most = max(numbers, default=0)
    return "".join(
        _HEIGHTS[(number * (len(_HEIGHTS) - 1) + most - 1) // most] if number else "·" for number in numbers
    )
