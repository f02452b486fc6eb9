"""`dynajobs tick`: poll now."""

from __future__ import annotations

import click

from dynajobs import words
from dynajobs.cli import output
from dynajobs.cli.arguments import shared
from dynajobs.cli.stack import entered


@click.command()
@click.option("--function", metavar="NAME", help="The poller's name or ARN; the local stack's if left out.")
@shared
def tick(function: str | None, as_json: bool, table: str | None) -> None:  # noqa: ARG001 - the poller has its own
    """Invoke the deployed poller and wait: what is due starts now."""
    from dynajobs.invoke import call
    from dynajobs.poller_function import TICK

    with entered() as stack:
        name = function or (stack.poller if stack else "")
        if not name:
            raise click.UsageError("no poller: give --function (the stack's output PollerFunctionName)")
        done = call(name, {"source": TICK})
    view = {"ok": True, "claimed": int(done.get("claimed", 0)), "fired": int(done.get("fired", 0))}
    if as_json:
        output.print_json(view)
    else:
        claimed, fired = words.plural(view["claimed"], "job"), words.plural(view["fired"], "slot")
        click.echo(f"{claimed} claimed, {fired} fired.")
