"""The examples of the README run as they stand."""

from __future__ import annotations

import inspect
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from scripted_hall import PATIENCE_SECONDS, ScriptedHall
from scripted_services import ScriptedServices

from hiringhall_worker import Call, Client, PendingCall, PlanWorker, ServiceWorker, Task

FOLDER = Path(__file__).parent.parent
README = (FOLDER / "README.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


PLAN = [example for example in EXAMPLES if "PlanWorker" in example]
SERVICE = [example for example in EXAMPLES if "ServiceWorker" in example]
CLIENT = [example for example in EXAMPLES if "Client" in example]


def begin(example: str, **environment: str) -> subprocess.Popen[str]:
    surroundings = {**os.environ, "PYTHONPATH": str(FOLDER / "src"), **environment}
    command = [sys.executable, "-c", example]
    return subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ends_well(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, err) == (0, "")
    return out


@pytest.mark.parametrize("example", PLAN)
def test_plan_examples_run(hall: ScriptedHall, example: str) -> None:
    """Each example completes a task and ends by SIGTERM with status 0."""
    hall.hand_out("T-001")
    process = begin(example, HALL_SERVER=hall.url, HALL_BOOTSTRAP_TOKEN="boot")
    try:
        hall.wait_heard("complete")
        hall.wait_parked()
        process.send_signal(signal.SIGTERM)
        ends_well(process)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("example", SERVICE)
def test_service_examples_run(services: ScriptedServices, example: str) -> None:
    """Each example answers a call and ends by SIGTERM with status 0."""
    services.call("r-1", "add", {"a": 1, "b": 2})
    services.call("r-2", "add", {"a": 1})
    process = begin(example, HALL_SERVER=services.url, HALL_SERVICE_SECRET="s")
    try:
        assert services.response("r-1")["result"] == 3
        told = services.response("r-2")["error_text"]
        assert told == "math/add: parameter 'b' is missing; it takes a: int, b: int"
        services.wait_parked()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("example", CLIENT)
def test_client_examples_run(services: ScriptedServices, example: str) -> None:
    """The example prints the results of its calls."""
    services.answers["math/add"] = {"status": "success", "result": 3}
    process = begin(example, HALL_SERVER=services.url, HALL_CLIENT_ID="shop", HALL_CLIENT_SECRET="s")
    try:
        assert ends_well(process).splitlines() == ["3", "r-2 3"]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("public", [PlanWorker, ServiceWorker, Client, Task, Call, PendingCall])
def test_every_setting_and_field_is_described(public: type) -> None:
    """The README names each argument of what users make, and each field and method of what they are given."""
    names = [name for name, value in vars(public).items() if isinstance(value, property) or inspect.isfunction(value)]
    names = [name for name in names if not name.startswith("_")]
    if public in (PlanWorker, ServiceWorker, Client):
        names += inspect.signature(public).parameters
    missing = [name for name in names if not re.search(rf"`(\w+\.)?{name}[`(]", README) and name not in UNSAID]
    assert missing == []
    assert (len(PLAN), len(SERVICE), len(CLIENT)) == (3, 2, 1)


# A task's status does not follow what happens; a handle keeps what others read; a client is closed by `with`.
UNSAID = ("status", "keep", "ended", "close", "task", "method")
