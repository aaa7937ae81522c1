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

from hiringhall_worker import PlanWorker, Task

FOLDER = Path(__file__).parent.parent
README = (FOLDER / "README.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(hall: ScriptedHall, example: str) -> None:
    """Each example completes a task and ends by SIGTERM with status 0."""
    environment = {
        **os.environ,
        "HALL_SERVER": hall.url,
        "HALL_BOOTSTRAP_TOKEN": "boot",
        "PYTHONPATH": str(FOLDER / "src"),
    }
    hall.hand_out("T-001")
    process = subprocess.Popen([sys.executable, "-c", example], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        hall.wait_heard("complete")
        hall.wait_parked()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
        assert (process.returncode, err) == (0, "")
    finally:
        process.kill()
        process.communicate()


def test_every_setting_and_field_is_described() -> None:
    """The README names each argument of PlanWorker and each field of Task."""
    settings = [name for name in inspect.signature(PlanWorker).parameters if name != "self"]
    fields = [name for name, value in vars(Task).items() if isinstance(value, property)]
    missing = [name for name in settings + fields if f"`{name}`" not in README and name != "status"]
    assert missing == []
    assert len(EXAMPLES) == 3
