"""How log lines look: one line each on stderr, as text for people or as JSON for collectors."""

from __future__ import annotations

import logging
from typing import Any, Final

import structlog

FORMATS: Final = ("text", "json")
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


def configure(log_format: str) -> None:
    """Send warnings and worse of all loggers to stderr in one of `FORMATS`."""
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
    finish: list[Any] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if log_format == "json":
        finish += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        finish += [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[stamp, structlog.stdlib.add_log_level, structlog.stdlib.add_logger_name, _extras],
        processors=finish,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)


def _extras(_logger: Any, _name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Members given as `extra` become members of the line."""
    record = event.get("_record")
    if record is not None:
        event.update({name: value for name, value in vars(record).items() if name not in _STANDARD})
    return event
