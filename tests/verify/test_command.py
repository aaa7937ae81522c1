"""`hall verify` as people and machines run it: reports, exit statuses, lists of what is known to fail."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from conformance.record import passed

from hiringhall.verify.known_failing import read_known
from hiringhall.verify.loading import load_cases, load_server_cases
from tests.hall_process import ADMIN_TOKEN, BOOTSTRAP_TOKEN, Database, HallProcess
from tests.missing import missing
from tests.verify.small_worker import alive
from tests.waiting import until

WORKERS = Path(__file__).parents[2] / "conformance/workers"
PYTHON = {protocol: (sys.executable, str(WORKERS / f"python_{protocol}.py")) for protocol in ("services", "plans")}
ENDS_AT_ONCE = (sys.executable, "-S", "-c", "print('good\\x1b[31mbye'); raise SystemExit(7)")
AT_ONCE = "16"


def verify(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """What `hall verify` says."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("HALL_")}
    return subprocess.run(
        [sys.executable, "-m", "hiringhall.cli.main", "verify", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env=surroundings,
    )


@pytest.mark.parametrize("protocol", ["services", "plans"])
def test_the_python_workers_pass_every_case(protocol: str, tmp_path: Path) -> None:
    """The verification workers of the Python SDK pass all cases of both protocols."""
    junit = tmp_path / "junit.xml"
    ended = verify("worker", "--protocol", protocol, "--jobs", AT_ONCE, "--junit", junit, "--", *PYTHON[protocol])
    assert ended.returncode == 0, ended.stdout
    suite = ET.fromstring(junit.read_text())
    cases = load_cases((protocol,))
    assert suite.attrib["tests"] == str(len(cases))
    assert suite.attrib["failures"] == "0"
    assert {element.attrib["name"] for element in suite.iter("testcase")} == {case.name for case in cases}
    assert f"{len(cases)} passed" in ended.stdout
    recorded = (WORKERS.parent / "results/python.txt").read_text().split()
    assert passed([junit]) == [title for title in recorded if title.startswith(protocol)], (
        "record it: python conformance/record.py python REPORT..."
    )


def test_a_worker_in_shell_passes_the_core_cases(tmp_path: Path) -> None:
    """A worker needs no SDK: one in bash and curl passes every core case, and its record says what else it passes."""
    for program in ("bash", "curl"):
        if shutil.which(program) is None:
            missing(program, f"install {program}, of which the worker without an SDK is made")
    ended = verify(
        "worker", "--protocol", "plans", "--level", "core", "--jobs", AT_ONCE, "--", "bash", WORKERS / "plans.sh"
    )
    assert ended.returncode == 0, ended.stdout
    titles = {case.title for case in load_cases(("plans",))}
    recorded = set((WORKERS.parent / "results/shell.txt").read_text().split())
    assert recorded == titles - set(read_known(WORKERS.parent / "known_failing/shell.txt"))


def test_a_failure_is_told_in_full(tmp_path: Path) -> None:
    """A report names the case, the sentence, what was expected and seen, the story, and what the worker printed."""
    junit = tmp_path / "junit.xml"
    ended = verify("worker", "--only", "plans/sigterm-idle", "--junit", junit, "--", *ENDS_AT_ONCE)
    assert ended.returncode == 1
    told = ended.stdout
    assert "FAIL  plans/sigterm-idle" in told
    assert "process exit 0" in told
    assert re.search(r"expected: .*\n\s+seen: .*status 7", told)
    assert "the worker has ended: status 7" in told
    assert "good" in told
    assert "\x1b" not in told
    assert "1 failed" in told
    failure = next(ET.fromstring(junit.read_text()).iter("failure"))
    assert "status 7" in str(failure.text)


def test_a_known_failure_is_none_until_it_passes(tmp_path: Path) -> None:
    """What is listed may fail; when it passes, the run fails and says which line to take off the list."""
    known = tmp_path / "known.txt"
    known.write_text("# a remark\nplans/sigterm-idle  # it ends too early\n")
    arguments = ("worker", "--only", "plans/sigterm-idle", "--known-failing", known, "--")
    failing = verify(*arguments, *ENDS_AT_ONCE)
    assert failing.returncode == 0
    assert "1 failed as known" in failing.stdout
    passing = verify(*arguments, *PYTHON["plans"])
    assert passing.returncode == 1
    assert "plans/sigterm-idle is listed as known-failing, and passes" in passing.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("worker", "--protocol", "carrier-pigeon", "--", "true"), "carrier-pigeon is none of services, plans"),
        (("worker", "--level", "hard", "--", "true"), "hard is none of core, fault, optional"),
        (("worker", "--only", "nothing-like-it", "--", "true"), "there is no such case"),
        (("worker", "--only", "sigterm-idle", "--", "/no/such/program"), "/no/such/program cannot be run"),
        (("worker", "--known-failing", "/no/such/list", "--", "true"), "/no/such/list cannot be read"),
        (("server", "http://127.0.0.1:9"), "no server answers at http://127.0.0.1:9"),
    ],
)
def test_bad_use_is_told_plainly(arguments: tuple[str, ...], told: str) -> None:
    """A mistake in the command is one line on standard error, and exit status 2."""
    ended = verify(*arguments)
    assert ended.returncode == 2, ended.stdout
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_interrupted_run_leaves_no_worker(tmp_path: Path) -> None:
    """Ctrl-C ends the run with the status that shells expect, and every worker with it."""
    started = tmp_path / "started"
    program = f"import os, time; open({str(started)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    command = ("worker", "--only", "plans/sigterm-idle", "--", sys.executable, "-S", "-c", program)
    run = subprocess.Popen([sys.executable, "-m", "hiringhall.cli.main", "verify", *command], stdout=subprocess.DEVNULL)
    try:
        pid = until(lambda: started.exists() and started.read_text(), waiting_for="the worker to start")
        run.send_signal(signal.SIGINT)
        assert run.wait(15) == 130
        until(lambda: not alive(int(str(pid))), waiting_for="the worker to end")
    finally:
        run.kill()
        run.wait()


def test_a_list_with_a_wrong_name_is_refused(tmp_path: Path) -> None:
    """A title in the list that is no case is an error: it would hide a failure for ever."""
    known = tmp_path / "known.txt"
    known.write_text("plans/no-such-case\n")
    ended = verify("worker", "--known-failing", known, "--", "true")
    assert ended.returncode == 2
    assert "plans/no-such-case" in ended.stderr


def test_cases_are_listed() -> None:
    """`hall verify cases` shows every case with its sentence, for either side."""
    listed = verify("cases").stdout.splitlines()
    assert len(listed) == len(load_cases()) + 1
    assert any("services/lock-lost" in line and "so skip." in line for line in listed)
    assert len(verify("cases", "--server", "--protocol", "plans").stdout.splitlines()) == (
        len(load_server_cases(("plans",))) + 1
    )


def test_the_hall_passes_every_case_for_servers(tmp_path: Path) -> None:
    """Our own server passes all cases for servers; without tokens most are skipped and say what they need."""
    hall = HallProcess(Database("sqlite", tmp_path / "data"))
    try:
        url = hall.start().url
        junit = tmp_path / "junit.xml"
        tokens = ("--operator", ADMIN_TOKEN, "--bootstrap", BOOTSTRAP_TOKEN)
        ended = verify("server", url, *tokens, "--jobs", AT_ONCE, "--junit", junit)
        assert ended.returncode == 0, ended.stdout
        assert f"{len(load_server_cases())} passed" in ended.stdout
        assert ET.fromstring(junit.read_text()).attrib["skipped"] == "0"
        without = verify("server", url)
        assert without.returncode == 0, without.stdout
        assert "skip  plans/complete: it needs --operator" in without.stdout
    finally:
        hall.close()


def test_a_server_that_answers_otherwise_fails(tmp_path: Path) -> None:
    """With a wrong bootstrap token the server refuses, and the report shows its answer."""
    hall = HallProcess(Database("sqlite", tmp_path / "data"))
    try:
        ended = verify("server", hall.start().url, "--bootstrap", "wrong", "--only", "register-mints-*")
        assert ended.returncode == 1
        assert "status: expected 201, was 401" in ended.stdout
        assert "missing_or_invalid_bootstrap" in ended.stdout
    finally:
        hall.close()
