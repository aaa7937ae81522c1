"""Settings as they are given, checked: what is wrong is a ValueError that names the setting."""

from __future__ import annotations

import math
import os

from .wire import sendable

DEFAULT_SERVER = "http://127.0.0.1:8400"
LONGEST_HOLD_SECONDS = 55.0


def checked_width(setting: str, value: int, most: float = math.inf) -> int:
    """How many at once."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        bound = "" if most == math.inf else f" and at most {most:g}"
        raise ValueError(f"{setting}: a whole number of at least 1{bound}")
    return value


def checked_token(setting: str, given: str | None, variable: str) -> str | None:
    """A token as given, else from the environment, where a server in rotation may have two, comma-separated."""
    text = given if given is not None else os.environ.get(variable, "").split(",")[0]
    text = text.strip()
    if not text and given is None:
        return None
    if not sendable(text):
        raise ValueError(f"{setting}: a token is visible ASCII characters without spaces, and not empty")
    return text


def checked_seconds(setting: str, value: float, most: float = math.inf, least: float | None = None) -> float:
    fine = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not fine or value > most or (value <= 0 if least is None else value < least):
        bound = "more than 0" if least is None else f"at least {least:g}"
        raise ValueError(f"{setting}: seconds, {bound}" + ("" if most == math.inf else f" and at most {most:g}"))
    return float(value)
