"""The verification worker of the Python SDK for services."""

from __future__ import annotations

import logging
import os
import time
from typing import Any

from hiringhall_worker import Call, Fail, ServiceWorker

logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)

grace = os.environ.get("HALL_GRACE_SECONDS")
worker = ServiceWorker(
    service=os.environ["HALL_SERVICE"],
    worker_id=os.environ["HALL_WORKER_ID"],
    lazy=os.environ.get("HALL_RUN_MODE") == "Lazy",
    probe_host="127.0.0.1",
    concurrency=int(os.environ.get("HALL_CONCURRENCY", "1")),
    hold_seconds=float(os.environ.get("HALL_HOLD_SECONDS", "30")),
    answer_seconds=float(os.environ.get("HALL_ANSWER_SECONDS", "10")),
    heartbeat_seconds=float(os.environ.get("HALL_HEARTBEAT_SECONDS", "30")),
    grace_seconds=None if grace is None else float(grace),
)


@worker.method("echo", raw=True)
def echo(params: Any) -> Any:
    return params


@worker.method("add")
def add(a: int, b: int) -> int:
    return a + b


@worker.method("fail")
def fail(text: str) -> None:
    raise Fail(text)


@worker.method("crash")
def crash(text: str) -> None:
    raise RuntimeError(text)


@worker.method("slow")
def slow(seconds: float, call: Call) -> str:
    call.cancelled.wait(seconds)
    return "done"


@worker.method("stubborn")
def stubborn(seconds: float) -> str:
    time.sleep(seconds)
    return "done"


@worker.method("feedback")
def feedback(items: list[Any], call: Call) -> int:
    for item in items:
        call.feedback(item)
    return len(items)


@worker.method("settings")
def settings() -> dict[str, str]:
    return dict(worker.settings)


if __name__ == "__main__":
    worker.run()
