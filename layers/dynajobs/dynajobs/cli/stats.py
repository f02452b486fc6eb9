"""`dynajobs stats`: how much there is of what."""

from __future__ import annotations

from datetime import timedelta

import click

from dynajobs import words
from dynajobs.cli import output
from dynajobs.cli.arguments import shared
from dynajobs.cli.stack import open_queue


@click.command()
@shared
def stats(table: str | None, as_json: bool) -> None:
    """Count jobs by state and type.

    Also says how long the oldest due job has waited.
    """
    from dynajobs.views import stats_view

    with open_queue(table) as queue:
        view = stats_view(queue.stats())
    if as_json:
        output.print_json(view)
    else:
        _show(view)


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
