"""The way from a client command to the server: where it is, what opens it, and its refusals in plain words."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import quote, urlsplit

import typer

from hiringhall.auth.first_start import SERVER_FILE
from hiringhall.cli.trouble import Trouble
from hiringhall.config import default_data

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 120.0

ServerOption = Annotated[
    str | None, typer.Option("--server", metavar="URL", help="The server. [HALL_SERVER, else DIR/server.json]")
]
TokenOption = Annotated[
    str | None,
    typer.Option("--token", metavar="TEXT", help="The operator's token. [HALL_ADMIN_TOKEN, else DIR/server.json]"),
]
DataOption = Annotated[
    str | None,
    typer.Option("--data", metavar="DIR", help="The server's data folder. [HALL_DATA, else $XDG_DATA_HOME/hiringhall]"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def plan_path(plan: str) -> str:
    """The path of a plan's routes."""
    return f"/admin/plans/{quote(plan, safe='')}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is. `origin` says who said so; `made` holds the tokens that the server made and wrote down."""

    url: str
    origin: str
    made: dict[str, str]
    file: Path

    def token(self, name: str, variable: str, given: str | None, flag: str) -> tuple[str | None, str]:
        """A token and where it comes from: the flag, the variable, or what the server wrote down."""
        if given:
            return given, flag
        in_environment = os.environ.get(variable, "").split(",")[0].strip()
        if in_environment:
            return in_environment, variable
        return self.made.get(name), str(self.file)


def find_server(server: str | None, data: str | None) -> Place:
    """Where the server is: as told, or as it wrote down itself.

    What a server wrote down opens that server alone: its tokens are never sent to another address.
    """
    file = Path(data or os.environ.get("HALL_DATA") or default_data()) / SERVER_FILE
    told, origin = (server, "--server") if server else (os.environ.get("HALL_SERVER"), "HALL_SERVER")
    written = _read(file)
    url = (told or "").rstrip("/")
    if not url:
        if not written:
            raise Trouble(
                f"no server is known: there is no {file}",
                "start one with `hall serve`, or name one with --server or HALL_SERVER (or its folder with --data)",
            )
        return Place(written.get("url", ""), str(file), written, file)
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise Trouble(f"{origin}: must be an address like http://127.0.0.1:8400", status=2)
    return Place(url, origin, written if written.get("url") == url else {}, file)


def _read(file: Path) -> dict[str, str]:
    try:
        found = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as problem:
        raise Trouble(f"{file} cannot be read: {getattr(problem, 'strerror', None) or problem}") from None
    return {key: value for key, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}


class Refusal(Trouble):
    """The server refused. `envelope` is what it said."""

    def __init__(self, status: int, envelope: dict[str, Any], *lines: str) -> None:
        super().__init__(*lines)
        self.http_status = status
        self.envelope = envelope


class Unreachable(Trouble):
    """The server does not answer."""


class Connection:
    """Speaks to one server as its operator."""

    def __init__(self, server: str | None = None, token: str | None = None, data: str | None = None) -> None:
        import httpx

        self.place = find_server(server, data)
        self._token, self._token_origin = self.place.token("admin_token", "HALL_ADMIN_TOKEN", token, "--token")
        if self._token is None:
            raise Trouble(
                f"no operator token for {self.place.url}: set HALL_ADMIN_TOKEN or give --token",
                f"({self.place.file} holds only tokens that the server made itself)",
            )
        if not all("!" <= character <= "~" for character in self._token):  # the complaint of httpx would show it
            raise Trouble(f"{self._token_origin}: a token is visible ASCII characters")
        self._client: httpx.Client = httpx.Client(
            base_url=self.place.url,
            headers={"authorization": f"Bearer {self._token}"},
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            trust_env=not _is_loopback(self.place.url),
        )

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, method: str, path: str, **how: Any) -> Any:
        """The body of the answer.

        Raises:
            Refusal: the server answered, but not with what was wanted.
            Unreachable: it did not answer.
        """
        return self._decoded(self.answer(method, path, **how))

    def answer(self, method: str, path: str, **how: Any) -> httpx.Response:
        """The answer as it came; raises what `call` raises."""
        import httpx

        try:
            answer = self._client.request(method, path, **how)
        except httpx.TransportError as problem:
            raise self._unreachable(problem) from None
        if answer.is_success:
            return answer
        raise self._refusal(answer)

    @contextlib.contextmanager
    def stream(self, path: str, *, headers: dict[str, str], read_seconds: float) -> Iterator[Iterator[bytes]]:
        """The pieces of an answer as they come; raises what `call` raises, also while they come."""
        import httpx

        timeout = httpx.Timeout(read_seconds, connect=CONNECT_SECONDS)
        try:
            with self._client.stream("GET", path, headers=headers, timeout=timeout) as answer:
                if not answer.is_success:
                    answer.read()
                    raise self._refusal(answer)
                yield answer.iter_bytes()
        except httpx.TransportError as problem:
            raise self._unreachable(problem) from None

    def _decoded(self, answer: httpx.Response) -> Any:
        try:
            return answer.json()
        except ValueError:
            raise Trouble(f"what answers at {self.place.url} is not a hall: it does not speak JSON") from None

    def _unreachable(self, problem: Exception) -> Unreachable:
        place = self.place
        why = str(problem) or type(problem).__name__
        if place.origin == str(place.file):
            return Unreachable(
                f"the server is not running: {place.file} names {place.url}, where nobody answers ({why})",
                f"start it with `hall serve --data {place.file.parent}`",
            )
        return Unreachable(
            f"no server answers at {place.url} ({why})", f"start one with `hall serve`, or mend {place.origin}"
        )

    def _refusal(self, answer: httpx.Response) -> Trouble:
        try:
            envelope = answer.json()
            detail = str(envelope["detail"])
        except (ValueError, KeyError, TypeError):
            return Trouble(f"what answers at {self.place.url} is not a hall: status {answer.status_code}")
        lines = [detail]
        if answer.status_code in (401, 403):
            lines = [f"{self.place.url} does not accept the operator token from {self._token_origin}: {detail}"]
        elif answer.status_code >= 500 and "correlation_id" not in envelope:
            lines.append("try again in a moment")
        return Refusal(answer.status_code, envelope, *lines)


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
