"""What somebody brings who logs in: a form, or a JSON object with the same members."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from hiringhall.domain.refusals import Refused
from hiringhall.wire.json_bodies import decode

FIELDS_MAX: Final = 50
decode_object: Final = msgspec.json.Decoder(dict[str, Any]).decode


def members_of(headers: dict[bytes, bytes], body: bytes) -> dict[str, str] | Refused:
    """The members, all of them texts; those that are null or empty are missing."""
    kind = headers.get(b"content-type", b"").lower()
    if kind.startswith(b"multipart/"):
        return Refused("unsupported_media_type", "the body must be a form or JSON, not multipart")
    if body.lstrip()[:1] == b"{":
        return _of_json(body)
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
    except (UnicodeDecodeError, ValueError):
        return Refused("invalid_request", "the body is not a form, percent-encoded UTF-8, nor a JSON object")
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        return Refused("invalid_request", "a field is given more than once")
    return {name: value for name, value in pairs if value}


def _of_json(body: bytes) -> dict[str, str] | Refused:
    found = decode(decode_object, body)
    if isinstance(found, Refused):
        return found
    for name in found:
        if name in KNOWN and not isinstance(found[name], str | None):
            return Refused("validation_error", f"{name}: must be a text")
    return {name: value for name, value in found.items() if isinstance(value, str) and value}


KNOWN: Final = frozenset(
    {"grant_type", "service_id", "auth_secret", "worker_id", "client_id", "client_secret", "refresh_token"}
)
