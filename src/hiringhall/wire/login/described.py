"""Descriptions of the routes at which one logs in."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from hiringhall.domain.owners import SECRET_CHARACTERS_MAX
from hiringhall.wire.described import Described
from hiringhall.wire.operators.structs import Identifier

Secret = Annotated[str, Meta(min_length=1, max_length=SECRET_CHARACTERS_MAX)]


class WorkerGrant(Struct, tag_field="grant_type", tag="client_credentials"):
    """A worker logs in with the secret of its service."""

    service_id: Identifier
    auth_secret: Secret
    worker_id: Identifier


class ClientGrant(Struct, tag_field="grant_type", tag="client_credentials"):
    """A client logs in with its secret."""

    client_id: Identifier
    client_secret: Secret


class RefreshGrant(Struct, tag_field="grant_type", tag="refresh_token"):
    """The refresh token that came with the present tokens; each can be used once."""

    refresh_token: Annotated[str, Meta(min_length=1)]


class Granted(Struct):
    """A pair of tokens. `expires_in`: how many seconds the access token is valid."""

    access_token: str
    token_type: Literal["Bearer"]
    expires_in: float
    refresh_token: str


def _login(path: str, who: str, body: object) -> Described:
    return Described(
        "POST", path, f"Get tokens for a {who}: a form, or JSON with the same members", {200: Granted}, None,
        body=body, form=True, refusals=(400, 401, 413, 415, 422, 429), tags=("logging in",),
    )  # fmt: skip


DESCRIBED: Final[tuple[Described, ...]] = (
    _login("/worker/auth_token", "service worker", WorkerGrant | RefreshGrant),
    _login("/client/auth_token", "client", ClientGrant | RefreshGrant),
)
