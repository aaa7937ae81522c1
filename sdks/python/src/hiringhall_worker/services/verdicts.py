"""The retry policy of a service worker as one table: what a status means for the request that it answers."""

from __future__ import annotations

import enum

from ..envelope import NOT_REGISTERED, SUPERSEDED


class Verb(enum.Enum):
    """The requests of a service worker."""

    REGISTER = "register"
    DRAIN = "drain"
    LOCK = "lock"
    RESPOND = "response"
    FEEDBACK = "feedback"
    HEARTBEAT = "heartbeat"
    GOODBYE = "goodbye"


class Verdict(enum.Enum):
    """What to do after an answer."""

    ACCEPTED = "accepted"
    AGAIN = "repeat after a back-off"
    RENEW = "have a new token, then repeat"
    SKIP = "log it and go on"
    UNREGISTERED = "register, then go on"
    REPLACE = "the hall cannot take this answer: send an error in its place"
    SUPERSEDED = "crash: another process has this worker's id"
    UNAUTHORIZED = "crash: not allowed"
    REFUSED = "crash: no repetition mends this"


ANY_VERB = {
    401: Verdict.RENEW,
    408: Verdict.AGAIN,
    425: Verdict.AGAIN,
    429: Verdict.AGAIN,
}
ONE_VERB = {
    (Verb.REGISTER, 403): Verdict.UNAUTHORIZED,
    (Verb.DRAIN, 403): Verdict.UNAUTHORIZED,
    (Verb.HEARTBEAT, 403): Verdict.UNAUTHORIZED,
    (Verb.RESPOND, 400): Verdict.REPLACE,
    (Verb.RESPOND, 413): Verdict.REPLACE,
    (Verb.RESPOND, 422): Verdict.REPLACE,
    (Verb.DRAIN, 409): Verdict.AGAIN,
}
# What remains of 3xx and 4xx. Without a registration or a drain a worker is of no use; a heartbeat keeps ticking.
OTHERWISE = {
    Verb.REGISTER: Verdict.REFUSED,
    Verb.DRAIN: Verdict.REFUSED,
    Verb.LOCK: Verdict.SKIP,
    Verb.RESPOND: Verdict.SKIP,
    Verb.FEEDBACK: Verdict.SKIP,
    Verb.HEARTBEAT: Verdict.AGAIN,
    Verb.GOODBYE: Verdict.SKIP,
}


def verdict(verb: Verb, status: int, code: str = "") -> Verdict:
    """Look up what a status, with the hall's error code, means for a verb."""
    if status == 409 and code == SUPERSEDED:
        return Verdict.SUPERSEDED
    if verb is Verb.DRAIN and code == NOT_REGISTERED:
        return Verdict.UNREGISTERED
    if (verb, status) in ONE_VERB:
        return ONE_VERB[(verb, status)]
    if status in ANY_VERB:
        return ANY_VERB[status]
    if 200 <= status < 300:
        return Verdict.ACCEPTED
    return Verdict.AGAIN if status >= 500 or status < 200 else OTHERWISE[verb]
