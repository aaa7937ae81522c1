"""Builds the OpenAPI document of all routes from their descriptions and the structs that they name."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from hiringhall import __version__
from hiringhall.wire import described_clients, described_services, described_workers
from hiringhall.wire.described import Described, Parameter
from hiringhall.wire.login import described as described_login
from hiringhall.wire.operators import described, described_owners
from hiringhall.wire.operators.structs import Envelope

REFERENCE: Final = "#/components/schemas/{name}"
ALL: Final[tuple[Described, ...]] = (
    *described_workers.DESCRIBED,
    *described_services.DESCRIBED,
    *described_clients.DESCRIBED,
    *described_login.DESCRIBED,
    *described.DESCRIBED,
    *described_owners.DESCRIBED,
)
REASONS: Final[dict[int, str]] = {
    200: "It is done.",
    201: "It is made.",
    202: "It goes on.",
    204: "There is nothing.",
    400: "The request cannot be read.",
    401: "The token is missing or not known.",
    403: "The token is known, but opens something else.",
    404: "There is no such thing.",
    405: "The path does not know this method.",
    409: "The state of things does not allow it.",
    410: "It has ended.",
    413: "The body is too large.",
    415: "The body is a form with parts.",
    429: "Too many of these at present; `Retry-After` tells when to come again.",
    422: "A value cannot be; the detail names it.",
    500: "A bug; the detail names what to look for in the log.",
    503: "The database does not answer at present, or the server is ending.",
}
EVENTS: Final = "text/event-stream"
EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["feedback", "outcome"]},
        "id": {"type": "string", "pattern": "^[0-9]+$"},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}
"""Each event of a stream."""
TOKENS: Final[dict[str, str]] = {
    "operator": "The operator's token.",
    "metrics": "The metrics token or the operator's.",
    "worker": "The worker's own token, or the one that the cluster shares.",
    "bootstrap": "The bootstrap token.",
    "service_worker": "The access token of a service worker.",
    "client": "The access token of a client, or the operator's token.",
}


def document() -> dict[str, Any]:
    """The OpenAPI 3.1 document."""
    types = _types()
    found, components = msgspec.json.schema_components(types, ref_template=REFERENCE)
    schemas = dict(zip(map(repr, types), found, strict=True))
    paths: dict[str, Any] = {}
    for route in ALL:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Hiring Hall",
            "version": __version__,
            "description": "Durable work for workers in any language, over plain HTTP.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                name: {"type": "http", "scheme": "bearer", "description": description}
                for name, description in TOKENS.items()
            },
        },
    }


def _types() -> list[Any]:
    named = [kind for route in ALL for kind in (*route.answers.values(), route.body) if _is_type(kind)]
    return list({repr(kind): kind for kind in [*named, Envelope]}.values())


def _is_type(kind: Any) -> bool:
    return kind is not None and not isinstance(kind, str)


def _operation(route: Described, schemas: dict[str, Any]) -> dict[str, Any]:
    identifiers = re.findall(r"\{(\w+)\}", route.path)
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": described_owners.IN_PATHS.get(name, described.ID)}
        for name in identifiers
    ]
    operation: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": route.summary,
        "tags": list(route.tags),
        "parameters": parameters + [_parameter(parameter) for parameter in route.parameters],
        "responses": _responses(route, schemas),
        "security": [{route.access: []}] if route.access else [],
    }
    if route.body is not None:
        kinds = ("application/x-www-form-urlencoded", "application/json") if route.form else ("application/json",)
        content = {kind: {"schema": schemas[repr(route.body)]} for kind in kinds}
        operation["requestBody"] = {"required": route.body_required, "content": content}
    return operation


def _operation_id(route: Described) -> str:
    parts = [part.strip("{}").removesuffix("_id") for part in re.split(r"[/.]", route.path) if part]
    return "_".join([route.method.lower(), *parts]) if parts else route.method.lower() + "_root"


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": False,
        "schema": parameter.schema,
        "description": parameter.description,
    }


def _responses(route: Described, schemas: dict[str, Any]) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, kind in route.answers.items():
        responses[str(status)] = {"description": REASONS[status]}
        if route.told:
            responses[str(status)]["headers"] = {
                header.name: {"schema": header.schema, "description": header.description} for header in route.told
            }
        if isinstance(kind, str):
            responses[str(status)]["content"] = {kind: {"schema": EVENT if kind == EVENTS else {"type": "string"}}}
        elif kind is not None:
            responses[str(status)]["content"] = {"application/json": {"schema": schemas[repr(kind)]}}
    always = (401, 403) if route.access in ("operator", "metrics", "client") else (401,) if route.access else ()
    malformed = (400,) if "{" in route.path else ()  # a part of the path may be no percent-encoded UTF-8
    for status in sorted({*route.refusals, *always, *malformed, 405, 500, 503}):
        content = {"application/json": {"schema": schemas[repr(Envelope)]}}
        responses[str(status)] = {"description": REASONS[status], "content": content}
        if status == 401:
            responses["401"]["headers"] = {"WWW-Authenticate": {"schema": {"type": "string"}}}
    return responses
