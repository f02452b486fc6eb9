"""`dynajobs tick`: poll now."""

from __future__ import annotations

import click

from dynajobs import words
from dynajobs.cli import output
from dynajobs.cli.arguments import shared
from dynajobs.cli.desk import Where, at
from dynajobs.cli.output import View
from dynajobs.cli.stack import entered


@click.command()
@click.option("--function", metavar="NAME", help="The poller's name or ARN; the local stack's if left out.")
@shared
def tick(function: str | None, where: Where, as_json: bool) -> None:
    """Have the deployed poller look now, and wait: what is due starts."""
    if where.url and function:
        raise click.UsageError("--function is given, and the URL of an API: it knows its poller")
    done = _through_api(where) if where.url else _invoked(function)
    view = {"ok": True, "claimed": int(done.get("claimed", 0)), "fired": int(done.get("fired", 0))}
    if as_json:
        output.print_json(view)
    else:
        claimed, fired = words.plural(view["claimed"], "job"), words.plural(view["fired"], "slot")
        click.echo(f"{claimed} claimed, {fired} fired.")


def _through_api(where: Where) -> View:
    from dynajobs.cli.remote import Remote

    with at(where) as desk:
        assert isinstance(desk.operator, Remote)
        return desk.operator.tick()


def _invoked(function: str | None) -> View:
    from dynajobs.invoke import call
    from dynajobs.poller_function import TICK

    with entered() as stack:
        name = function or (stack.poller if stack else "")
        if not name:
            raise click.UsageError("no poller: give --function (the stack's output PollerFunctionName)")
        return call(name, {"source": TICK})
