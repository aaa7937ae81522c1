"""Bring the database file to the schema that this version speaks."""

from __future__ import annotations

import apsw

from hiringhall.storage.statements import load_migrations


class SchemaTooNew(Exception):
    """The data was written by a newer version of the hall, which this one must not touch."""


def migrate(connection: apsw.Connection) -> None:
    """Apply the migrations that are missing, each in a transaction of its own.

    Raises:
        SchemaTooNew: the file is at a higher number than the newest migration.
    """
    migrations = load_migrations("sqlite")
    newest = migrations[-1][0]
    present = int(connection.pragma("user_version"))
    if present > newest:
        raise SchemaTooNew(
            f"the data has schema {present}, but this version of the hall knows only schemas up to {newest}: "
            "start the version that wrote it, or a newer one"
        )
    for number, text in migrations:
        if number > present:
            with connection:
                connection.execute(text)
                connection.pragma("user_version", number)
