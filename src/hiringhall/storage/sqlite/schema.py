"""Bring the database file to the schema that this version speaks."""

from __future__ import annotations

import apsw

from hiringhall.storage.schema import SchemaTooNew, check_not_newer
from hiringhall.storage.statements import load_migrations


def migrate(connection: apsw.Connection) -> None:
    """Apply the migrations that are missing, each in a transaction of its own.

    Raises:
        SchemaTooNew: the file is at a higher number than the newest migration.
    """
    migrations = load_migrations("sqlite")
    present = int(connection.pragma("user_version"))
    check_not_newer(present, migrations[-1][0])
    for number, text in migrations:
        if number > present:
            with connection:
                connection.execute(text)
                connection.pragma("user_version", number)


__all__ = ["SchemaTooNew", "migrate"]
