"""What a wake-up is about: a short name that every replica computes alike, for lanes and for workers.

A plan and a worker may have the same name, and so the same key, but never the same topic.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Final

EVERYTHING: Final = "*"
"""The topic that stands for all topics: some ring could not be told in full, or a ring may have been lost."""


def plan_lane(plan: str) -> str:
    """The key of the lane from which the tasks of a plan are taken."""
    return f"plan:{plan}"


def plan_of_lane(key: str) -> str:
    """The plan whose tasks are taken from a lane, by its key; empty if it is no lane of a plan."""
    return key[5:] if key.startswith("plan:") else ""


@lru_cache(maxsize=4_096)
def topic_of(key: str) -> str:
    """The topic of a lane, by its key: 16 hexadecimal digits."""
    return _short_name(key)


def topic_of_worker(key: str) -> str:
    """The topic of a worker, by its key."""
    return _short_name(f"worker {key}")


def topic_of_plan(plan: str) -> str:
    """The topic of the lane of a plan, whether or not the plan exists yet."""
    return topic_of(plan_lane(plan))


def topic_of_request(request_id: str) -> str:
    """The topic of a call: rung when it ends, and when there is feedback."""
    return _short_name(f"request {request_id}")


def topic_of_service(service: str) -> str:
    """The topic of a service: rung when its lanes, workers or settings change."""
    return _short_name(f"service {service}")


def topic_of_client(client: str) -> str:
    """The topic of a client: rung when what it may do changes."""
    return _short_name(f"client {client}")


def topic_of_access(role: str, owner: str) -> str:
    """The topic of the secrets of a service or client: rung when one is added or ends, and with it logins."""
    return _short_name(f"access {role} {owner}")


def _short_name(name: str) -> str:
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


SIGNING_KEYS: Final = _short_name("signing keys")
"""The topic of the keys that sign tokens."""
