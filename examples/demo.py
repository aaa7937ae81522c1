"""A hall on this machine: three workers work a plan off while you watch, then a service answers a call with progress.

    python examples/demo.py          # goes on until Ctrl-C, so that you can look around
    python examples/demo.py --once   # ends by itself; exit status 0 if all of it happened

Everything it makes lies in one temporary folder, which is gone when it ends, and so are the processes that it started.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

EXAMPLES = Path(__file__).resolve().parent
PLAN_FILE = EXAMPLES / "plan.json"
PLAN = "demo"
EXPLAINED = "demo/package"
WORKERS = 3
SERVICE = "reports"
CALLED = "reports/sales"
ORDERS = [
    {"customer": ("Ada", "Edsger", "Grace")[number % 3], "article": "tea", "amount": 1 + number % 40}
    for number in range(6_000)
]
PORT = 8400
READY = re.compile(r"^hall: ready on (http://\S+)$", re.MULTILINE)
START_SECONDS = 30.0
FINISH_SECONDS = 60.0
POLL_SECONDS = 0.1
STOP_SECONDS = 15.0
COLOURS = {"DONE": "green", "CLAIMED": "cyan", "IN_PROGRESS": "cyan", "FAILED": "red", "PENDING": "dim"}


class Trouble(Exception):
    """The demonstration cannot go on; the text says why."""


class Child:
    """A process of the demonstration. What it says goes to files beside the hall's data."""

    def __init__(self, name: str, command: list[str], folder: Path, **variables: str) -> None:
        self.name = name
        self.output = folder / f"{name}.log"
        # Neither settings meant for another hall nor Ctrl-C reach it: the demonstration ends its processes in order.
        outside = {key: value for key, value in os.environ.items() if not key.startswith(("HALL_", "WHILLY_"))}
        with self.output.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**outside, "PYTHONUNBUFFERED": "1", **variables},
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        """Everything that it has said so far."""
        return self.output.read_text(errors="replace")

    def check(self) -> None:
        """Complain if it has ended."""
        status = self.process.poll()
        if status is not None:
            raise Trouble(f"{self.name} ended with status {status}:\n{self.said.strip()}")

    def ask_to_end(self) -> None:
        """Send SIGTERM, if it still runs."""
        if self.process.poll() is None:
            self.process.terminate()

    def end(self) -> int:
        """Wait until it has ended, by force if need be; returns its exit status."""
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Demonstration:
    """One hall with its workers, in one folder."""

    def __init__(self, folder: Path, console: Console) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.console = console
        self.url = ""
        self.hall: Child | None = None
        self.workers: list[Child] = []

    def start_hall(self) -> None:
        """Start the hall on the usual port, or on a free one if that is taken."""
        program = [sys.executable, "-m", "hiringhall.cli.main", "serve", "--data", str(self.data), "--port"]
        for port in (PORT, 0):
            self.hall = Child("hall", [*program, str(port)], self.folder)
            deadline = time.monotonic() + START_SECONDS
            while self.hall.process.poll() is None and not READY.search(self.hall.said):
                if time.monotonic() > deadline:
                    raise Trouble(f"the hall is not ready after {START_SECONDS:g} s:\n{self.hall.said}")
                time.sleep(POLL_SECONDS / 2)
            found = READY.search(self.hall.said)
            if found:
                self.url = found.group(1)
                return
            if "cannot listen" not in self.hall.said:
                break
        assert self.hall is not None
        self.hall.check()

    def start_workers(self) -> None:
        """Start the workers, which are told where the hall is and how to register."""
        token = json.loads((self.data / "server.json").read_bytes())["bootstrap_token"]
        for number in range(1, WORKERS + 1):
            command = [sys.executable, str(EXAMPLES / "plan_worker.py"), "--plan", PLAN]
            worker = Child(
                f"worker-{number}", command, self.folder, HALL_SERVER=self.url, HALL_BOOTSTRAP_TOKEN=token
            )  # fmt: skip
            self.workers.append(worker)

    def start_service(self) -> None:
        """Make a service, and start a worker of it with the secret that is told once."""
        told = self.command("service", "add", SERVICE)
        found = re.search(r"^secret: (\S+)$", told, re.MULTILINE)
        if found is None:
            raise Trouble(f"hall service add {SERVICE} told no secret:\n{told}")
        command = [sys.executable, str(EXAMPLES / "report_worker.py")]
        secret = found.group(1)
        self.workers.append(
            Child("report-worker", command, self.folder, HALL_SERVER=self.url, HALL_SERVICE_SECRET=secret)
        )

    def command(self, *words: str, shows: bool = False) -> str:
        """Run a command of the program `hall` and return what it prints; `shows`: its progress is seen meanwhile."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HALL_")}
        ran = subprocess.run(
            [sys.executable, "-m", "hiringhall.cli.main", *words, "--data", str(self.data)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=None if shows else subprocess.PIPE,
            text=True, check=False, env=environment, start_new_session=True,
        )  # fmt: skip
        if ran.returncode:
            said = (ran.stderr or "").strip()
            raise Trouble(f"hall {shlex.join(words)} ended with status {ran.returncode}:\n{said}")
        return ran.stdout.rstrip()

    def follow(self) -> Iterator[dict[str, Any]]:
        """The plan as it is, again and again, until nothing goes on by itself."""
        token = json.loads((self.data / "server.json").read_bytes())["admin_token"]
        headers = {"authorization": f"Bearer {token}"}
        deadline = time.monotonic() + FINISH_SECONDS
        with httpx.Client(base_url=self.url, headers=headers, trust_env=False) as client:
            while True:
                answer = client.get(f"/admin/plans/{PLAN}")
                answer.raise_for_status()
                plan: dict[str, Any] = answer.json()["plan"]
                yield plan
                if plan["state"] in ("finished", "blocked"):
                    return
                if time.monotonic() > deadline:
                    raise Trouble(f"the plan is not finished after {FINISH_SECONDS:g} s")
                self.check()
                time.sleep(POLL_SECONDS)

    def check(self) -> None:
        """Complain if a process has ended that should run."""
        for child in (self.hall, *self.workers):
            if child is not None:
                child.check()

    def end(self) -> bool:
        """End all processes, the workers first; returns whether each ended as it should."""
        statuses = []
        for children in (self.workers, [self.hall] if self.hall else []):
            for child in children:
                child.ask_to_end()
            statuses += [child.end() for child in children]
        return not any(statuses)


def show(demonstration: Demonstration) -> None:
    """Show the plan being worked off: a live picture on a terminal, else a line for each task that is done."""
    console = demonstration.console
    started = time.monotonic()
    plan: dict[str, Any] = {}
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            for plan in demonstration.follow():
                live.update(picture(plan), refresh=True)
    else:
        done: set[str] = set()
        for plan in demonstration.follow():
            for task in plan["tasks"]:
                if task["status"] == "DONE" and task["id"] not in done:
                    done.add(task["id"])
                    console.print(f"  {len(done):2}/{plan['counts']['total']} done: {task['id']}", highlight=False)
    counts = plan["counts"]
    if counts["done"] != counts["total"]:
        raise Trouble(f"the plan is {plan['state']} with {counts['done']} of {counts['total']} tasks done")
    seconds = time.monotonic() - started
    console.print(f"finished: {counts['done']} tasks by {WORKERS} workers in {seconds:.1f} s", highlight=False)


def call(demonstration: Demonstration) -> str:
    """Call the service, with its progress on the screen; returns what its answer comes to."""
    file = demonstration.folder / "orders.json"
    file.write_text(json.dumps({"title": "Tea in May", "orders": ORDERS}))
    report = json.loads(demonstration.command("call", CALLED, f"@{file}", "--timeout", "60", shows=True))
    customers = ", ".join(f"{name} {amount:,}" for name, amount in report["customers"].items())
    return f"{report['orders']:,} orders, {report['total']:,} in all: {customers}"


def picture(plan: dict[str, Any]) -> Group:
    """The plan as it is now."""
    counts = plan["counts"]
    bar = Table.grid(padding=(0, 1))
    bar.add_row(
        Text(plan["name"], style="bold"),
        ProgressBar(total=counts["total"], completed=counts["done"], width=40),
        Text(f"{counts['done']}/{counts['total']}"),
    )
    tasks = Table.grid(padding=(0, 2))
    for task in plan["tasks"]:
        remark = f"at {task['worker_id']}" if task["worker_id"] else ""
        style = COLOURS.get(task["status"], "")
        tasks.add_row(
            Text("  " + task["status"], style=style), Text(task["id"]), Text(remark or task["description"], style="dim")
        )
    return Group(bar, tasks)


def tell_where_to_look(demonstration: Demonstration) -> None:
    """Print what to look at next, ready to be pasted."""
    console = demonstration.console
    hall = Path(sys.executable).with_name("hall")
    program = os.path.relpath(hall) if hall.is_relative_to(Path.cwd()) else str(hall)
    folder = shlex.quote(str(demonstration.data))
    lines = [
        "",
        "Look around:",
        f"  {demonstration.url}/ in a browser: the status page",
        f"  {program} plan show {PLAN} --data {folder}",
        f"  {program} explain {EXPLAINED} --data {folder}",
        f"  {program} call {CALLED} @{shlex.quote(str(demonstration.folder / 'orders.json'))} --data {folder}",
    ]
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def run(demonstration: Demonstration, *, once: bool) -> None:
    """From the first process to the last thing to see."""
    console = demonstration.console

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    demonstration.start_hall()
    say(f"a hall on SQLite is ready at {demonstration.url}")
    say(f"plan applied: {demonstration.command('plan', 'apply', str(PLAN_FILE))}")
    demonstration.start_workers()
    say(f"{WORKERS} workers started")
    show(demonstration)
    say("")
    story = demonstration.command("explain", EXPLAINED)
    if "DONE" not in story.partition("\n")[0]:
        raise Trouble(f"hall explain {EXPLAINED} does not say that it is done:\n{story}")
    say(story)
    say("")
    demonstration.start_service()
    say(f"a worker of the service {SERVICE} started; hall call {CALLED}:")
    say(f"answered: {call(demonstration)}")
    httpx.get(demonstration.url + "/", trust_env=False).raise_for_status()
    tell_where_to_look(demonstration)
    if once:
        return
    say("\nEverything goes on until Ctrl-C.")
    while True:
        demonstration.check()
        time.sleep(1)


def main() -> int:
    """Run the demonstration and clear up after it."""
    arguments = argparse.ArgumentParser(description="Show a hall, its workers, a plan and a call.")
    arguments.add_argument("--once", action="store_true", help="end when the plan is finished and the call answered")
    once: bool = arguments.parse_args().once
    for number in (signal.SIGTERM, signal.SIGHUP):  # being told to end, or losing the terminal, is what Ctrl-C is
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    demonstration = Demonstration(Path(tempfile.mkdtemp(prefix="hiringhall-demo-")), Console())
    failure = None
    try:
        run(demonstration, once=once)
    except KeyboardInterrupt:
        failure = "interrupted" if once else None
    except (Trouble, httpx.HTTPError, OSError) as trouble:
        failure = str(trouble)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        ended_well = demonstration.end()
        with contextlib.suppress(OSError):
            shutil.rmtree(demonstration.folder)
    if failure is None and not ended_well:
        failure = "a process of the demonstration did not end as it should"
    if failure is not None:
        sys.stderr.write(f"demo: {failure}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
