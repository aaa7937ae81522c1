"""Environments that hold one published client each: made once per machine, outside the repository."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.missing import missing

FOLDER = "hiringhall-tests"
COMPLETE = "complete"
INSTALL_SECONDS = 240


@dataclass(frozen=True)
class Wheel:
    """A published version of the client."""

    version: str
    extras: str

    @property
    def requirement(self) -> str:
        """What pip installs."""
        return f"whilly-orchestrator[{self.extras}]=={self.version}"

    @property
    def takes_a_path(self) -> bool:
        """Whether `--connect` may have a path, so that the client can be sent to `/whilly`."""
        return self.version.startswith("4.0.")


FIRST = Wheel("4.0.0", "worker,server")
LATER = Wheel("4.7.0", "worker")
WHEELS = (FIRST, LATER)


def environment_of(wheel: Wheel, python: Path) -> Path:
    """The folder of an environment in which the wheel runs; made unless one run on this machine made it before."""
    made_of = subprocess.run([python, "-VV"], capture_output=True, text=True, check=True).stdout + str(python)
    key = hashlib.sha256(f"{wheel.requirement} {made_of}".encode()).hexdigest()[:12]
    folder = cache() / f"whilly-{wheel.version}-{key}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with alone(folder.with_name(f"{folder.name}.lock")):
        if not (folder / COMPLETE).exists() or not runs(folder):
            make(folder, wheel, python)
    return folder


def cache() -> Path:
    """The folder for what outlives a run of the tests."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / FOLDER


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Keep out other runs of the tests; a run that is killed lets go."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def runs(folder: Path) -> bool:
    """Whether the environment still works: the interpreter that it was made of may be gone."""
    try:
        command: list[str | Path] = [folder / "bin/python", "-c", "import whilly.adapters.transport.client"]
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def make(folder: Path, wheel: Wheel, python: Path) -> None:
    """Install the wheel into an environment of its own; without a registry its tests are skipped."""
    print(f"installing {wheel.requirement} for the tests (once)", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", folder], capture_output=True, timeout=INSTALL_SECONDS, check=True)
    command: list[str | Path] = [
        folder / "bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        wheel.requirement,
    ]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, env=environment, check=False
        )
        complaint = "" if ended.returncode == 0 else last_line(ended.stderr)
    except subprocess.TimeoutExpired:
        complaint = f"not done after {INSTALL_SECONDS} s"
    if complaint:
        shutil.rmtree(folder, ignore_errors=True)
        missing(wheel.requirement, f"pip could not install it ({complaint})")
    (folder / COMPLETE).touch()


def last_line(text: str) -> str:
    """The last thing that pip complained about."""
    return next((line for line in reversed(text.splitlines()) if re.search(r"\w", line)), "it gave no reason")
