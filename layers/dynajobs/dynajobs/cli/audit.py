"""`dynajobs audit`: who changed what."""

from __future__ import annotations

import click

from dynajobs import keys, words
from dynajobs.cli import output
from dynajobs.cli.arguments import LIMIT, shared
from dynajobs.cli.desk import Where, at
from dynajobs.cli.failure import say
from dynajobs.cli.output import styled


@click.command()
@click.option("--limit", type=LIMIT, metavar="N", default=50, help="Changes on a page, 1 to 200; else 50.")
@click.option("--cursor", help="The next page: what the page before ended with.")
@shared
def audit(where: Where, as_json: bool, limit: int, cursor: str | None) -> None:
    """List who changed what, newest first, and what came of it."""
    with at(where) as desk:
        view = desk.operator.audit(limit, cursor)
    if as_json:
        output.print_json(view)
        return
    if view["entries"]:
        table = output.plain_table("WHEN, UTC", "WHO", "BY", "DID", "TO", "")
        for each in view["entries"]:
            table.add_row(
                styled(words.clock(keys.parse_time(each["at"]))[:-4]),
                styled(each["who"]),
                styled(each["via"]),
                styled(each["action"], "bold"),
                styled(each["target"]),
                styled("" if each["outcome"] == "done" else each["outcome"], "red"),
            )
        output.show(table)
    else:
        click.echo("Nothing was changed so far." if not view["cursor"] else "Nothing was changed lately.")
    if view["cursor"]:
        say(f"there may be more: repeat it with --cursor {view['cursor']}")
