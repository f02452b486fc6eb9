"""`dynajobs templates`: jobs to be made, under a name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

import click

from dynajobs import words
from dynajobs.cli import output
from dynajobs.cli.arguments import ATTEMPTS, PRIORITY, TEMPLATE, TYPE, checked_due, due, payload, shared
from dynajobs.cli.desk import Where, at
from dynajobs.cli.jobs import answer_enqueued
from dynajobs.cli.output import View, styled
from dynajobs.jsons import dump_json

Command = TypeVar("Command", bound=Callable[..., Any])
NAME = click.argument("name", **TEMPLATE)


@click.group()
def templates() -> None:
    """List, show and change templates; enqueue jobs from them."""


def arguments(command: Command) -> Command:
    """What a template is made of, except its name and type."""
    for option in reversed(
        (
            click.option("--payload", callback=payload, metavar="JSON", help="A JSON object, @FILE, or -."),
            click.option("--priority", type=PRIORITY, metavar="N", help="0 to 3; 3 runs first."),
            click.option("--max-attempts", type=ATTEMPTS, metavar="N", help="1 to 100."),
            click.option("--description", metavar="TEXT", help="What it is for."),
        )
    ):
        command = option(command)
    return command


@templates.command("list")
@shared
def list_templates(where: Where, as_json: bool) -> None:
    """List all templates, by name."""
    with at(where) as desk:
        view = desk.operator.templates.list()
    if as_json:
        output.print_json(view)
    elif view["templates"]:
        table = output.plain_table("NAME", "JOB", "USED BY", "PAYLOAD")
        for each in view["templates"]:
            table.add_row(
                styled(each["name"], "bold"),
                styled(each["job_type"]),
                styled(", ".join(each["used_by"])),
                styled(words.summary(each["payload"]), "dim"),
            )
        output.show(table)
    else:
        click.echo("No templates.")


@templates.command()
@NAME
@shared
def show(name: str, where: Where, as_json: bool) -> None:
    """Show one template."""
    with at(where) as desk:
        view = desk.operator.templates.get(name)
    output.print_json(view) if as_json else _detail(view)


@templates.command()
@click.option("--name", required=True, metavar="NAME", help="Letters, digits, '_', '.', '-'; at most 64.")
@click.option("--job-type", required=True, **TYPE, help="The job to make.")
@arguments
@shared
def create(name: str, job_type: str, where: Where, as_json: bool, **given: Any) -> None:
    """Create a template."""
    chosen = {argument: value for argument, value in given.items() if value is not None}
    with at(where) as desk:
        made = desk.operator.templates.create(name, job_type, **chosen)
    output.print_json(made) if as_json else click.echo(f"{name} is created.")


@templates.command()
@NAME
@click.option("--job-type", **TYPE, help="The job to make.")
@arguments
@shared
def update(name: str, where: Where, as_json: bool, **given: Any) -> None:
    """Change a template; what is left out stays, and schedules use it from their next slot on."""
    chosen = {argument: value for argument, value in given.items() if value is not None}
    if not chosen:
        raise click.UsageError("nothing to change: give at least one option")
    with at(where) as desk:
        changed = desk.operator.templates.update(name, **chosen)
    output.print_json(changed) if as_json else click.echo(f"{name} is changed.")


@templates.command()
@NAME
@shared
def delete(name: str, where: Where, as_json: bool) -> None:
    """Forget a template that no schedule uses."""
    with at(where) as desk:
        desk.operator.templates.delete(name)
    output.print_json({"name": name, "deleted": True}) if as_json else click.echo(f"{name} is deleted.")


@templates.command()
@NAME
@click.option(
    "--param-overrides", callback=payload, metavar="JSON", help="Over the template's, at the top level."
)
@due
@click.option("--priority", type=PRIORITY, metavar="N", help="0 to 3; the template's if left out.")
@click.option("--max-attempts", type=ATTEMPTS, metavar="N", help="1 to 100; the template's if left out.")
@click.option("--org-id", metavar="ID", help="The organisation it belongs to.")
@click.option("--group-id", metavar="ID", help="The group it belongs to.")
@click.option("--dedup-key", metavar="KEY", help="One job per key and window; a second one is not made.")
@click.option("--dedup-window", metavar="LABEL", help="active, a date or any label.")
@click.option("--job-id", metavar="UUID", help="Its id; a new one if left out.")
@shared
def enqueue(
    name: str, where: Where, as_json: bool, run_at: datetime | None, delay: timedelta | None, **options: Any
) -> None:
    """Enqueue a job from a template."""
    checked_due(run_at, delay)
    given = {"run_at": run_at, "delay": delay, **options}
    chosen = {argument: value for argument, value in given.items() if value is not None}
    with at(where) as desk:
        job = desk.operator.templates.enqueue(name, **chosen)
    answer_enqueued(desk, job, as_json)


def _detail(view: View) -> None:
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table

    facts = Table.grid(padding=(0, 2, 0, 0))
    told = {
        "Job type": view["job_type"],
        "Priority": view["priority"] or None,
        "Attempts": view["max_attempts"] and f"at most {view['max_attempts']}",
        "Used by": ", ".join(view["used_by"]) or "no schedule",
    }
    for name, value in told.items():
        if value is not None:
            facts.add_row(styled(f"  {name}", "dim"), styled(value))
    described = [styled(view["description"])] if view["description"] else []
    text = words.indented(dump_json(view["payload"]))
    output.show(
        Group(
            styled(view["name"], "bold"),
            *described,
            styled(""),
            facts,
            styled(""),
            styled("Payload", "bold"),
            Padding(styled(text), (0, 0, 0, 2)),
        )
    )
