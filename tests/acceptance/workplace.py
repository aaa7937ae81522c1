"""A hall, its operator, and the published workers that are sent to it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import httpx

from tests.acceptance.agent import OK, Agent
from tests.acceptance.wheels import Wheel
from tests.hall_process import ADMIN_TOKEN, BOOTSTRAP_TOKEN, WORKER_TOKEN, HallProcess
from tests.waiting import until

SECONDS = 40.0


class Worker:
    """One `whilly-worker`, in a session of its own together with its agents."""

    def __init__(self, command: list[str | Path], variables: dict[str, str], folder: Path, log: Path) -> None:
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=variables, cwd=folder,
                start_new_session=True,
            )  # fmt: skip

    @property
    def said(self) -> str:
        """What it wrote."""
        return self._log.read_text(errors="replace")

    @property
    def running(self) -> bool:
        """Whether it lives."""
        return self._process.poll() is None

    @property
    def ended_by_itself(self) -> bool:
        """Whether it gave up."""
        return self._process.poll() not in {None, 0}

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self.running, self.said
        self._process.send_signal(number)

    def wait(self) -> int:
        """Its exit status."""
        try:
            return self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the worker does not end:\n{self.said}") from None

    def close(self) -> None:
        """End it and its agents however they stand."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class Workplace:
    """Everything around one hall for one published version of the client."""

    def __init__(self, hall: HallProcess, wheel: Wheel, environment: Path, folder: Path) -> None:
        self.hall = hall
        self.wheel = wheel
        self.programs = environment / "bin"
        self.folder = folder
        self.agent = Agent(folder, environment)
        self.workers: list[Worker] = []
        self._operator = httpx.Client(headers={"Authorization": f"Bearer {ADMIN_TOKEN}"}, timeout=SECONDS)

    @property
    def address(self) -> str:
        """Where the client is sent."""
        return f"{self.hall.url}/whilly" if self.wheel.takes_a_path else self.hall.whilly_url

    def ask(self, method: str, path: str, **how: Any) -> httpx.Response:
        """An operator's request that succeeds."""
        answer = self._operator.request(method, self.hall.url + path, **how)
        assert answer.is_success, answer.text
        return answer

    def apply(self, plan: str, *tasks: str | dict[str, Any], **members: Any) -> None:
        """Apply a plan of these tasks."""
        listed = [{"id": task} if isinstance(task, str) else task for task in tasks]
        self.ask("PUT", f"/admin/plans/{plan}", json={"tasks": listed, **members})

    def statuses(self, plan: str) -> dict[str, str]:
        """The status of each task of a plan."""
        return {task["id"]: task["status"] for task in self.ask("GET", f"/admin/plans/{plan}").json()["plan"]["tasks"]}

    def until_all_are(self, status: str, plan: str) -> None:
        """Return when every task of the plan has that status."""
        until(
            lambda: set(self.statuses(plan).values()) == {status},
            within_seconds=SECONDS,
            waiting_for=f"every task of {plan} to be {status}: {self.statuses(plan)}",
        )

    def history(self, plan: str, task: str) -> list[dict[str, Any]]:
        """The audit log of a task."""
        lines: list[dict[str, Any]] = self.ask("GET", "/admin/work", params={"plan": plan, "task": task}).json()[
            "history"
        ]
        return lines

    def until_parked(self, count: int) -> None:
        """Return when so many claims wait for work."""
        wanted = f"hall_parked_claims {count}.0"

        def are_parked() -> bool:
            ended = [worker.said for worker in self.workers if worker.ended_by_itself]
            assert not ended, ended
            return wanted in self.ask("GET", "/metrics").text.splitlines()

        until(are_parked, within_seconds=SECONDS, waiting_for=f"{count} parked claims")

    def until_heard(self, worker_id: str) -> None:
        """Return when a heartbeat of the worker is written down: from then on it is missed when it falls silent."""

        def is_heard() -> bool:
            workers = self.ask("GET", "/admin/workers").json()["workers"]
            return any(one["worker_id"] == worker_id and one["last_heartbeat"] for one in workers)

        until(is_heard, within_seconds=SECONDS, waiting_for=f"a heartbeat of {worker_id}")

    def worker(
        self,
        plan: str,
        *flags: str,
        agent: str = OK,
        worker_id: str | None = None,
        token: str = WORKER_TOKEN,
    ) -> Worker:
        """Start a worker; without an id it makes one up and never registers it."""
        named = [] if worker_id is None else ["--worker-id", worker_id]
        command = ["--connect", self.address, "--token", token, "--plan", plan, *named, *flags]
        variables = {**self._surroundings(), **self.agent.variables(agent)}
        log = self.folder / f"worker-{len(self.workers) + 1}.log"
        started = Worker([self.programs / "whilly-worker", *command], variables, self.folder, log)
        self.workers.append(started)
        return started

    def run(self, *command: str | Path) -> str:
        """What a program of the wheel's environment prints; it has to succeed."""
        ended = subprocess.run(
            [self.programs / command[0], *command[1:]],
            env=self._surroundings(), cwd=self.folder, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout

    def calls(self, **about: Any) -> Any:
        """What `client_calls.py` finds when the wheel's own interpreter runs it."""
        about |= {
            "address": self.address, "token": WORKER_TOKEN, "bootstrap_token": BOOTSTRAP_TOKEN,
        }  # fmt: skip
        return json.loads(self.run("python", Path(__file__).with_name("client_calls.py"), json.dumps(about)))

    def register(self, hostname: str) -> tuple[str, str]:
        """The id and the token that the later client's command prints that registers a worker."""
        opening = ["--connect", self.address, "--bootstrap-token", BOOTSTRAP_TOKEN]
        said = self.run("whilly", "worker", "register", *opening, "--hostname", hostname)
        found = re.search(r"worker_id:\s*(w-[\w-]{12})(?!\S).*token:\s*([\w-]{43})(?!\S)", said, re.DOTALL)
        assert found, said
        return found.group(1), found.group(2)

    def close(self) -> None:
        """End every worker."""
        for worker in self.workers:
            worker.close()
        self._operator.close()

    def _surroundings(self) -> dict[str, str]:
        outside = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HALL_", "WHILLY_", "PYTHON", "XDG_"))
        }
        return {**outside, "HOME": str(self.folder), "PYTHONDONTWRITEBYTECODE": ""}
