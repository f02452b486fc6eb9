"""Job templates: a type with its payload and options under a name, to be enqueued with some of it changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from dynajobs import keys, producing
from dynajobs.dynamo import Conflict, Expression
from dynajobs.errors import AlreadyExists, InvalidJob, TemplateInUse, TemplateNotFound, Unavailable
from dynajobs.item import Item
from dynajobs.jsons import load_json
from dynajobs.schedule_item import MAX_DESCRIPTION, NAME
from dynajobs.store import MAX_TRIES
from dynajobs.telemetry import logger

if TYPE_CHECKING:
    from dynajobs.job import Job
    from dynajobs.queue import JobQueue

USED_BY = "used_by"
"""The names of the schedules that use a template; DynamoDB removes an empty set."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """A job to be made: its type, payload and options."""

    name: str
    job_type: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    priority: int = 0
    max_attempts: int | None = None
    description: str = ""
    used_by: tuple[str, ...] = ()
    """The schedules that use it."""

    def with_overrides(self, overrides: Mapping[str, Any] | None) -> dict[str, Any]:
        """The payload, with these values instead of its own at the top level."""
        if overrides is not None and not isinstance(overrides, Mapping):
            raise InvalidJob(f"param_overrides is {overrides!r}: it must be a mapping or None")
        return {**self.payload, **(overrides or {})}


class Templates:
    """The templates of a queue.

    >>> queue = getfixture("queue")
    >>> _ = queue.templates.create("weekly", "report", payload={"days": 7, "to": "ops"})
    >>> queue.templates.enqueue("weekly", param_overrides={"to": "sales"}).payload
    {'days': 7, 'to': 'sales'}
    """

    def __init__(self, queue: JobQueue) -> None:
        self._queue = queue
        self._table = queue.store.table

    def create(
        self,
        name: str,
        job_type: str,
        *,
        payload: Any = None,
        priority: int = 0,
        max_attempts: int | None = None,
        description: str = "",
    ) -> Template:
        """Store a template; `AlreadyExists` if the name is taken."""
        template = _checked(name, job_type, payload, priority, max_attempts, description)
        item = _encode(template)
        try:
            self._table.put(item)
        except Conflict as conflict:
            if (conflict.item or {}).get("version") != item["version"]:
                raise AlreadyExists(
                    f"a template {name!r} exists: choose another name, or update it"
                ) from None
        return template

    def update(self, name: str, **changes: Any) -> Template:
        """Change some of a template; schedules use it as it is when a slot is fired."""
        known = {each.name for each in fields(Template)} - {"name", "used_by"}
        for unknown in changes.keys() - known:
            raise InvalidJob(f"{unknown} is no argument of a template: there are {', '.join(sorted(known))}")
        for _ in range(MAX_TRIES):
            old = self._read(name)
            seen = _decode(old)
            wanted = {each: changes.get(each, getattr(seen, each)) for each in known}
            template = _checked(name, **wanted)
            item, expression = _encode(template), Expression()
            change = expression.difference(old, item, {"max_attempts"})
            condition = expression.as_seen(old, "version")
            try:
                self._table.update(template_key(name), change, condition, expression)
                return replace(template, used_by=seen.used_by)
            except Conflict as conflict:
                if (conflict.item or {}).get("version") == item["version"]:
                    return replace(template, used_by=seen.used_by)
        raise Unavailable(f"template {name} changed {MAX_TRIES} times while it was being changed")

    def get(self, name: str) -> Template:
        """The template, or `TemplateNotFound`."""
        return _decode(self._read(name))

    def list(self) -> tuple[Template, ...]:
        """All templates, by name."""
        expression = Expression()
        partition = expression.value({"S": keys.TEMPLATE})
        pages = self._table.query(
            KeyConditionExpression=f"PK = {partition}", ConsistentRead=True, **expression.parameters()
        )
        return tuple(template for page in pages for item in page["Items"] if (template := _understood(item)))

    def delete(self, name: str) -> None:
        """Forget a template; `TemplateInUse` while a schedule uses it."""
        self._read(name)
        expression = Expression()
        unused = f"attribute_not_exists({expression.name(USED_BY)})"
        try:
            self._table.write(
                self._table.action(
                    "Delete",
                    Key=template_key(name),
                    ConditionExpression=unused,
                    **expression.parameters(),
                )
            )
        except Conflict as conflict:
            users = sorted((conflict.item or {}).get(USED_BY, {}).get("SS", ()))
            raise TemplateInUse(
                f"template {name!r} is used by {', '.join(users)}: change or delete those schedules first"
            ) from None

    def enqueue(self, name: str, *, param_overrides: Mapping[str, Any] | None = None, **options: Any) -> Job:
        """Enqueue a job from a template; `options` are those of `JobQueue.enqueue`."""
        template = self.get(name)
        if "payload" in options:
            raise InvalidJob("payload is given with a template: use param_overrides")
        defaults = {"priority": template.priority, "max_attempts": template.max_attempts}
        job = self._queue.build(
            template.job_type, template.with_overrides(param_overrides), **(defaults | options)
        )
        return self._queue.put(replace(job, template=name), new_id="job_id" not in options)

    def _read(self, name: str) -> Item:
        known = isinstance(name, str) and NAME.fullmatch(name)
        found = self._table.get(template_key(name)) if known else None
        if found is None:
            raise TemplateNotFound(f"there is no template {name!r}")
        return found


def template_key(name: str) -> Item:
    """Where a template lives."""
    return {"PK": {"S": keys.TEMPLATE}, "SK": {"S": name}}


def _checked(
    name: str, job_type: str, payload: Any, priority: int, max_attempts: int | None, description: str
) -> Template:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidJob(f"name is {name!r}: it must match {NAME.pattern}")
    if not isinstance(description, str) or len(description.encode(errors="replace")) > MAX_DESCRIPTION:
        raise InvalidJob(f"description is {description!r}: it must be a text of at most 1,000 bytes")
    return Template(
        name=name,
        job_type=producing.checked_type(job_type),
        payload=load_json(producing.payload_text(payload)),
        priority=producing.checked_whole("priority", priority, 0, 3),
        max_attempts=None
        if max_attempts is None
        else producing.checked_whole("max_attempts", max_attempts, 1, 100),
        description=description,
    )


def _encode(template: Template) -> Item:
    item: Item = {
        **template_key(template.name),
        "job_type": {"S": template.job_type},
        "payload": {"S": producing.payload_text(template.payload)},
        "priority": {"N": str(template.priority)},
        "description": {"S": template.description},
        "version": {"S": keys.new_id()},
    }
    if template.max_attempts is not None:
        item["max_attempts"] = {"N": str(template.max_attempts)}
    return item


def _decode(item: Item) -> Template:
    """The template of an item; `InvalidJob` if it is none, which a schedule tells as it skips a slot."""
    try:
        attempts = item.get("max_attempts", {}).get("N")
        return Template(
            name=item["SK"]["S"],
            job_type=item["job_type"]["S"],
            payload=dict(load_json(item["payload"]["S"])),
            priority=int(item["priority"]["N"]),
            max_attempts=None if attempts is None else int(attempts),
            description=item["description"]["S"],
            used_by=tuple(sorted(item.get(USED_BY, {}).get("SS", ()))),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InvalidJob(f"the template {item['SK']['S']!r} cannot be understood: {reason}") from None


def _understood(item: Item) -> Template | None:
    try:
        return _decode(item)
    except InvalidJob as error:
        logger.warning("template left out", extra={"reason": str(error)})
        return None
