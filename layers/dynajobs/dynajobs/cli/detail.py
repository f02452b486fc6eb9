"""One job, all there is to know about it, as `dynajobs jobs show` tells it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from dynajobs import keys, words
from dynajobs.cli import output
from dynajobs.cli.output import View, styled
from dynajobs.jsons import dump_json

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_FACTS = {
    "org_id": "Organisation",
    "group_id": "Group",
    "schedule_name": "Schedule",
    "triggered_by": "Triggered by",
    "template": "Template",
    "dedup_key": "Dedup key",
    "dedup_window": "Dedup window",
    "retry_of": "Retry of",
    "retried_by": "Retried as",
    "fingerprint": "Fingerprint",
}


def job_detail(job: View, now: datetime, max_attempts: int) -> None:
    """Head, facts, runs, last error, payload, result: each only if there is something to say."""
    from rich.console import Group
    from rich.padding import Padding

    parts: list[RenderableType] = [_head(job, now), styled(job["id"]), styled("")]
    parts.append(_facts(job, now, max_attempts))
    sections: list[tuple[str, RenderableType]] = []
    if job["runs"]:
        sections.append(("Runs, UTC", _runs(job, now)))
    if job["last_error"]:
        sections.append(("Last error", styled(job["last_error"].rstrip(), "red")))
    sections.append(("Payload", styled(words.indented(job["payload_json"]))))
    if job["result"] is not None:
        sections.append(("Result", styled(words.indented(dump_json(job["result"])))))
    for title, body in sections:
        parts += [styled(""), styled(title, "bold"), Padding(body, (0, 0, 0, 2))]
    output.show(Group(*parts))


def _head(job: View, now: datetime) -> Text:
    head = styled("").append_text(styled(job["job_type"], "bold")).append("  ")
    head.append_text(output.state(job["status"]))
    when = output.when_text(job, now)
    head.append(f", {when}" if when else "")
    return head.append(", asked to stop", style="magenta") if job["cancel_requested"] else head


def _facts(job: View, now: datetime, max_attempts: int) -> RenderableType:
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")

    def row(name: str, value: object) -> None:
        table.add_row(f"  {name}", styled(value))

    row("Due" if job["finished_at"] is None else "Was due", _moment(job["scheduled_for"], now))
    row("Tries", f"{output.attempts(job, max_attempts)} failed")
    if job["priority"]:
        row("Priority", job["priority"])
    row("Created", _moment(job["created_at"], now))
    if job["finished_at"]:
        row("Finished", _moment(job["finished_at"], now))
    if job["locked_by"]:
        row("Lease", f"{'ran out' if _past(job, now) else 'until'} {_moment(job['lock_expires_at'], now)}")
    if job["progress"]:
        row("Progress", output.progress(job))
    if job["undelivered"]:
        row("Undelivered", f"{words.plural(job['undelivered'], 'claim')} never started")
    for field, name in _FACTS.items():
        if job[field] is not None:
            row(name, job[field])
    return table


def _past(job: View, now: datetime) -> bool:
    return job["lock_expires_at"] is not None and keys.parse_time(job["lock_expires_at"]) < now


def _moment(text: str | None, now: datetime) -> str:
    if text is None:
        return "?"
    moment = keys.parse_time(text)
    return f"{words.clock(moment)} ({words.relative(moment, now)})"


def _runs(job: View, now: datetime) -> RenderableType:
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("right", "left", "left", "right"):
        table.add_column(justify="right" if justify == "right" else "left", no_wrap=True)
    table.add_column(overflow="fold")
    for run in job["runs"]:
        table.add_row(
            styled(f"#{run['attempt']}", "dim"),
            styled(words.clock(keys.parse_time(run["started_at"]), exact=True) if run["started_at"] else ""),
            output.state(run["status"]),
            styled(_took(run, now)),
            _told(run),
        )
    return table


def _took(run: View, now: datetime) -> str:
    if not run["started_at"]:
        return ""
    end = keys.parse_time(run["finished_at"]) if run["finished_at"] else now
    return words.length(end - keys.parse_time(run["started_at"]))


def _told(run: View) -> Text:
    """What came of a run, and where to read more about it."""
    lines: list[Any] = []
    if run["error"]:
        lines.append(styled(run["error"], "red"))
    if run["message"] and run["message"] != run["error"]:
        lines.append(styled(run["message"]))
    if run["details"] is not None:
        lines.append(styled(dump_json(run["details"])))
    log = run["log"] or {}
    where = log.get("request_id") or run["worker"]
    if where:
        lines.append(styled(where, "dim"))
    return styled("\n").join(lines)
