"""`hall serve`: what it prints, and how it refuses to start."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from hiringhall.config import SETTINGS
from hiringhall.storage.sqlite.connection import open_connection
from tests.conftest import StartHall
from tests.end_to_end.shell import Shell, finished, shell_of, until_written, written
from tests.hall_process import Database

DROP_CAPABILITY, OVERRIDE_PERMISSIONS = 24, 1
"""PR_CAPBSET_DROP and CAP_DAC_OVERRIDE of Linux."""


def test_a_first_start_makes_tokens_and_keeps_them_to_itself(tmp_path: Path) -> None:
    """Made tokens stand in a file of the user's own, are not printed, and are the same after a restart."""
    folder = tmp_path / "data"
    seen = []
    for start in range(2):
        out = tmp_path / f"out.{start}"
        with out.open("wb") as output:
            server = Shell().start("serve", "--port", "0", "--data", str(folder), stdout=output)
        until_written(out, "server.json")
        seen.append(json.loads((folder / "server.json").read_text()))
        server.send_signal(signal.SIGTERM)
        ran = finished(server)
        assert (ran.status, ran.err) == (0, "")
        assert written(out).startswith(f"hall: ready on {seen[-1]['url']}\n")
        for name in ("admin_token", "bootstrap_token"):
            assert len(seen[-1][name]) > 40
            assert seen[-1][name] not in written(out)
    assert seen[0]["admin_token"] == seen[1]["admin_token"]
    assert stat.S_IMODE((folder / "server.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_second_server_names_the_first(sqlite_database: Database, start_hall: StartHall) -> None:
    """A folder belongs to one server; another one ends with status 1 and says who has it."""
    hall = start_hall(sqlite_database)
    ran = Shell().run("serve", "--port", "0", "--data", str(sqlite_database.directory))
    assert ran.status == 1
    assert hall.url in ran.err
    assert len(ran.err.splitlines()) <= 2


def test_a_taken_port_is_told(tmp_path: Path) -> None:
    """A port that another program has is a plain line, and so is a port that cannot be."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        ran = Shell().run("serve", "--port", port, "--data", str(tmp_path / "data"))
    assert ran.status == 1
    assert f"cannot listen on 127.0.0.1:{port}" in ran.err
    assert "Traceback" not in ran.err
    ran = Shell().run("serve", "--port", "70000", "--data", str(tmp_path / "data"))
    assert (ran.status, ran.err) == (2, "hall: --port: must be a whole number from 0 to 65535\n")


def test_postgres_needs_a_configured_token(tmp_path: Path) -> None:
    """Servers that share a database need one operator token, so none is made; the setting is named."""
    ran = Shell().run("serve", "--database", "postgresql://127.0.0.1:1/none", "--data", str(tmp_path / "data"))
    assert ran.status == 1
    assert "HALL_ADMIN_TOKEN" in ran.err


def test_an_unusable_folder_is_told(tmp_path: Path) -> None:
    """A data folder that cannot be one is a plain line."""
    (tmp_path / "file").write_text("")
    ran = Shell().run("serve", "--port", "0", "--data", str(tmp_path / "file" / "data"))
    assert ran.status == 1
    assert "cannot use the data folder" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("hall.sqlite", "no database, and longer than the header of one " * 20, "hall.sqlite cannot be used"),
        ("hall.sqlite", None, "hall.sqlite cannot be used"),
        ("server.json", None, "server.json"),
    ],
)
def test_a_file_that_is_in_the_way_is_told(tmp_path: Path, file: str, content: str | None, told: str) -> None:
    """What stands where a file of the hall belongs, and is none (None: a folder), is named in one plain line."""
    if content is None:
        (tmp_path / file).mkdir()
    else:
        (tmp_path / file).write_text(content)
    ran = Shell().run("serve", "--port", "0", "--data", str(tmp_path))
    assert ran.status == 1
    assert told in ran.err
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("HALL_DATABASE", "postgresql://hall:no/word@127.0.0.1/hall", "HALL_DATABASE: cannot be understood"),
        ("HALL_DATABASE", "postgresql://hall:noword@127.0.0.1:port/hall", "HALL_DATABASE: cannot be understood"),
        ("HALL_DATABASE_LISTEN", "noword", "HALL_DATABASE_LISTEN: must be a URL"),
        ("HALL_ADMIN_TOKEN", " , ", "HALL_ADMIN_TOKEN: holds no token"),
        ("HALL_BOOTSTRAP_TOKEN", ",", "HALL_BOOTSTRAP_TOKEN: holds no token"),
    ],
)
def test_a_setting_that_cannot_be_is_named(tmp_path: Path, variable: str, value: str, told: str) -> None:
    """One line names the setting, and does not repeat what may be a password."""
    ran = Shell(**{"HALL_ADMIN_TOKEN": "t", variable: value}).run("serve", "--port", "0", "--data", str(tmp_path))
    assert ran.status == 1
    assert told in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "word" not in ran.err.replace("in user and password", "")


def test_a_database_that_refuses_a_setting_is_told(tmp_path: Path, postgres_url: str) -> None:
    """What the database has against its URL is one line."""
    url = f"{postgres_url}{'&' if '?' in postgres_url else '?'}no_such_setting=1"
    shell = Shell(HALL_ADMIN_TOKEN="t", HALL_DATABASE=url)
    ran = shell.run("serve", "--port", "0", "--data", str(tmp_path))
    assert ran.status == 1
    assert "no_such_setting" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_write_protected_database_is_told(tmp_path: Path) -> None:
    """A database file that can be read but not written is refused at the start, not at each request."""
    path = tmp_path / "hall.sqlite"
    open_connection(path, read_only=False).close()
    path.chmod(0o444)
    ran = finished(Shell().start("serve", "--port", "0", "--data", str(tmp_path), preexec_fn=obey_permissions))
    assert ran.status == 1
    assert ran.err == f"hall: the database file {path} cannot be used: it is write-protected\n"


def obey_permissions() -> None:
    """Give up what lets the superuser write any file, before another program is started."""
    if os.geteuid() == 0:
        assert ctypes.CDLL(None).prctl(DROP_CAPABILITY, OVERRIDE_PERMISSIONS, 0, 0, 0) == 0


@pytest.mark.parametrize(("flags", "warnings"), [((), 1), (("--behind-tls",), 0)])
def test_listening_beyond_this_machine_is_warned_about_once(
    tmp_path: Path, flags: tuple[str, ...], warnings: int
) -> None:
    """Without TLS in front, tokens can be read on the way, which is said once; commands still find the server."""
    out, err = tmp_path / "out", tmp_path / "err"
    with out.open("wb") as output, err.open("wb") as errors:
        words = ("serve", "--host", "0.0.0.0", "--port", "0", "--data", str(tmp_path / "data"), *flags)
        server = Shell().start(*words, stdout=output, stderr=errors)
    until_written(out, "server.json")
    assert Shell(HALL_DATA=str(tmp_path / "data")).json("plan", "list") == []
    server.send_signal(signal.SIGTERM)
    assert server.wait(15) == 0
    assert len(written(err).splitlines()) == warnings


def test_every_setting_is_a_flag() -> None:
    """`hall serve --help` names every setting."""
    told = Shell().fine("serve", "--help")
    for setting in SETTINGS:
        assert setting.flag in told


def test_flags_count_before_variables(tmp_path: Path) -> None:
    """A flag overrides a variable, and a variable overrides `hall.toml`."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "hall.toml").write_text('admin_token = "of-the-file"\nclaim_hold = 1.5\n')
    out = tmp_path / "out"
    with out.open("wb") as output:
        shell = Shell(HALL_ADMIN_TOKEN="of-the-variable", HALL_PORT="1")
        server = shell.start("serve", "--port", "0", "--data", str(folder), stdout=output)
    until_written(out, "hall: ready")
    client = Shell(HALL_DATA=str(folder))
    assert client.run("plan", "list", "--token", "of-the-file").status == 1
    assert client.run("plan", "list", "--token", "of-the-variable").status == 0
    server.send_signal(signal.SIGTERM)
    assert finished(server).status == 0


def test_an_interrupted_command_ends_quietly(sqlite_database: Database, start_hall: StartHall, tmp_path: Path) -> None:
    """Ctrl-C in a watch is no crash, and neither is a reader that has seen enough."""
    shell = shell_of(start_hall(sqlite_database))
    shell.apply("P", *(f"T-{number}" for number in range(5_000)))
    said = tmp_path / "said"
    with said.open("wb") as output:
        watch = shell.start("plan", "show", "P", "--watch", stdout=output)
    until_written(said, "ready")
    watch.send_signal(signal.SIGINT)
    ran = finished(watch)
    assert (ran.status, ran.err) == (130, "")
    reader, writer = os.pipe()
    os.close(reader)
    shown = shell.start("plan", "show", "P", "--limit", "5000", stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert "Traceback" not in finished(shown).err


def test_a_full_disk_is_told(sqlite_database: Database, start_hall: StartHall) -> None:
    """Output that cannot be written is one plain line and status 1."""
    with Path("/dev/full").open("wb") as full:
        ran = finished(shell_of(start_hall(sqlite_database)).start("plan", "list", "--json", stdout=full))
    assert (ran.status, ran.err) == (1, "hall: No space left on device\n")
