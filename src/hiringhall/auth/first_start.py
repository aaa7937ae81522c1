"""What a server keeps in its folder besides the database: the lock, and `server.json` with address and made tokens."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

LOCK_FILE: Final = "lock"
SERVER_FILE: Final = "server.json"


class FolderInUse(Exception):
    """Another server works in the folder; the text names it."""


class Folder:
    """A data folder that this process has to itself until it is closed."""

    def __init__(self, path: Path) -> None:
        """Make the folder (0700) and lock it.

        Raises:
            FolderInUse: another server has it.
            OSError: it cannot be made or written.
        """
        self.path = path
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
        self._lock = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            first = os.read(self._lock, 200).decode("utf-8", "replace").strip() or "another process"
            os.close(self._lock)
            raise FolderInUse(
                f"{path} is in use by {first}: stop it, or give this one another folder with --data"
            ) from None
        self.say(f"process {os.getpid()}")

    def say(self, who: str) -> None:
        """Write down who has the folder, for whoever finds it locked."""
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, who.encode(), 0)

    @property
    def server_file(self) -> Path:
        """Where the client commands on this machine find the server."""
        return self.path / SERVER_FILE

    def read_server(self) -> dict[str, Any]:
        """What was written before; empty if nothing was, or it cannot be read."""
        try:
            found = json.loads(self.server_file.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def write_server(self, members: Mapping[str, str]) -> None:
        """Write `server.json` (0600), as a whole or not at all."""
        fresh = self.path / (SERVER_FILE + ".new")
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(dict(members), file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.server_file)

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._lock)
