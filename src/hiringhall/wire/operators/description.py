"""The description of every route, for tools that read OpenAPI."""

from __future__ import annotations

from functools import lru_cache

from starlette.requests import Request
from starlette.responses import Response

from hiringhall.operations.hall import Hall
from hiringhall.wire.openapi import document
from hiringhall.wire.operators.answers import encode


async def openapi(_hall: Hall, _request: Request) -> Response:
    """The OpenAPI document."""
    return Response(_document(), 200, {"cache-control": "no-cache"}, "application/json")


@lru_cache(maxsize=1)
def _document() -> bytes:
    return encode(document())
