"""Schedules declared in code or in a file, brought into the table without undoing what operators did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from dynajobs.errors import AlreadyExists, InvalidSchedule, ScheduleNotFound
from dynajobs.jsons import dump_json, load_json
from dynajobs.schedule import Schedule
from dynajobs.schedule_item import ARGUMENTS, checked_schedule

if TYPE_CHECKING:
    from pathlib import Path

    from dynajobs.registry import Registry
    from dynajobs.schedules import Schedules

_LEFT_ALONE = ("enabled",)
"""What a declaration says for a new schedule only."""


_WORK = frozenset({"job_type", "payload", "template", "param_overrides"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a declaration did to one schedule, or would do. `action`: created updated unchanged.

    `drift` tells what an operator changed: by argument, what is declared and what is stored.
    """

    name: str
    action: str
    changed: tuple[str, ...] = ()
    drift: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)


def sync(
    schedules: Schedules, source: Registry | Mapping[str, Mapping[str, Any]], *, dry_run: bool
) -> tuple[Change, ...]:
    """Create what is new, apply what changed in a declaration, tell of what differs from it."""
    declared = source if isinstance(source, Mapping) else source.schedules
    # All are checked first: a mistake in one must not leave half of them changed.
    wanted = {name: _checked(name, arguments) for name, arguments in declared.items()}
    planned = tuple(_sync_one(schedules, name, wanted[name], dry_run=True) for name in sorted(wanted))
    if dry_run:
        return planned
    return tuple(_sync_one(schedules, name, wanted[name], dry_run=False) for name in sorted(wanted))


def _sync_one(schedules: Schedules, name: str, wanted: dict[str, Any], *, dry_run: bool) -> Change:
    try:
        entry = schedules.entry(name)
    except ScheduleNotFound:
        try:
            if not dry_run:
                schedules.add(name, _arguments(wanted), declared=dump_json(wanted))
            return Change(name=name, action="created")
        except AlreadyExists:  # somebody else started at the same moment
            return _sync_one(schedules, name, wanted, dry_run=dry_run)
    said = entry.item.get("declared", {}).get("S")
    before: dict[str, Any] = load_json(said) if said else wanted
    stored = _plain(entry.schedule)
    changed = tuple(
        each
        for each in ARGUMENTS
        if each not in _LEFT_ALONE and before.get(each) != wanted[each] and stored[each] != wanted[each]
    )
    if _WORK & set(changed):  # what is run is one thing: half of it would not fit the other half
        changed = tuple(
            each for each in ARGUMENTS if each in changed or (each in _WORK and stored[each] != wanted[each])
        )
    arguments = _arguments(wanted)
    changes = {each: arguments[each] for each in changed}
    if dry_run:
        schedules.checked_change(entry.schedule, changes)
    elif changed or said != dump_json(wanted):
        schedules.change(name, changes, declared=dump_json(wanted))
    drift = {
        each: (wanted[each], stored[each])
        for each in ARGUMENTS
        if each not in changed and stored[each] != wanted[each]
    }
    return Change(name=name, action="updated" if changed else "unchanged", changed=changed, drift=drift)


def _checked(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return _plain(checked_schedule(name, arguments))
    except InvalidSchedule as error:
        raise InvalidSchedule(f"schedule {name}: {error}", field=error.field) from None


def _plain(schedule: Schedule) -> dict[str, Any]:
    """The arguments as JSON values, so that what was declared can be kept and compared."""
    found = {name: getattr(schedule, name) for name in ARGUMENTS}
    return found | {"catchup_window": schedule.catchup_window.total_seconds()}


def _arguments(plain: Mapping[str, Any]) -> dict[str, Any]:
    return dict(plain) | {"catchup_window": timedelta(seconds=plain["catchup_window"])}


def read_file(path: Path) -> dict[str, dict[str, Any]]:
    """The declarations of a `schedules.yaml`: `create`'s arguments by name."""
    import yaml

    class Strict(yaml.SafeLoader):
        """Refuses a name that is given twice: the second would win silently."""

    def mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
        names = [loader.construct_object(key) for key, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{name!r} is there twice", node.start_mark
                )
        return dict(loader.construct_mapping(node, deep=True))

    Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        found = yaml.load(path.read_text(encoding="utf-8"), Loader=Strict)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        hint = "; an expression that starts with * needs quotes" if "alias" in str(error) else ""
        raise InvalidSchedule(f"{path} is not YAML: {error}{hint}", field="file") from None
    found = {} if found is None else found
    if not isinstance(found, dict) or not all(
        isinstance(name, str) and isinstance(arguments, dict) for name, arguments in found.items()
    ):
        raise InvalidSchedule(
            f"{path} must map names to the arguments of schedules, such as "
            "nightly: {job_type: report, cron: '0 2 * * *'}",
            field="file",
        )
    return found
