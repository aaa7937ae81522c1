"""Log lines."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from hiringhall.observe.logs import configure


@pytest.fixture(autouse=True)
def _root_logger_as_before() -> Iterator[None]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = before, level


def test_json_lines_carry_extras_and_tracebacks(capsys: pytest.CaptureFixture[str]) -> None:
    """In JSON, each line is one object with the level, the logger, the extras and the traceback as text."""
    configure("json")
    try:
        raise RuntimeError("boom\nboom")
    except RuntimeError:
        logging.getLogger("hiringhall.test").exception("it failed", extra={"sweep": "silent"})
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert told["event"] == "it failed"
    assert told["level"] == "error"
    assert told["logger"] == "hiringhall.test"
    assert told["sweep"] == "silent"
    assert "RuntimeError: boom" in told["exception"]


def test_text_lines_are_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """As text, a warning is one line with its message, and what is less than a warning is not written."""
    configure("text")
    logging.getLogger("hiringhall.test").info("chatter")
    logging.getLogger("hiringhall.test").warning("careful")
    (line,) = capsys.readouterr().err.splitlines()
    assert "careful" in line
