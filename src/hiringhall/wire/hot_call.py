"""One request of a hot route from its arrival to its one answer."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final, TypeVar
from urllib.parse import unquote_to_bytes

import msgspec

from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.ports.store import StoreUnavailable
from hiringhall.wire.envelope import RETRY_AFTER, excuse, refusal
from hiringhall.wire.exchange import Exchange, Reply
from hiringhall.wire.json_bodies import complaint_about_id, decode

Body = TypeVar("Body")
FixedHeaders = tuple[tuple[bytes, bytes], ...]
NO_HEADERS: Final[FixedHeaders] = ()


class HotCall:
    """A request. Subclasses say what it is about."""

    __slots__ = ("exchange", "hall")

    def __init__(self, hall: Hall, exchange: Exchange) -> None:
        self.hall = hall
        self.exchange = exchange

    def start(self) -> None:
        """Begin to answer."""
        raise NotImplementedError

    def is_there(self) -> bool:
        """Whether an answer could still arrive."""
        return not self.exchange.gone

    def told(self) -> FixedHeaders:
        """The headers that come with every answer to this caller."""
        return NO_HEADERS

    def answer(self, body: bytes, status: int = 200, headers: FixedHeaders = NO_HEADERS) -> None:
        """Answer with a JSON body."""
        self.exchange.answer(Reply(status, body, headers + self.told()))

    def refuse(self, refused: Refused, headers: FixedHeaders = NO_HEADERS) -> None:
        """Answer with the envelope."""
        self.exchange.answer(self.envelope(refused, headers + self.told()))

    def envelope(self, refused: Refused, headers: FixedHeaders) -> Reply:
        """A refusal as it is sent."""
        return refusal(refused.code, refused.detail, task_id=refused.task_id, headers=headers, **refused.extra)

    def failed(self, failure: Exception) -> None:
        """Answer that it could not be done: the database is away, or there is a bug."""
        if isinstance(failure, StoreUnavailable):
            self.refuse(Refused("unavailable", excuse(failure)), RETRY_AFTER)
            return
        correlation_id = secrets.token_hex(8)
        self.hall.loop.call_exception_handler(
            {"message": f"a request failed; correlation id {correlation_id}", "exception": failure}
        )
        detail = "something is wrong with the server; its log tells more under the correlation id"
        self.refuse(Refused("internal_error", detail, extra={"correlation_id": correlation_id}))


def headers_of(exchange: Exchange) -> dict[bytes, bytes]:
    """The headers of a request by name; of equal names the first counts."""
    return dict(exchange.request.headers[::-1])


def refused_parts(headers: dict[bytes, bytes]) -> Refused | None:
    """The content type does not matter, unless it says that the body is in parts."""
    kind = headers.get(b"content-type")
    if kind is not None and kind[:10].lower() == b"multipart/":
        return Refused("unsupported_media_type", "the body must be JSON, not multipart")
    return None


def decoded(decoder: Callable[[bytes], Body], headers: dict[bytes, bytes], body: bytes) -> Body | Refused:
    """A JSON body as the decoder has it, or why not."""
    complaint = refused_parts(headers)
    return decode(decoder, body) if complaint is None else complaint


def part(raw: bytes, field: str) -> str | Refused:
    """One part of a raw path, decoded once."""
    try:
        text = (unquote_to_bytes(raw) if b"%" in raw else raw).decode("utf-8")
    except UnicodeDecodeError:
        return Refused("malformed_request", f"{field} in the path is not percent-encoded UTF-8")
    return complaint_about_id(field, text) or text


def json_of(value: object) -> bytes:
    """A value as JSON."""
    return msgspec.json.encode(value)
