"""`dynajobs stats`: how much there is of what."""

from __future__ import annotations

from datetime import timedelta

import click

from dynajobs import words
from dynajobs.cli import output
from dynajobs.cli.arguments import shared
from dynajobs.cli.desk import Where, at
from dynajobs.cli.watch import watch, watched


@click.command()
@watch
@shared
def stats(where: Where, as_json: bool, every: float | None) -> None:
    """Count jobs by state and type.

    Also says how long the oldest due job has waited.
    """
    with at(where) as desk:

        def draw() -> None:
            view = desk.operator.stats()
            output.print_json(view) if as_json else _show(view)

        watched(draw, every)


def _show(view: output.View) -> None:
    from rich.table import Table

    truncated = view["truncated"]
    states = output.plain_table("STATE", "JOBS", right=("JOBS",))
    for status, number in view["by_status"].items():
        states.add_row(output.state(status), words.count(number, truncated=truncated))
    types = output.plain_table("TYPE", "JOBS", right=("JOBS",))
    for job_type, number in sorted(view["by_type"].items(), key=lambda pair: (-pair[1], pair[0])):
        types.add_row(output.styled(job_type), words.count(number, truncated=truncated))
    both = Table.grid(padding=(0, 4, 0, 0))
    both.add_row(states, types) if view["by_type"] else both.add_row(states)
    output.show(both)
    age = view["oldest_due_age"]
    if age is None:
        click.echo("\nNo job is due.")
    else:
        click.echo(f"\nThe oldest due job has waited {words.length(timedelta(seconds=age))}.")
    if truncated:
        click.echo(f"Counting stops at {words.COUNTED:,} of a kind, to save reads.")
