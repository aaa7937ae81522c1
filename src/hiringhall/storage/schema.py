"""What both databases say when their data is not of the schema that this version speaks."""

from __future__ import annotations


class SchemaTooNew(Exception):
    """The data was written by a newer version of the hall, which this one must not touch."""


def check_not_newer(present: int, newest: int) -> None:
    """Refuse data that is at a higher number than the newest migration.

    Raises:
        SchemaTooNew: it is.
    """
    if present > newest:
        raise SchemaTooNew(
            f"the data has schema {present}, but this version of the hall knows only schemas up to {newest}: "
            "start the version that wrote it, or a newer one"
        )
