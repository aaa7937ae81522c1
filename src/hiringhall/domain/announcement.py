"""How rings are told to the other replicas: a short text with its origin, the topics and how often each was rung."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from hiringhall.domain.topics import EVERYTHING, topic_of

CHANNEL: Final = "hall_rings"
BYTES_MAX: Final = 7_900


def announce(origin: str, rings: Mapping[str, int]) -> str:
    """The text that tells of these rings; if they are too many for one text, it says that everything was rung."""
    whole = json.dumps({"origin": origin, "rings": rings}, separators=(",", ":"))
    if len(whole.encode()) <= BYTES_MAX:
        return whole
    return json.dumps({"origin": origin, "rings": {EVERYTHING: 1}}, separators=(",", ":"))


def rings_of_lanes(lanes: Mapping[str, int]) -> dict[str, int]:
    """Rings by topic, from lane keys and how many units became ready in each."""
    return {topic_of(key): int(count) for key, count in lanes.items()}


def heard(text: str, own_origin: str) -> dict[str, int]:
    """The rings that a text tells of, none if it is one's own. A text that nobody understands rings everything.

    A text names topics (`rings`) or, where a topic cannot be computed, lane keys (`lanes`).
    """
    try:
        told = json.loads(text)
        if told["origin"] == own_origin:
            return {}
        return {str(topic): int(n) for topic, n in told.get("rings", {}).items()} | rings_of_lanes(
            told.get("lanes", {})
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return {EVERYTHING: 1}
