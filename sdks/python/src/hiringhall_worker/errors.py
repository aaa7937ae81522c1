"""The exceptions that users of this package see."""

from __future__ import annotations


class HallError(Exception):
    """The hall refused for good, or cannot be reached; a supervisor should restart with a mended configuration."""


class Unauthorized(HallError):
    """A token or secret is missing, wrong, revoked, or not allowed to act so ("401 / 403: crash")."""


class Refused(HallError):
    """The server answered in a way that no repetition mends: a wrong address, or a request it does not accept.

    `status` and `code` are the HTTP status and the hall's `error_code`, where there was an answer of the hall.
    """

    def __init__(self, text: str, status: int | None = None, code: str | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.code = code


class Superseded(HallError):
    """Another process registered under this worker's id, which took over all that this one held."""


class Unreachable(HallError):
    """The hall did not answer for longer than the client was willing to try."""


class Release(Exception):
    """Raised by a handler to give its task back, so that any worker may take it again; the text is the reason."""


class Fail(Exception):
    """Raised by a method to refuse: the call ends as `failed`, and the client sees this text."""
