"""The task as a handler sees it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any


class Task:
    """One task, handed to this worker.

    `cancelled` is set once the result is no longer wanted: an operator cancelled the task, or this worker gave it
    back because it is about to exit. A handler that runs for long looks at it, or waits on it instead of sleeping.
    `members` is everything that the server sent, including what this version of the package does not know.
    """

    def __init__(self, plan_id: str, id: str, version: int, members: Mapping[str, Any]) -> None:
        self.id = id
        self.plan_id = plan_id
        self.version = version
        self.members = members
        self.cancelled = threading.Event()

    def _text(self, name: str) -> str:
        value = self.members.get(name)
        return value if isinstance(value, str) else ""

    def _texts(self, name: str) -> list[str]:
        value = self.members.get(name)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    @property
    def status(self) -> str:
        """CLAIMED, as handed over; it does not follow what happens later."""
        return self._text("status")

    @property
    def priority(self) -> str:
        """critical, high, medium or low."""
        return self._text("priority")

    @property
    def description(self) -> str:
        return self._text("description")

    @property
    def dependencies(self) -> list[str]:
        """Ids of the tasks of the same plan that were done before this one."""
        return self._texts("dependencies")

    @property
    def key_files(self) -> list[str]:
        return self._texts("key_files")

    @property
    def acceptance_criteria(self) -> list[str]:
        return self._texts("acceptance_criteria")

    @property
    def test_steps(self) -> list[str]:
        return self._texts("test_steps")

    @property
    def prd_requirement(self) -> str:
        return self._text("prd_requirement")

    def __repr__(self) -> str:
        return f"Task({self.plan_id!r}, {self.id!r}, version={self.version})"
