"""Whether somebody polls, and whether the poller's function was set up to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dynajobs import words
from dynajobs.errors import InvalidSettings
from dynajobs.invoke import configuration
from dynajobs.operating.doctor.finding import Finding, fine, odd, some, wrong
from dynajobs.operating.why import silent_for
from dynajobs.settings import Settings

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

MOST_FUNCTIONS = 50
"""Functions of handlers that are looked up."""


def poller(queue: JobQueue) -> Iterator[Finding]:
    """Who polls, as the table knows it."""
    agreed, now = queue.store.control.read(), queue.now()
    if agreed.looked_at is None:
        advice = "enable the rule that ticks it; a dynajobs worker leaves no trace here"
        yield wrong("poller", "no poller has ever looked", advice)
    else:
        silent = silent_for(agreed, now) is not None
        yield Finding(
            check="poller",
            ok=not silent,
            evidence=f"last looked {words.relative(agreed.looked_at, now)}",
            advice="look at its log, and at the rule that ticks it" if silent else "",
        )
    if agreed.poller and not agreed.poller.enabled:
        evidence = "the poller claims nothing: its DYNAJOBS_ENABLED is false"
        yield odd("enabled", evidence, "set it to true to start jobs")
    if agreed.poller and not agreed.poller.scheduler_enabled:
        evidence = "no slots are fired: the poller's DYNAJOBS_SCHEDULER_ENABLED is false"
        yield odd("enabled", evidence, "set it to true to fire them")


def function(queue: JobQueue, name: str) -> Iterator[Finding]:
    """The poller's function: that it is there, works on this table, and can hand jobs over."""
    found = configuration(name)
    if found is None:
        evidence = f"there is no function {name!r} in this region and account"
        advice = "give --function as the stack's output PollerFunctionName has it"
        yield wrong("function", evidence, advice)
        return
    environment = found.get("Environment", {}).get("Variables", {})
    try:
        theirs = Settings.from_env(environment)
    except InvalidSettings as error:
        yield wrong("function", f"{name} cannot start: {error}", "correct the variable")
        return
    differing = [
        f"DYNAJOBS_{each.upper()} is {getattr(theirs, each)!r}, not {getattr(queue.settings, each)!r}"
        for each in ("table", "index", "ttl_attribute")
        if getattr(theirs, each) != getattr(queue.settings, each)
    ]
    if differing:
        evidence = f"{name} works elsewhere: {'; '.join(differing)}"
        advice = "give the --function of this table, or set the same here"
        yield wrong("function", evidence, advice)
        return
    yield fine("function", f"{name} works on this table")
    yield _handlers(theirs)


def _handlers(theirs: Settings) -> Finding:
    if not theirs.handlers:
        evidence = "DYNAJOBS_HANDLERS is empty: every attempt fails"
        return wrong("handlers", evidence, "map job types to function names there")
    functions = sorted(set(theirs.handlers.values()))
    missing = [each for each in functions[:MOST_FUNCTIONS] if configuration(each) is None]
    if missing:
        evidence = f"DYNAJOBS_HANDLERS names functions that are not there: {some(missing)}"
        return wrong("handlers", evidence, "deploy or correct them")
    types = words.plural(len(theirs.handlers), "job type")
    those = f"the first {MOST_FUNCTIONS} of" * (len(functions) > MOST_FUNCTIONS)
    found = f"{those} {words.plural(len(functions), 'function')}".strip()
    return fine("handlers", f"{found} for {types}, all there")
