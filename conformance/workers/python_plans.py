"""The verification worker of the Python SDK for plans: each task says in its description what to do."""

from __future__ import annotations

import logging
import os
import time

from hiringhall_worker import PlanWorker, Task

logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)

worker = PlanWorker(
    plan=os.environ["HALL_PLAN"],
    concurrency=int(os.environ.get("HALL_CONCURRENCY", "1")),
    hold_seconds=float(os.environ.get("HALL_HOLD_SECONDS", "30")),
    answer_seconds=float(os.environ.get("HALL_ANSWER_SECONDS", "10")),
    heartbeat_seconds=float(os.environ.get("HALL_HEARTBEAT_SECONDS", "30")),
    grace_seconds=float(os.environ.get("HALL_GRACE_SECONDS", "0")),
)


@worker.task
def handle(task: Task) -> None:
    word, _, text = task.description.partition(" ")
    if word in ("fail", "crash"):
        raise RuntimeError(text)
    if word == "release":
        raise worker.Release(text)
    if word == "slow":
        task.cancelled.wait(float(text))
    elif word == "stubborn":
        time.sleep(float(text))


if __name__ == "__main__":
    worker.run()
