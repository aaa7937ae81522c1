"""The whole kit runs, so that it cannot rot unnoticed between the times when somebody wants numbers."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bench.scenarios import SCENARIOS
from tests.postgres_server import DatabaseAdministrator

MEMORY = shlex.join([sys.executable, "-m", "bench.memory_server"])
REPOSITORY = Path(__file__).parents[2]
PATIENCE_SECONDS = 240


def run_kit(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line; its output is shown if the test fails."""
    command = [sys.executable, "-m", "bench", *words]
    ended = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    print(ended.stdout, ended.stderr)
    return ended


def test_what_is_printed_is_kept_and_what_is_left_out_is_said(tmp_path: Path) -> None:
    """Any command that serves as a hall does can be measured; the report is the output, as text and as JSON."""
    only = ("--only", "ceiling", "--only", "wake", "--only", "replicas")
    ended = run_kit("--short", "--no-postgres", "--hall", MEMORY, "--results", str(tmp_path), *only)
    assert ended.returncode == 0
    (found,) = tmp_path.glob("*.json")
    report = json.loads(found.read_text())
    assert [table["name"] for table in report["tables"] if table["rows"]] == ["ceiling", "wake"]
    assert "replicas: there is no PostgreSQL" in report["left_out"]
    assert "backlog: not asked for" in report["left_out"]
    assert found.with_suffix(".txt").read_text().splitlines() == ended.stdout.splitlines()[:-1]


def test_every_scenario_runs_against_the_hall(postgres_server: DatabaseAdministrator, tmp_path: Path) -> None:
    """On both databases, every scenario has rows and nothing is left out; the goals are for longer runs."""
    ended = run_kit("--short", "--postgres", postgres_server.url, "--results", str(tmp_path))
    assert ended.returncode == 0
    (found,) = tmp_path.glob("*.json")
    report = json.loads(found.read_text())
    assert [table["name"] for table in report["tables"] if table["rows"]] == list(SCENARIOS)
    assert report["left_out"] == []
    servers = {row["server"] for row in report["tables"][1]["rows"]}
    assert servers == {"no-op", "sqlite", "postgres"}


def test_a_server_that_fails_fails_the_run_by_name(tmp_path: Path) -> None:
    """The other parts go on, and the exit status tells."""
    ended = run_kit("--short", "--no-postgres", "--hall", "false", "--only", "apply", "--results", str(tmp_path))
    assert ended.returncode == 1
    assert "FAILED apply, sqlite: sqlite ended with status 1 before it was ready" in ended.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--url", "http://127.0.0.1:1"], "--bootstrap TOKEN or --bearer TOKEN"),
        (["--url", "http://127.0.0.1:1", "--bearer", "b"], "--plan ID"),
        (["--url", "https://127.0.0.1:1", "--bearer", "b", "--plan", "p"], "give http://HOST:PORT"),
    ],
)
def test_what_is_missing_to_load_a_server_is_named(words: list[str], told: str) -> None:
    """A wrong command line ends at once with the option that mends it."""
    ended = run_kit(*words)
    assert ended.returncode == 1
    assert told in ended.stderr


def test_a_plan_file_is_written_for_other_servers(tmp_path: Path) -> None:
    """It has the members that the published importer requires."""
    path = tmp_path / "plan.json"
    assert run_kit("--write-plan", str(path), "--plan", "p", "--tasks", "3").returncode == 0
    plan = json.loads(path.read_text())
    assert (plan["project"], len(plan["tasks"])) == ("p", 3)
    assert {"id", "status", "priority", "description"} <= set(plan["tasks"][0])
