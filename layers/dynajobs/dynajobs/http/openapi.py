"""The OpenAPI document, from the routes and models themselves."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler.openapi.models import HTTPBearer, Server

from dynajobs.http.models import Health
from dynajobs.http.routing import MEANINGS, App
from dynajobs.jsons import dump_json, load_json
from dynajobs.version import VERSION


def document(app: App) -> str:
    """JSON text."""
    schema = load_json(
        app.resolver.get_openapi_json_schema(
            title="dynajobs",
            version=VERSION,
            openapi_version="3.1.0",
            description="A scheduled job queue in one DynamoDB table.",
            servers=[Server(url="./")],
            security_schemes={"token": HTTPBearer()},
            security=[{"token": []}],
        )
    )
    for name in ("HTTPValidationError", "ValidationError", "ResponseValidationError"):
        schema["components"]["schemas"].pop(name, None)
    for path in schema["paths"].values():
        for operation in path.values():
            responses = operation["responses"]
            responses.get("204", {}).pop("content", None)
            # The resolver describes its own answer to a fault, which nobody gets: ours is like the others.
            responses["500"] = responses["503"] | {"description": MEANINGS[500]}
    schema["paths"]["/health"] = {"get": _health(schema)}
    return dump_json(schema)


def _health(schema: dict[str, Any]) -> dict[str, Any]:
    """The one path that is answered before the routes."""
    schema["components"]["schemas"]["Health"] = Health.model_json_schema()
    body = {"application/json": {"schema": {"$ref": "#/components/schemas/Health"}}}
    return {
        "operationId": "get_health",
        "summary": "Say whether the poller ticked lately",
        "tags": ["queue"],
        "security": [],
        "responses": {
            "200": {"description": "It did.", "content": body},
            "503": {"description": "It has been silent for more than two ticks.", "content": body},
        },
    }
