"""The exceptions that users of this package see."""

from __future__ import annotations


class HallError(Exception):
    """The hall refused this worker for good; the supervisor should restart it with a mended configuration."""


class Unauthorized(HallError):
    """A token is missing, wrong, revoked, or not allowed to act for this worker ("401 / 403: crash")."""


class Refused(HallError):
    """The server answered in a way that no repetition mends: a wrong address, or a request it does not know."""


class Release(Exception):
    """Raised by a handler to give its task back, so that any worker may take it again; the text is the reason."""
