"""`dynajobs reservation`: who has the queue to themselves."""

from __future__ import annotations

from datetime import datetime

import click

from dynajobs import keys, words
from dynajobs.cli import output
from dynajobs.cli.arguments import shared
from dynajobs.cli.desk import Where, at
from dynajobs.cli.output import View


@click.group()
def reservation() -> None:
    """Show or release the reservation: while one lasts, no job starts."""


@reservation.command()
@shared
def show(where: Where, as_json: bool) -> None:
    """Say who has, or last had, the queue to themselves."""
    with at(where) as desk:
        view = desk.operator.reservation()
    output.print_json(view) if as_json else click.echo(_sentence(view, desk.now()))


@reservation.command()
@shared
def release(where: Where, as_json: bool) -> None:
    """End the reservation, whoever's it is."""
    with at(where) as desk:
        view = desk.operator.release()
    output.print_json(view) if as_json else click.echo(_sentence(view, desk.now()))


def _sentence(view: View, now: datetime) -> str:
    if view["by"] is None:
        return "Nobody has reserved the queue."
    by, until = words.printable(view["by"]), keys.parse_time(view["until"])
    if view["status"] == "active":
        return f"{by} has reserved the queue until {words.clock(until)} ({words.relative(until, now)})."
    ended = keys.parse_time(view["released_at"] or view["until"])
    return f"Nobody has reserved the queue; {by} had until {words.relative(ended, now)} ({view['status']})."
