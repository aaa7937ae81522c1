"""A plan worker that pretends to work: it takes 50 to 200 milliseconds for each task and prints what it does.

    HALL_BOOTSTRAP_TOKEN=... python examples/plan_worker.py --concurrency 2

The address comes from HALL_SERVER (default http://127.0.0.1:8400). Several of these may run at once, anywhere.
"""

from __future__ import annotations

import argparse
import os
import random
import sys

from hiringhall_worker import HallError, PlanWorker, Task


def handle(task: Task) -> None:
    """Stand in for real work; stop early if the result is no longer wanted."""
    say(f"{task.id}: {task.description}")
    if task.cancelled.wait(random.uniform(0.05, 0.2)):
        say(f"{task.id}: stopped")
        return
    say(f"{task.id}: done")


def say(text: str) -> None:
    # One write for the whole line, so that lines of several threads and processes do not mix.
    sys.stdout.write(f"[worker {os.getpid()}] {text}\n")
    sys.stdout.flush()


def main() -> int:
    arguments = argparse.ArgumentParser(description="Work off a plan, pretending.")
    arguments.add_argument("--plan", default="demo", help="the plan whose tasks to take (default: demo)")
    arguments.add_argument("--concurrency", type=int, default=1, help="tasks at once (default: 1)")
    arguments.add_argument("--until-empty", action="store_true", help="end when nothing has come for two seconds")
    given = arguments.parse_args()
    try:
        worker = PlanWorker(
            plan=given.plan, concurrency=given.concurrency, hold_seconds=2.0 if given.until_empty else 30.0
        )
        worker.run(handle, until_empty=given.until_empty)
    except (HallError, ValueError) as error:
        sys.stderr.write(f"plan_worker: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
