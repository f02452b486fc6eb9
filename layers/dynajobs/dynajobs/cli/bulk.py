"""`dynajobs jobs bulk`: one action on many jobs, shown before it is done."""

from __future__ import annotations

import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dynajobs import keys, words
from dynajobs.cli import output
from dynajobs.cli.arguments import SCHEDULE, STATE, TYPE, shared
from dynajobs.cli.desk import Desk, Where, at
from dynajobs.cli.failure import INTERRUPTED, say
from dynajobs.cli.output import View
from dynajobs.errors import Unavailable

if TYPE_CHECKING:
    from dynajobs.operating.bulk import Request

DONE = {"retry": "retried", "cancel": "cancelled"}
_GONE = "it is gone"


@click.command()
@click.argument("action", type=click.Choice(list(DONE)))
@click.option("--state", type=STATE, help="Jobs in this state.")
@click.option("--type", "job_type", **TYPE, help="Jobs of this type.")
@click.option("--org-id", metavar="ID", help="Jobs of this organisation.")
@click.option("--schedule-name", **SCHEDULE, help="Jobs of this schedule.")
@click.option("--fingerprint", metavar="ID", help="Jobs that failed like this; see `errors`.")
@click.option("--ids", metavar="FILE", help="Instead of a filter: a file of ids, one a line; - for stdin.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared
def bulk(
    action: str,
    where: Where,
    as_json: bool,
    state: str | None,
    ids: str | None,
    dry_run: bool,
    yes: bool,
    **filters: str | None,
) -> None:
    """Retry or cancel all jobs that fit a filter, or those of a list.

    First it says how many, then it asks. Jobs that change meanwhile are left alone.
    """
    chosen = {name: value for name, value in {"status": state, **filters}.items() if value is not None}
    if (ids is None) == (not chosen):
        raise click.UsageError("which jobs? Give a filter such as --state or --type, or --ids, not both")
    named = None if ids is None else _named(ids)
    if not (dry_run or yes or sys.stdin.isatty()):
        raise click.UsageError("there is no terminal to ask at: give --yes to do it, or --dry-run")
    with at(where) as desk:
        order = _Order(action, None if named else chosen, named)
        seen = _preview(desk, order)
        if dry_run and as_json:
            output.print_json(seen)
            return
        _show_preview(seen, to_stderr=as_json)
        if dry_run:
            return
        if seen["eligible"] and not yes and not click.confirm(_question(seen), err=True):
            say(f"nothing is {DONE[action]}")
            return
        done = _carry_out(desk, order, seen)
    if as_json:
        output.print_json(done)
    else:
        click.echo(_ending(done))
    if done["cursor"] is not None:
        say(f"interrupted: some are left. Run it again to go on; what is {DONE[action]} stays so")
        raise SystemExit(INTERRUPTED)


def _named(source: str) -> list[str]:
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--ids {source} cannot be read: {error}") from None
    # Twice the same id would be told twice.
    found = list(dict.fromkeys(text.split()))
    for each in found:
        if keys.canonical_id(each) is None:
            raise click.UsageError(f"--ids {source} has {each[:80]!r}: it must have ids, one a line")
    if not found:
        raise click.UsageError(f"--ids {source} has no ids in it")
    return found


@dataclass(frozen=True, slots=True)
class _Order:
    """What is to be done with which jobs, however many."""

    action: str
    filter: dict[str, str] | None
    ids: list[str] | None

    def requests(self, size: int, **options: Any) -> Iterator[Request]:
        """As many as it takes for one to have no more ids than it may."""
        from dynajobs.operating.bulk import Request

        if self.ids is None:
            yield Request(action=self.action, filter=self.filter, **options)
            return
        for start in range(0, len(self.ids), size):
            yield Request(action=self.action, ids=self.ids[start : start + size], **options)


def _preview(desk: Desk, order: _Order) -> View:
    """What would be done, added up where the ids are more than one preview looks at."""
    from dynajobs.operating.bulk import A_PREVIEW, SAMPLES

    seen: View = {}
    before: datetime | None = None
    for part in order.requests(A_PREVIEW, dry_run=True):
        more = desk.operator.jobs.bulk(replace(part, before=before))
        before = keys.parse_time(more["before"])
        if not seen:
            seen = more
            continue
        for name in ("skipped", "by_status", "by_type"):
            seen[name] = dict(Counter(seen[name]) + Counter(more[name]))
        seen["eligible"] += more["eligible"]
        seen["samples"] = (seen["samples"] + more["samples"])[:SAMPLES]
        for name, choose in (("oldest", min), ("newest", max)):
            seen[name] = choose((each for each in (seen[name], more[name]) if each), default=None)
    return seen


def _carry_out(desk: Desk, order: _Order, seen: View) -> View:
    """Call after call, until the end or Ctrl-C; one document of all of them."""
    tally = _Tally()
    if not seen["eligible"] and not seen["truncated"]:
        tally.skipped.update(seen["skipped"])
        return tally.document(seen)
    with _stoppable() as stopped, _progress(seen) as advance:
        for answer, last in _calls(desk, order, keys.parse_time(seen["before"])):
            tally.add(answer)
            advance(answer["done"] + answer["already"])
            if not last and stopped():
                tally.left = answer["cursor"] or str(tally.looked_at)
                break
    return tally.document(seen)


def _calls(desk: Desk, order: _Order, before: datetime) -> Iterator[tuple[View, bool]]:
    """The answer of each call, and whether it was the last one."""
    from dynajobs.operating.bulk import A_CALL

    parts, changed = list(order.requests(A_CALL, before=before)), 0
    for part in parts:
        cursor = None
        while True:
            try:
                answer = desk.operator.jobs.bulk(replace(part, cursor=cursor))
            except Unavailable as error:
                error.add_note(f"{changed:,} are {DONE[order.action]}: run it again to go on")
                raise
            cursor = answer["cursor"]
            changed += answer["done"]
            yield answer, cursor is None and part is parts[-1]
            if cursor is None:
                break


class _Tally:
    """What came of all calls so far."""

    def __init__(self) -> None:
        self.results: dict[str, View] = {}
        self.skipped: Counter[str] = Counter()
        self.looked_at = 0
        self.left: str | None = None

    def add(self, answer: View) -> None:
        """One more call. A job that was changed can be met again in its new place: the first time counts."""
        self.looked_at += len(answer["results"])
        missing: Counter[str] = Counter(answer["skipped"])
        for each in answer["results"]:
            missing[each["outcome"]] -= 1
            if each["id"] not in self.results and each["outcome"] not in ("done", "already"):
                self.skipped[each["outcome"]] += 1
            self.results.setdefault(each["id"], each)
        # Those of a list that are no longer stored have no result.
        if missing[_GONE] > 0:
            self.skipped[_GONE] += missing[_GONE]
            self.looked_at += missing[_GONE]

    def document(self, seen: View) -> View:
        """All of it in the shape of one answer."""
        outcomes = Counter(each["outcome"] for each in self.results.values())
        return {
            "action": seen["action"],
            "dry_run": False,
            "before": seen["before"],
            "done": outcomes["done"],
            "already": outcomes["already"],
            "skipped": dict(self.skipped),
            "results": list(self.results.values()),
            "cursor": self.left,
        }


@contextmanager
def _stoppable() -> Iterator[Callable[[], bool]]:
    """Ctrl-C asks to stop between two calls; a second one does not wait."""
    asked: list[int] = []

    def stop(number: int, _: Any) -> None:
        asked.append(number)
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _progress(seen: View) -> Iterator[Callable[[int], None]]:
    """A bar on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(seen["action"], total=None if seen["truncated"] else seen["eligible"])
        yield lambda number: progress.advance(task, number)


def _show_preview(seen: View, *, to_stderr: bool) -> None:
    would = f"{_many(seen)} would be {DONE[seen['action']]}"
    lines = [f"{would}." if not seen["eligible"] else f"{would}:"]
    if seen["eligible"]:
        lines += [f"  by state  {_counts(seen['by_status'])}", f"  by type   {_counts(seen['by_type'])}"]
        oldest, newest = (words.clock(keys.parse_time(seen[name])) for name in ("oldest", "newest"))
        lines.append(f"  created   {oldest} to {newest}")
        lines += [f"  such as   {each['id']}  {each['job_type']}" for each in seen["samples"]]
    if seen["skipped"]:
        lines.append(
            f"{words.plural(sum(seen['skipped'].values()), 'job')} would be left alone: "
            f"{_counts(seen['skipped'])}."
        )
    if seen["truncated"]:
        lines.append("There are more: only the first ones were counted, and all will be looked at.")
    for line in lines:
        click.echo(words.printable(line), err=to_stderr)


def _many(seen: View) -> str:
    return words.plural(seen["eligible"], "job") + (" or more" if seen["truncated"] else "")


def _question(seen: View) -> str:
    return f"{seen['action'].capitalize()} {_many(seen)}?"


def _ending(done: View) -> str:
    """`412 retried, 3 skipped (it is completed: 3).`"""
    parts = [f"{done['done']:,} {DONE[done['action']]}"]
    if done["already"]:
        parts.append(f"{done['already']:,} already were")
    if done["skipped"]:
        parts.append(f"{sum(done['skipped'].values()):,} skipped ({_counts(done['skipped'])})")
    return f"{', '.join(parts)}."


def _counts(numbers: dict[str, int]) -> str:
    ordered = sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name}: {number:,}" for name, number in ordered)
