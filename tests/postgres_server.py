"""A real PostgreSQL server of the test run's own: durable, on loopback, stopped by its pid, its data under /tmp."""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg

from tests.waiting import until

HOME = Path("/tmp")  # short enough for a unix socket, whatever TMPDIR is
PREFIX = "hiringhall-postgres-"
ATTEMPTS_AT_A_FREE_PORT = 5
ORPHANS_REMAIN = "is still in use"
STATUS_LINE = 7  # of postmaster.pid
StopMode = Literal["smart", "fast", "immediate"]
STOP_SIGNALS: dict[StopMode, signal.Signals] = {
    "smart": signal.SIGTERM,
    "fast": signal.SIGINT,
    "immediate": signal.SIGQUIT,
}

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "log_min_messages": "warning",
    "log_lock_waits": "on",
}


class DatabaseAdministrator:
    """Makes and drops databases on a server that already runs, through one connection in a thread of its own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._numbers = itertools.count(1)
        self._run_id = secrets.token_hex(3)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="database administrator", daemon=True)
        self._thread.start()
        self._connection: asyncpg.Connection[Any] | None = None

    def create_database(self) -> str:
        """Make an empty database and return its URL."""
        name = f"hall_{self._run_id}_{next(self._numbers)}"
        self.execute(f'CREATE DATABASE "{name}"')
        return url_of_database(self.url, name)

    def drop_database(self, url: str) -> None:
        """Drop a database, whoever is still connected to it."""
        name = urlsplit(url).path.lstrip("/")
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def execute(self, statement: str) -> None:
        """Run one statement in the maintenance database."""
        asyncio.run_coroutine_threadsafe(self._execute(statement), self._loop).result(60)

    def close(self) -> None:
        """Give the connection and the thread back."""
        if self._connection is not None:
            asyncio.run_coroutine_threadsafe(self._connection.close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _execute(self, statement: str) -> None:
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(self.url, timeout=20)
        await self._connection.execute(statement)


class PostgresServer:
    """One server process with data of its own. `start`, `stop` and `restart` keep the port and the data."""

    def __init__(self, binaries: Path, settings: Mapping[str, str] | None = None) -> None:
        self.binaries = binaries
        self.settings = {**SETTINGS, **(settings or {})}
        self.account = _unprivileged_account()
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=HOME))
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        self._owned = _own(self.folder)
        self._process: subprocess.Popen[bytes] | None = None
        self._password = secrets.token_urlsafe(12)
        self.port = 0
        if self.account:
            os.chown(self.folder, self.account.pw_uid, self.account.pw_gid)
        try:
            self._initialise()
            self._start_on_a_free_port()
        except BaseException:
            self.remove()
            raise

    @property
    def url(self) -> str:
        """The maintenance database, as its superuser."""
        return self.url_of("postgres")

    @property
    def pid(self) -> int | None:
        """The process id of the running server, None while it is stopped."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def url_of(self, database: str) -> str:
        """The URL of a database of this server."""
        return f"postgresql://hall:{quote(self._password)}@127.0.0.1:{self.port}/{quote(database)}"

    def start(self) -> None:
        """Start the stopped server, on the port it had, and return when it accepts connections."""
        assert self.pid is None, "PostgreSQL is running already"
        self._launch()
        try:
            until(self._is_ready, within_seconds=60, waiting_for="PostgreSQL to accept connections")
        except AssertionError as problem:
            raise AssertionError(f"{problem}\n{self._logged()}") from None

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop the running server and return when its process is gone; `immediate` is a crash: recovery follows."""
        self._end(STOP_SIGNALS[mode])

    def restart(self, mode: StopMode = "immediate") -> None:
        """Stop and start again."""
        self.stop(mode)
        self.start()

    def kill(self) -> None:
        """SIGKILL the server's main process; its children end by themselves, which `start` waits for."""
        self._end(signal.SIGKILL)

    def remove(self) -> None:
        """End the server, if it runs, and take its data away."""
        if self.pid is not None:
            self._end(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._owned.close()

    def _launch(self) -> None:
        options = {**self.settings, "port": str(self.port), "unix_socket_directories": str(self.folder)}
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        command = [str(self.binaries / "postgres"), "-D", str(self.data), *words]
        self.log.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen[bytes](command, stdout=log, stderr=log, **self._surroundings())

    def _is_ready(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            if ORPHANS_REMAIN not in self._logged():
                raise AssertionError(f"PostgreSQL ended with {self._process.returncode}:")
            self._launch()
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > STATUS_LINE and lines[0] == str(self._process.pid) and lines[STATUS_LINE].strip() == "ready"

    def _end(self, number: signal.Signals) -> None:
        assert self._process is not None, "PostgreSQL is not running"
        assert self.pid is not None, f"PostgreSQL is not running:\n{self._logged()}"
        self._process.send_signal(number)
        self._process.wait(60)

    def _initialise(self) -> None:
        password_file = self.folder / "password"
        password_file.write_text(self._password)
        if self.account:
            os.chown(password_file, self.account.pw_uid, self.account.pw_gid)
        common = [str(self.binaries / "initdb"), "-D", str(self.data), "--username=hall", "--auth=scram-sha-256"]
        common += ["--pwfile", str(password_file)]
        # A linguistic order of text, as on most production servers: an ORDER BY that needs bytewise order shows here.
        linguistic = ["--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US"]
        for order in (linguistic, ["--encoding=UTF8", "--locale=C"]):
            with self.log.open("ab") as log:
                ended = subprocess.run(
                    [*common, *order], stdout=log, stderr=log, timeout=120, check=False, **self._surroundings()
                )
            if ended.returncode == 0:
                break
            shutil.rmtree(self.data, ignore_errors=True)
        else:
            raise AssertionError(f"initdb failed:\n{self._logged()}")
        password_file.unlink()

    def _start_on_a_free_port(self) -> None:
        for attempt in range(ATTEMPTS_AT_A_FREE_PORT):
            self.port = _free_port()
            try:
                self.start()
            except AssertionError:
                if attempt + 1 == ATTEMPTS_AT_A_FREE_PORT or "Address already in use" not in self._logged():
                    raise
            else:
                return

    def _surroundings(self) -> dict[str, Any]:
        """How a program is run: as the unprivileged account, in a group of its own, without PG… settings."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
        account = self.account
        identity = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
        return {"stdin": subprocess.DEVNULL, "cwd": self.folder, "env": environment, "process_group": 0, **identity}

    def _logged(self) -> str:
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""


def url_of_database(url: str, name: str) -> str:
    """The same server, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{quote(name)}"))


def clean_leftovers() -> None:
    """End the servers, and remove the data, of test runs that were killed before they could."""
    for owner in HOME.glob(f"{PREFIX}*/owner"):
        try:
            owned = _own(owner.parent)
        except OSError:  # a living run has it, or another user, or it is gone already
            continue
        _end_and_remove(owner.parent)
        owned.close()


def _own(folder: Path) -> Any:
    """Lock a folder for as long as this process lives; BlockingIOError if another one has it."""
    file = (folder / "owner").open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


def _end_and_remove(folder: Path) -> None:
    data = folder / "data"
    pid = _pid_of(data)
    if pid is not None:
        os.kill(pid, signal.SIGCONT)
        os.kill(pid, signal.SIGQUIT)
        until(lambda: not _is_postgres(pid, data), within_seconds=30, waiting_for=f"the end of PostgreSQL {pid}")
    shutil.rmtree(folder, ignore_errors=True)


def _pid_of(data: Path) -> int | None:
    try:
        pid = int((data / "postmaster.pid").read_text().split()[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    return pid if _is_postgres(pid, data) else None


def _is_postgres(pid: int, data: Path) -> bool:
    """Whether this process is the server of that data, and no later process that was given the same number."""
    if Path("/proc/self").exists():
        try:
            arguments = Path(f"/proc/{pid}/cmdline").read_text()
        except OSError:
            return False
    else:
        arguments = subprocess.run(
            ["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False
        ).stdout
    return str(data) in arguments


def _unprivileged_account() -> pwd.struct_passwd | None:
    """Whom the server runs as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise AssertionError("PostgreSQL refuses to run as root, and there is no account postgres or nobody")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
