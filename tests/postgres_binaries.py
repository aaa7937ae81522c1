"""Where the programs of a PostgreSQL server are found: on PATH, in Debian's folders, else from apt."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OLDEST_MAJOR = 15
APT_SECONDS = 300
NO_MAIN_CLUSTER = "create_main_cluster = false\n"
CLUSTER_SETTINGS = Path("/etc/postgresql-common/createcluster.conf")


def find_binaries() -> Path | None:
    """The folder of a working initdb, pg_ctl and postgres of a supported version; None if there is none."""
    return next((folder for folder in _candidates() if _works(folder)), None)


def install_binaries() -> Path | None:
    """Fetch PostgreSQL from apt where this process may; None where it may not or where that fails."""
    if (
        sys.platform != "linux"
        or os.geteuid() != 0
        or not shutil.which("apt-get")
        or not Path("/etc/debian_version").exists()
    ):
        return None
    print("PostgreSQL is not installed: fetching it from apt for the tests", file=sys.stderr, flush=True)
    _forbid_a_main_cluster()
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    keep_settings = ["-o", "Dpkg::Options::=--force-confold"]
    for command in (["update", "-q"], ["install", "-q", "-y", *keep_settings, "--no-install-recommends", "postgresql"]):
        try:
            ended = subprocess.run(
                ["apt-get", *command], env=environment, capture_output=True, text=True, timeout=APT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return None
        if ended.returncode:
            print(ended.stderr[-2000:], file=sys.stderr, flush=True)
    return find_binaries()


def _forbid_a_main_cluster() -> None:
    """Let Debian's package install programs only, not a server that takes port 5432."""
    settings = CLUSTER_SETTINGS.read_text() if CLUSTER_SETTINGS.exists() else ""
    if NO_MAIN_CLUSTER not in settings:
        CLUSTER_SETTINGS.parent.mkdir(parents=True, exist_ok=True)
        CLUSTER_SETTINGS.write_text(settings + NO_MAIN_CLUSTER)


def _candidates() -> Iterator[Path]:
    on_path = shutil.which("postgres")
    if on_path:
        yield Path(on_path).resolve().parent
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(installed, key=lambda folder: int(re.sub(r"\D", "", folder.parent.name) or 0), reverse=True)


def _works(folder: Path) -> bool:
    """Whether the three programs run (a name on PATH may be anything) and are of one supported version."""
    versions = set()
    for program in ("postgres", "initdb", "pg_ctl"):
        try:
            ended = subprocess.run(
                [folder / program, "--version"], capture_output=True, text=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        found = re.search(r"\(PostgreSQL\) (\d+)", ended.stdout)
        if ended.returncode or not found:
            return False
        versions.add(int(found.group(1)))
    return len(versions) == 1 and versions.pop() >= OLDEST_MAJOR
