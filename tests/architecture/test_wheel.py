"""The wheel: built once, it installs into an empty environment and runs outside the repository."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import hiringhall
from tests.architecture.sources import ROOT, SERVER, files
from tests.hall_process import Database, HallProcess


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server's wheel."""
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def sdk_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the SDK, which the server's commands use."""
    return build(ROOT / "sdks/python", tmp_path_factory.mktemp("dist-sdk"))


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, sdk_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment that holds nothing but the wheels and their dependencies."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder, with_pip=True)
    run(
        folder / "bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--constraint",
        ROOT / "requirements/dev.lock",
        sdk_wheel,
        wheel,
    )
    return folder / "bin"


def build(project: Path, folder: Path) -> Path:
    """Build the one wheel of a project."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, project)
    (built,) = folder.glob("*.whl")
    return built


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """The output of a command that has to succeed."""
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    """Modules, statements, migrations and the licence are in the wheel, and no test is."""
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {path.relative_to("src").as_posix() for path in files() if path.is_relative_to(SERVER)}
    assert not wanted - names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "bench/"))]


def test_hall_tells_its_version(elsewhere: Path, tmp_path: Path) -> None:
    """`hall --version` runs from the wheel, outside the repository."""
    assert hiringhall.__version__ in run(elsewhere / "hall", "--version", cwd=tmp_path)


def test_hall_verifies(elsewhere: Path, tmp_path: Path) -> None:
    """The conformance cases are in the wheel: `hall verify` plays one outside the repository."""
    told = run(elsewhere / "hall", "verify", "cases", cwd=tmp_path)
    assert len(told.splitlines()) == len(list((ROOT / "conformance/cases").glob("*/*.yaml"))) + 1
    told = run(elsewhere / "hall", "verify", "cases", "--server", cwd=tmp_path)
    assert len(told.splitlines()) == len(list((ROOT / "conformance/server_cases").glob("*/*.yaml"))) + 1
    worker = ROOT / "conformance/workers/python_plans.py"
    chosen = ("--only", "plans/claim-complete")
    told = run(elsewhere / "hall", "verify", "worker", *chosen, "--", elsewhere / "python", worker, cwd=tmp_path)
    assert "1 passed" in told


def test_hall_serves(elsewhere: Path, tmp_path: Path) -> None:
    """`hall serve` of the wheel accepts requests and ends cleanly."""
    hall = HallProcess(Database("sqlite", tmp_path / "data"), program=(str(elsewhere / "hall"),))
    try:
        assert hall.start().stop() == 0
    finally:
        hall.close()
