"""Request bodies of service workers: decoded, or refused with what is wrong and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from hiringhall.domain.call import Answer, Capabilities
from hiringhall.domain.names import complaint_about
from hiringhall.domain.refusals import Refused
from hiringhall.wire.json_bodies import invalid

METHODS_MAX: Final = 1_000
ABILITIES_MAX: Final = 64
"""How many executors, and how many tags, a worker may name."""
RUN_MODES: Final = ("lazy", "connected", "eager")
PORT_MAX: Final = 65_535
NULL: Final = msgspec.Raw(b"null")


class RegistrationBody(msgspec.Struct):
    """`POST /worker/registration`"""

    worker_id: str | None = None
    service_id: str | None = None
    run_mode: str | None = None
    methods: list[str] | None = None
    ip: str | None = None
    port: int | None = None
    version: str | None = None
    tags: dict[str, str | int | float | bool | None] | None = None
    supported_executors: list[str] | None = None
    platform: str | None = None
    interactive_desktop: bool | None = None
    browser_runtime: bool | None = None
    trace: bool | None = None


class ResponseBody(msgspec.Struct):
    """`POST /worker/response`"""

    request_id: str
    status: str
    error_text: str | None = None
    result: msgspec.Raw = NULL


class GoodbyeBody(msgspec.Struct):
    """`PUT /worker/notify_worker_shutdown/{worker_id}`, if it has a body"""

    unstarted: list[str] | None = None


registration_decoder: Final = msgspec.json.Decoder(RegistrationBody).decode
response_decoder: Final = msgspec.json.Decoder(ResponseBody).decode
goodbye_decoder: Final = msgspec.json.Decoder(GoodbyeBody | None).decode


def run_mode_of(body: RegistrationBody) -> str | Refused:
    """The run mode in lower case; eager if none is named."""
    mode = "eager" if body.run_mode is None else body.run_mode.lower()
    return mode if mode in RUN_MODES else invalid("run_mode", "must be Lazy, Connected or Eager")


def port_of(body: RegistrationBody) -> int | Refused | None:
    """The port at which a lazy worker waits; None if it names none."""
    port = body.port or 0
    return (port or None) if 0 <= port <= PORT_MAX else invalid("port", f"must be from 0 to {PORT_MAX}")


def capabilities_of(body: RegistrationBody) -> Capabilities | Refused:
    """What the worker says that it can do."""
    methods, executors, tags = body.methods or (), body.supported_executors or (), body.tags or {}
    texts = {name: _text_of(value) for name, value in tags.items() if value is not None}
    complaint = (
        _complaint_about_all("methods", methods, METHODS_MAX, complaint_about)
        or _complaint_about_all("supported_executors", executors, ABILITIES_MAX, complaint_about_text)
        or _complaint_about_all("tags", tags, ABILITIES_MAX, complaint_about_text)
        or _complaint_about_all("tags", texts.values(), ABILITIES_MAX, complaint_about_text)
        or _complaint_about_all("platform", (body.platform or "",), 1, complaint_about_text)
    )
    if complaint is not None:
        return complaint
    return Capabilities(
        methods=tuple(sorted(set(methods))),
        platform=body.platform or None,
        executors=tuple(sorted(set(executors))),
        interactive_desktop=bool(body.interactive_desktop),
        browser_runtime=bool(body.browser_runtime),
        tags=tuple(sorted(texts.items())),
    )


def complaint_about_text(text: str | None) -> str | None:
    """Why a short text cannot be as it is; None if it can, or is not there."""
    return None if not text or text in (".", "..") else complaint_about(text)


def _complaint_about_all(
    field: str, names: Iterable[str], most: int, complain: Callable[[str], str | None]
) -> Refused | None:
    for place, name in enumerate(names):
        if place >= most:
            return invalid(field, f"may hold at most {most}")
        complaint = complain(name)
        if complaint is not None:
            return invalid(field, complaint)
    return None


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def answer_of(body: ResponseBody) -> Answer | Refused:
    """How the method ended."""
    if body.status in (Answer.SUCCESS, Answer.FAILED, Answer.ERROR):
        return Answer(body.status)
    return invalid("status", "must be success, failed or error")
