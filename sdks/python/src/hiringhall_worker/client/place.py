"""Where the hall is, and what opens it: as told, from the environment, or as a hall on this machine wrote it down."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from ..given import DEFAULT_SERVER, checked_token
from ..login import Login

SERVER_FILE = "server.json"


class Place(NamedTuple):
    """The address, and either a login or a token. The token stays out of every log, since this is never logged."""

    server: str
    login: Login | None
    token: str


def find(server: str | None, client_id: str | None, secret: str | None, token: str | None) -> Place:
    """Settings as given, else from the environment, else as the hall's data folder has them.

    What a hall wrote down opens that hall alone: its token is never sent to another address. ValueError says what is
    missing.
    """
    name = client_id if client_id is not None else os.environ.get("HALL_CLIENT_ID", "").strip()
    told = (server or os.environ.get("HALL_SERVER") or "").rstrip("/")
    if token is None and name:
        key = secret if secret is not None else os.environ.get("HALL_CLIENT_SECRET", "").strip()
        if not key:
            raise ValueError("secret: give secret= or HALL_CLIENT_SECRET, which belongs to the client_id")
        advice = "check the client's id and its secret (client_id= and secret=)"
        address = told or _written().get("url") or DEFAULT_SERVER
        return Place(address, Login("/client/auth_token", {"client_id": name, "client_secret": key}, advice), "")
    if secret is not None:
        raise ValueError("client_id: the secret belongs to one; give client_id= or HALL_CLIENT_ID")
    found = checked_token("token", token, "HALL_ADMIN_TOKEN")
    if found is not None and told:
        return Place(told, None, found)
    written = _written()
    if not told or told == written.get("url"):
        found = found or written.get("admin_token")
    if found is None:
        raise ValueError(
            "nothing to log in with: give client_id= and secret= (or HALL_CLIENT_ID and HALL_CLIENT_SECRET), "
            "or the operator's token= (or HALL_ADMIN_TOKEN)"
        )
    return Place(told or written.get("url") or DEFAULT_SERVER, None, found)


def _written() -> dict[str, str]:
    """What a hall on this machine wrote into its data folder; empty if there is none that can be read."""
    home = os.environ.get("XDG_DATA_HOME") or str(Path("~/.local/share").expanduser())
    folder = Path(os.environ.get("HALL_DATA") or Path(home) / "hiringhall")
    try:
        found = json.loads((folder / SERVER_FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}
