"""`dynajobs doctor`: look over a deployment, and say what to do."""

from __future__ import annotations

import click

from dynajobs import words
from dynajobs.cli import output
from dynajobs.cli.arguments import direct
from dynajobs.cli.failure import REFUSED
from dynajobs.cli.stack import entered, named_queue
from dynajobs.errors import InvalidSettings


@click.command()
@click.option("--function", metavar="NAME", help="The poller's name or ARN; the local stack's if left out.")
@direct
def doctor(function: str | None, table: str | None, as_json: bool) -> None:
    """Look over a deployment: table, permissions, clock, poller, and work that is stuck.

    One line for each finding: ✓ fine, ! worth knowing, ✗ wrong, and what to do. It reads only; the exit code
    is 1 if something is wrong.
    """
    from dynajobs.operating.doctor.examination import examine, report
    from dynajobs.operating.doctor.finding import Finding

    with entered() as stack:
        try:
            queue = named_queue(table)
        except InvalidSettings as error:
            findings = [Finding(check="settings", ok=False, evidence=str(error), advice="correct it here")]
        else:
            findings = list(examine(queue, function or (stack.poller if stack else "")))
    view = report(findings)
    if as_json:
        output.print_json(view)
    else:
        output.check_table(
            (each.ok, each.check, f"{each.evidence} → {each.advice}" if each.advice else each.evidence)
            for each in findings
        )
        click.echo(f"\n{_verdict([each.ok for each in findings])}")
    if not view["ok"]:
        raise SystemExit(REFUSED)


def _verdict(found: list[bool | None]) -> str:
    wrong, odd = found.count(False), found.count(None)
    if not wrong and not odd:
        return "All is well."
    parts = [f"{words.plural(wrong, 'thing')} wrong"] if wrong else ["nothing is wrong"]
    if odd:
        parts.append(f"{odd:,} to know about")
    return ", ".join(parts).capitalize() + "."
