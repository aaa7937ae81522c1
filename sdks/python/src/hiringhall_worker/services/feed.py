"""What methods say while they run, on its way to the hall: a bounded queue, and a thread that empties it in batches.

Nothing here delays or fails a method: a full queue loses its oldest items, an item that JSON cannot carry is dropped,
and so is a batch that the hall does not take.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import jsontext
from ..guarded import guarded
from ..steps import Again, Crash, Skipped
from ..transport import Connection
from .errands import Feedback

if TYPE_CHECKING:
    from .shift import Shift

log = logging.getLogger("hiringhall_worker")

QUEUE_ITEMS = 10_000
BATCH_ITEMS = 200
BATCH_BYTES = 256 * 1024
ITEM_BYTES = 64 * 1024
# How long it is tried to pass on a batch.
PATIENCE_SECONDS = 60.0


class Feed:
    """Passes feedback on. `say` may be called from any thread."""

    def __init__(self, shift: Shift) -> None:
        self._shift = shift
        self._changed = threading.Condition()
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._under_way: set[str] = set()
        self._lost = 0
        self._troubled = False
        self._connection = Connection(shift.address)
        self._thread = guarded(shift, self._run, "feedback")

    def start(self) -> None:
        self._thread.start()

    def say(self, item: Mapping[str, Any]) -> None:
        """Take an item over. What cannot be sent is logged and dropped."""
        try:
            encoded = jsontext.encode(item)
        except jsontext.Unsendable as problem:
            log.warning("feedback of %s is dropped: %s", item.get("sn"), problem)
            return
        if len(encoded) > ITEM_BYTES:
            log.warning("feedback of %s is dropped: %d bytes, and %d fit", item.get("sn"), len(encoded), ITEM_BYTES)
            return
        with self._changed:
            if len(self._waiting) >= QUEUE_ITEMS:
                self._waiting.popleft()
                self._lost += 1
            self._waiting.append((str(item.get("rid")), encoded))
            self._changed.notify_all()

    def flush(self, request_id: str, most_seconds: float) -> None:
        """Wait until what was said about a request is sent, or is unlikely to be soon."""
        with self._changed:
            self._changed.wait_for(lambda: self._troubled or not self._left(request_id), most_seconds)

    def close(self, most_seconds: float) -> None:
        """Give what is left so many seconds, then end."""
        deadline = time.monotonic() + most_seconds
        with self._changed:
            self._changed.wait_for(
                lambda: self._troubled or not (self._waiting or self._under_way), max(0.0, deadline - time.monotonic())
            )
        self._connection.abort()

    def wake(self) -> None:
        """Let the thread notice that the run has ended."""
        with self._changed:
            self._changed.notify_all()

    def _left(self, request_id: str) -> bool:
        return request_id in self._under_way or any(one == request_id for one, _ in self._waiting)

    def _run(self) -> None:
        shift = self._shift
        while True:
            with self._changed:
                self._under_way = set()
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting or shift.ended.is_set())
                if shift.ended.is_set():
                    break
                batch = self._taken()
            self._send(batch)
        self._connection.close()

    def _taken(self) -> list[bytes]:
        """The oldest items, as many as fit into one request."""
        batch: list[bytes] = []
        size = 0
        while self._waiting and len(batch) < BATCH_ITEMS and size + len(self._waiting[0][1]) <= BATCH_BYTES:
            request_id, item = self._waiting.popleft()
            batch.append(item)
            size += len(item)
            self._under_way.add(request_id)
        if self._lost:
            log.warning("%d items of feedback are lost: more was said than could be sent", self._lost)
            self._lost = 0
        return batch

    def _send(self, batch: list[bytes]) -> None:
        give_up_at = time.monotonic() + PATIENCE_SECONDS

        def patience(seconds: float) -> bool:
            with self._changed:
                self._troubled = True
                self._changed.notify_all()
            return time.monotonic() + seconds < give_up_at and not self._shift.ended.wait(seconds)

        step = self._shift.carry_out(Feedback(self._shift.session, batch), self._connection, patience)
        with self._changed:
            self._troubled = isinstance(step, (Again, Crash))
        if isinstance(step, Skipped) and len(batch) > 1:
            # One bad item must not take the others along.
            half = len(batch) // 2
            self._send(batch[:half])
            self._send(batch[half:])
        elif isinstance(step, Skipped):
            log.warning("an item of feedback is dropped: %s", step.why)
        elif isinstance(step, Again):
            log.warning("%d items of feedback are dropped: %s", len(batch), step.why)
