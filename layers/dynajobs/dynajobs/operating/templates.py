"""Templates as operators see and change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynajobs.operating.audit import Audit
from dynajobs.operating.masks import restored
from dynajobs.operating.telling import told
from dynajobs.views import job_view, template_view

if TYPE_CHECKING:
    from dynajobs.queue import JobQueue

View = dict[str, Any]


class Templates:
    """Lists, changes, jobs made from them. Every change is recorded under the actor's name."""

    def __init__(self, queue: JobQueue, audit: Audit) -> None:
        self._queue = queue
        self._audit = audit

    def list(self) -> View:
        """All of them, by name."""
        settings = self._queue.settings
        return {"templates": [template_view(each, settings) for each in self._queue.templates.list()]}

    def get(self, name: str) -> View:
        """One of them."""
        return template_view(self._queue.templates.get(name), self._queue.settings)

    def create(self, name: str, job_type: str, **arguments: Any) -> View:
        """A new one."""
        with self._audit.of("templates.create", name, job_type=job_type, **told(arguments)):
            self._unmask(arguments, None)
            made = self._queue.templates.create(name, job_type, **arguments)
        return template_view(made, self._queue.settings)

    def update(self, name: str, **changes: Any) -> View:
        """Change what is given."""
        with self._audit.of("templates.update", name, **told(changes)):
            if "payload" in changes:
                self._unmask(changes, self._queue.templates.get(name).payload)
            changed = self._queue.templates.update(name, **changes)
        return template_view(changed, self._queue.settings)

    def delete(self, name: str) -> None:
        """Forget it; not while a schedule uses it."""
        with self._audit.of("templates.delete", name):
            self._queue.templates.delete(name)

    def enqueue(self, name: str, **options: Any) -> View:
        """A new job from it."""
        with self._audit.of("templates.enqueue", name, **told(options)) as details:
            if "param_overrides" in options:
                extra = self._queue.settings.redact
                options["param_overrides"] = restored(
                    options["param_overrides"], None, extra, "param_overrides"
                )
            job = self._queue.templates.enqueue(name, **options)
            details |= {"job_id": job.id, "created": job.created}
        return job_view(job, self._queue.settings)

    def _unmask(self, arguments: dict[str, Any], old: Any) -> None:
        """Put secrets that were only shown as masks back in their place."""
        if "payload" in arguments:
            arguments["payload"] = restored(arguments["payload"], old, self._queue.settings.redact, "payload")
