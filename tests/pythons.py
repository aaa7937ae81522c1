"""Other Python interpreters of this machine, for packages that the tests run in environments of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

SUITABLE = "import ensurepip, sys, venv; sys.exit(not {oldest} <= sys.version_info[:2] <= {newest})"


def find_python(*, oldest: tuple[int, int], newest: tuple[int, int]) -> Path | None:
    """The newest interpreter with venv between these versions, from PATH or where pyenv keeps them; None if none is."""
    check = SUITABLE.format(oldest=oldest, newest=newest)
    for candidate in _candidates(range(newest[1], oldest[1] - 1, -1)):
        try:
            ended = subprocess.run([candidate, "-c", check], capture_output=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if ended.returncode == 0:
            return Path(candidate)
    return None


def _candidates(minors: range) -> Iterator[str | Path]:
    installed = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for minor in minors:
        yield from filter(None, [shutil.which(f"python3.{minor}")])
        yield from installed.glob(f"3.{minor}.*/bin/python")
    yield from filter(None, [shutil.which("python3")])
