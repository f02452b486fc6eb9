"""`/api/admin/templates…`."""

from __future__ import annotations

from aws_lambda_powertools.event_handler import Response

from dynajobs.http.models import (
    CreateTemplate,
    EnqueueFromTemplate,
    JobOut,
    TemplateOut,
    TemplatesOut,
    UpdateTemplate,
)
from dynajobs.http.routing import App, NamePath, answer

TEMPLATES = "/api/admin/templates"
ONE = f"{TEMPLATES}/<name>"


def add(app: App) -> None:
    """Bind them."""

    @app.route("GET", TEMPLATES, answers={200: TemplatesOut}, tag="templates")
    def list_templates() -> Response[TemplatesOut]:
        """List all templates, by name."""
        return answer(app.operator.templates.list())

    @app.route("POST", TEMPLATES, answers={201: TemplateOut}, refuses=(409,), tag="templates")
    def create_template(template: CreateTemplate) -> Response[TemplateOut]:
        """Create a template."""
        arguments = template.given()
        made = app.operator.templates.create(arguments.pop("name"), arguments.pop("job_type"), **arguments)
        return answer(made, 201)

    @app.route("GET", ONE, answers={200: TemplateOut}, refuses=(404,), tag="templates")
    def get_template(name: NamePath) -> Response[TemplateOut]:
        """Show a template."""
        return answer(app.operator.templates.get(name))

    @app.route("PUT", ONE, answers={200: TemplateOut}, refuses=(404,), tag="templates")
    def update_template(name: NamePath, changes: UpdateTemplate) -> Response[TemplateOut]:
        """Change a template; what is left out stays."""
        return answer(app.operator.templates.update(name, **changes.given()))

    @app.route("DELETE", ONE, answers={204: None}, refuses=(404, 409), tag="templates")
    def delete_template(name: NamePath) -> Response[str]:
        """Delete a template that no schedule uses."""
        app.operator.templates.delete(name)
        return answer(None, 204)

    @app.route("POST", f"{ONE}/enqueue", answers={201: JobOut, 200: JobOut}, refuses=(404,), tag="templates")
    def enqueue_template(name: NamePath, job: EnqueueFromTemplate) -> Response[JobOut]:
        """Enqueue a job from a template."""
        made = app.operator.templates.enqueue(name, **job.given())
        return answer(made, 201 if made["created"] else 200)
