"""Server-sent events, read from their lines."""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """One event: its name, its data, and the id from which the stream can be taken up again."""

    name: str
    data: str
    id: str


class Events:
    """Reads events out of lines. `last_id` is the id of the last one, over all lines that were fed."""

    def __init__(self) -> None:
        self.last_id = ""
        self._id = ""
        self._name = ""
        self._data: list[str] = []

    def feed(self, line: str) -> Event | None:
        """The event that this line completes, if it does."""
        if line == "":
            return self._completed()
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def restart(self) -> None:
        """Forget an event that was cut off; the next line comes from a new stream."""
        self._id, self._name, self._data = self.last_id, "", []

    def _completed(self) -> Event | None:
        name, data = self._name or "message", self._data
        self.last_id = self._id
        self.restart()
        return Event(name, "\n".join(data), self.last_id) if data else None
