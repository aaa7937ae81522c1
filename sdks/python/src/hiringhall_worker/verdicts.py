"""The retry policy as one table: what a status means for the request that it answers."""

from __future__ import annotations

import enum


class Verb(enum.Enum):
    """The requests of a plan worker."""

    REGISTER = "register"
    HEARTBEAT = "heartbeat"
    CLAIM = "claim"
    COMPLETE = "complete"
    FAIL = "fail"
    RELEASE = "release"


class Verdict(enum.Enum):
    """What to do after an answer."""

    ACCEPTED = "accepted"
    EMPTY = "nothing to do right now"
    AGAIN = "repeat after a back-off"
    SKIP = "log it and go on"
    SHORTEN = "repeat with a shorter reason"
    UNAUTHORIZED = "crash: the token is not accepted"
    REFUSED = "crash: no repetition mends this"


ANY_VERB = {
    401: Verdict.UNAUTHORIZED,
    403: Verdict.UNAUTHORIZED,
    408: Verdict.AGAIN,
    425: Verdict.AGAIN,
    429: Verdict.AGAIN,
}
ONE_VERB = {
    (Verb.CLAIM, 204): Verdict.EMPTY,
    (Verb.FAIL, 413): Verdict.SHORTEN,
}
# What remains of 3xx and 4xx. Without a registration or a claim a worker is of no use; a heartbeat keeps ticking.
OTHERWISE = {
    Verb.REGISTER: Verdict.REFUSED,
    Verb.HEARTBEAT: Verdict.AGAIN,
    Verb.CLAIM: Verdict.REFUSED,
    Verb.COMPLETE: Verdict.SKIP,
    Verb.FAIL: Verdict.SKIP,
    Verb.RELEASE: Verdict.SKIP,
}


def verdict(verb: Verb, status: int) -> Verdict:
    """Look up what a status means for a verb."""
    if (verb, status) in ONE_VERB:
        return ONE_VERB[(verb, status)]
    if status in ANY_VERB:
        return ANY_VERB[status]
    if 200 <= status < 300:
        return Verdict.ACCEPTED
    return Verdict.AGAIN if status >= 500 or status < 200 else OTHERWISE[verb]
