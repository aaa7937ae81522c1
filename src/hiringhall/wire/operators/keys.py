"""The operators' route about the key that signs access tokens."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from hiringhall.operations.hall import Hall
from hiringhall.wire.operators.answers import json_answer
from hiringhall.wire.operators.owners_structs import KeyAnswer
from hiringhall.wire.operators.parameters import Query


async def rotate(hall: Hall, request: Request) -> Response:
    """Sign with a new key from now on. What the one before has signed stays good for its time."""
    Query(request, ())
    signing = hall.identities.signing
    return json_answer(KeyAnswer(await signing.rotate(), signing.lifetime_seconds))
