"""A worker that runs in a thread of the test."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from scripted_hall import PATIENCE_SECONDS

from hiringhall_worker import PlanWorker, ServiceWorker


class Running:
    """A worker that runs in a thread, and how its run ended."""

    def __init__(self, worker: PlanWorker | ServiceWorker, **options: Any) -> None:
        self.worker = worker
        self.error: BaseException | None = None
        self._options = options
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.worker.run(**self._options)
        except BaseException as error:
            self.error = error

    def wait(self) -> BaseException | None:
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "the worker did not end"
        return self.error

    def stop(self) -> BaseException | None:
        self.worker.stop()
        return self.wait()


Start = Callable[..., Running]
