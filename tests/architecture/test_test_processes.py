"""The tests' own handling of server processes keeps its word."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hall_process import TOKENS, Database, HallProcess
from tests.pythons import find_python

STAND_IN = """
import os, signal, socket, sys
port = int(sys.argv[sys.argv.index("--port") + 1])
listener = socket.create_server(("127.0.0.1", port))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("settings", sorted(name for name in os.environ if name.startswith("HALL_")), file=sys.stderr)
if "HALL_BROKEN" in os.environ:
    sys.exit("hall: HALL_BROKEN is set")
print(f"hall: ready on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
while True:
    signal.pause()
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[HallProcess]:
    """A process that behaves, from outside, like a server."""
    script = tmp_path / "stand_in.py"
    script.write_text(STAND_IN)
    process = HallProcess(Database("sqlite", tmp_path / "data"), program=(sys.executable, str(script)))
    yield process
    process.close()


def state_of(pid: int) -> str:
    """The letter that Linux shows for the state of a process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_server_keeps_its_port(stand_in: HallProcess) -> None:
    """Stopped, killed and started again, the server answers where it did."""
    url = stand_in.start().url
    assert stand_in.restart().url == url
    assert stand_in.restart(kill=True, settings={"HALL_CLAIM_HOLD": 0.5}).url == url
    assert "HALL_CLAIM_HOLD" in stand_in.stderr
    assert all(name in stand_in.stderr for name in TOKENS)
    assert stand_in.stop() == 0


def test_a_killed_server_has_no_clean_end(stand_in: HallProcess) -> None:
    """The exit status of a killed server names the signal, even of one that was suspended."""
    stand_in.start().suspend()
    stand_in.kill()
    assert stand_in.wait() == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="the state of a process is read from /proc")
def test_a_suspended_server_stands_still(stand_in: HallProcess) -> None:
    """A suspended server is stopped, goes on when resumed, and is ended by close as it stands."""
    stand_in.start().suspend()
    assert state_of(stand_in.pid) == "T"
    stand_in.resume()
    assert state_of(stand_in.pid) != "T"
    stand_in.suspend()
    stand_in.close()
    assert not stand_in.running


def test_a_server_that_cannot_start_shows_why(stand_in: HallProcess) -> None:
    """What a failed server wrote stands in the failure."""
    stand_in.settings["HALL_BROKEN"] = "1"
    with pytest.raises(AssertionError, match="HALL_BROKEN is set"):
        stand_in.start()


def test_an_interpreter_is_found() -> None:
    """The version that runs these tests is one that can be found, and an impossible one is not."""
    assert find_python(oldest=(3, 11), newest=(3, 13))
    assert find_python(oldest=(3, 90), newest=(3, 91)) is None
