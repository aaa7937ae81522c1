"""Descriptions of the operators' routes about services, clients and the key that signs their tokens."""

from __future__ import annotations

from typing import Any, Final

from hiringhall.domain.names import IDENTIFIER_CHARACTERS_MAX
from hiringhall.wire.described import Described, Parameter
from hiringhall.wire.operators import owners_structs as structs
from hiringhall.wire.operators.structs import IDENTIFIER_PATTERN

SWITCH: Final[dict[str, Any]] = {"type": "string", "enum": ["true", "false", "1", "0"]}


def _name(pattern: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": IDENTIFIER_CHARACTERS_MAX, "pattern": pattern}


IN_PATHS: Final[dict[str, dict[str, Any]]] = {
    "service_id": _name(structs.SERVICE_PATTERN),
    "client_id": _name(structs.CLIENT_PATTERN),
}
"""Names in paths by stricter rules than those of identifiers."""
RETIRE: Final = Parameter("retire", SWITCH, "End the secret before the present one now, instead of after 24 hours")
MAKE_SECRET: Final = Parameter(
    "make_secret", SWITCH, "Make a secret also for one that is there, unless the body has one; it is told once"
)
FORCE: Final = Parameter("force", SWITCH, "Although calls are open: they are cancelled")
LIMIT: Final = Parameter("limit", {"type": "integer", "minimum": 1, "maximum": 1_000}, "How many entries at most")
AFTER: Final = Parameter("after", _name(IDENTIFIER_PATTERN), "The last entry of the page before, as `next` named it")
SERVICE: Final = "/admin/services/{service_id}"
CLIENT: Final = "/admin/clients/{client_id}"


def _put(path: str, kind: str, body: Any, answer: Any) -> Described:
    return Described(
        "PUT", path, f"Make a {kind}, or change it: absent members keep their value", {200: answer, 201: answer},
        parameters=(RETIRE, MAKE_SECRET), body=body, body_required=False, refusals=(400, 413, 415, 422),
    )  # fmt: skip


def _list(path: str, summary: str, answer: Any) -> Described:
    return Described("GET", path, summary, {200: answer}, parameters=(LIMIT, AFTER), refusals=(422,))


DESCRIBED: Final[tuple[Described, ...]] = (
    _list("/admin/services", "List services", structs.ServicesAnswer),
    _put(SERVICE, "service", structs.ServiceBody, structs.ServiceAnswer),
    Described(
        "GET", SERVICE, "Show a service; of its settings the names", {200: structs.ServiceAnswer}, refusals=(404, 422)
    ),
    Described(
        "DELETE", SERVICE, "Remove a service: its workers are out at once", {200: structs.ServiceDeleted},
        parameters=(FORCE,), refusals=(404, 409, 422),
    ),
    Described(
        "POST", SERVICE + "/pause", "Hand out no more of its calls", {200: structs.ServiceAnswer}, refusals=(404, 422)
    ),
    Described(
        "POST", SERVICE + "/resume", "Hand out its calls again", {200: structs.ServiceAnswer}, refusals=(404, 422)
    ),
    _list("/admin/clients", "List clients", structs.ClientsAnswer),
    _put(CLIENT, "client", structs.ClientBody, structs.ClientAnswer),
    Described("GET", CLIENT, "Show a client", {200: structs.ClientAnswer}, refusals=(404, 422)),
    Described(
        "DELETE", CLIENT, "Remove a client: it is out at once", {200: structs.ClientDeleted}, refusals=(404, 422)
    ),
    Described(
        "POST", "/admin/keys/rotate", "Sign access tokens with a new key", {200: structs.KeyAnswer}, refusals=(422,)
    ),
)  # fmt: skip
