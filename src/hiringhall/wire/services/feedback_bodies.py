"""Items of feedback as they come, each with the document's short keys."""

from __future__ import annotations

from math import inf
from typing import Any, Final

import msgspec

from hiringhall.domain.refusals import Refused
from hiringhall.ports.calls import Feedback
from hiringhall.wire.json_bodies import decode, invalid
from hiringhall.wire.services.bodies import complaint_about_text

CONTENT_BYTES_MAX: Final = 64 * 1024
TYPE_CHARACTERS_MAX: Final = 64
TYPE_MAX: Final = 2**53 - 1
SOURCE_CHARACTERS_MAX: Final = 256
METHOD_REQUEST, BACKGROUND_PROCESS = 1, 2
"""Source types."""
NULL: Final = b"null"

_items = msgspec.json.Decoder(list[dict[str, msgspec.Raw]] | dict[str, msgspec.Raw]).decode
_value = msgspec.json.Decoder(float_hook=float).decode


def items_of(body: bytes) -> list[Feedback] | Refused:
    """The items of the body, one object or an array. One that is bad spoils all: nothing of a body is kept then.

    An item that is about no request, as those of background processes may be, is left out.
    """
    found = decode(_items, body)
    if isinstance(found, Refused):
        return found
    several = isinstance(found, list)
    items = []
    for place, members in enumerate(found if isinstance(found, list) else [found]):
        item = _item(members, f"[{place}]." if several else "")
        if isinstance(item, Refused):
            return item
        if item is not None:
            items.append(item)
    return items


def _item(members: dict[str, msgspec.Raw], where: str) -> Feedback | Refused | None:
    content = bytes(members.get("fc", NULL))
    if len(content) > CONTENT_BYTES_MAX:
        return invalid(where + "fc", f"must have at most {CONTENT_BYTES_MAX} bytes as JSON")
    if "ft" not in members:
        return invalid(where + "ft", "is missing")
    kind = bytes(members["ft"])
    said: dict[str, Any] = {name: _read(members[name]) for name in ("rid", "st", "sn", "pr") if name in members}
    complaint = _complaint(said, _read(members["ft"]))
    if complaint is not None:
        return invalid(where + complaint[0], complaint[1])
    source = said.get("st")
    if not said.get("rid"):
        if source == BACKGROUND_PROCESS:
            return None
        return invalid(where + "rid", "is missing" if said.get("rid") is None else "must not be empty")
    return Feedback(
        rid=said["rid"],
        st=METHOD_REQUEST if source is None else int(source),
        sn=said.get("sn") or "",
        ft=kind,
        pr=bool(said.get("pr")),
        fc=content,
    )


def _read(raw: msgspec.Raw) -> Any:
    try:
        return _value(raw)
    except msgspec.ValidationError:  # a number of so many digits that no member can mean it
        return inf


def _complaint(said: dict[str, Any], kind: Any) -> tuple[str, str] | None:
    """The member that cannot be as it is, and why."""
    request_id, source, name, persists = (said.get(member) for member in ("rid", "st", "sn", "pr"))
    if isinstance(kind, bool) or not isinstance(kind, int | str):
        return ("ft", f"must be a whole number or a text of at most {TYPE_CHARACTERS_MAX} characters")
    if isinstance(kind, str) and len(kind) > TYPE_CHARACTERS_MAX:
        return ("ft", f"must have at most {TYPE_CHARACTERS_MAX} characters")
    if isinstance(kind, int) and abs(kind) > TYPE_MAX:
        return ("ft", f"must be from -{TYPE_MAX} to {TYPE_MAX}")
    if request_id is not None:
        if not isinstance(request_id, str):
            return ("rid", "must be a text")
        if request_id and (why := complaint_about_text(request_id)) is not None:
            return ("rid", why)
    if source is not None and (isinstance(source, bool) or source not in (METHOD_REQUEST, BACKGROUND_PROCESS)):
        return ("st", "must be 1 (method request) or 2 (background process)")
    if name is not None and not isinstance(name, str):
        return ("sn", "must be a text")
    if name is not None and len(name) > SOURCE_CHARACTERS_MAX:
        return ("sn", f"must have at most {SOURCE_CHARACTERS_MAX} characters")
    if persists is not None and not isinstance(persists, bool):
        return ("pr", "must be true or false")
    return None
