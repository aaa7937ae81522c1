"""Who may do what among operators' routes: open ones, those of the operator, and the metrics."""

from __future__ import annotations

from enum import Enum

from starlette.requests import Request

from hiringhall.operations.hall import Hall
from hiringhall.ports.questions import FindWorkers
from hiringhall.wire.operators.answers import Stop

CHALLENGE = {"www-authenticate": 'Bearer realm="hall"'}


class Access(Enum):
    """Whose token opens a route."""

    OPEN = "nobody's"
    OPERATOR = "the operator's"
    METRICS = "the operator's or the metrics token"


async def admit(hall: Hall, request: Request, access: Access) -> None:
    """Let the request pass, or end it: 401 for a token that opens nothing, 403 for one that opens something else."""
    if access is Access.OPEN:
        return
    header = next((value for name, value in request.scope["headers"] if name == b"authorization"), None)
    bearer = hall.tokens.bearer(header)
    if bearer.is_operator or (access is Access.METRICS and bearer.is_metrics):
        return
    if bearer.complaint:
        raise Stop("missing_or_invalid_bearer", bearer.complaint, headers=CHALLENGE)
    assert header is not None
    known = hall.identities.knows(header) or bearer.is_bootstrap or bearer.is_worker or bearer.is_metrics
    if known or await hall.store.read(FindWorkers(token_hashes=(bearer.hash,))):
        raise Stop("forbidden", f"this token is known, but this route needs {access.value}")
    raise Stop("missing_or_invalid_bearer", "the token is not known", headers=CHALLENGE)
