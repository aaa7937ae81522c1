"""The data folder: locked, private, and the tokens that the hall makes when none are configured."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from hiringhall.auth.first_start import Folder, FolderInUse
from hiringhall.bootstrap import Server, build
from hiringhall.config import BadSetting, read_settings


async def server(folder: Path, **environment: str) -> Server:
    """A server on that folder."""
    return await build(read_settings({"data": str(folder), "port": 0}, environment, folder.parent))


def mode(path: Path) -> int:
    """The permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


def written(folder: Path) -> dict[str, Any]:
    """What server.json says."""
    found = json.loads((folder / "server.json").read_text())
    assert isinstance(found, dict)
    return found


async def test_tokens_are_made_and_used_again(tmp_path: Path) -> None:
    """Without configured tokens an operator and a bootstrap token are made, never a worker's, and used again."""
    folder = tmp_path / "data"
    first = await server(folder)
    first.announce("http://127.0.0.1:1")
    before = written(folder)
    await first.close()
    assert set(before) == {"url", "admin_token", "bootstrap_token"}
    assert (mode(folder), mode(folder / "server.json")) == (0o700, 0o600)
    second = await server(folder)
    second.announce("http://127.0.0.1:2")
    after = written(folder)
    bearer = second.hall.tokens.bearer(b"Bearer " + after["admin_token"].encode())
    await second.close()
    assert bearer.is_operator
    assert after == {**before, "url": "http://127.0.0.1:2"}


@pytest.mark.parametrize(
    ("member", "value"),
    [("key", "short"), ("trusted_proxies", "here"), ("probe_networks", "here"), ("worker_token", "1,2,3")],
)
async def test_a_complaint_names_the_file(tmp_path: Path, member: str, value: str) -> None:
    """What is wrong in `hall.toml` is said to stand there."""
    (tmp_path / "hall.toml").write_text(f'{member} = "{value}"\n')
    with pytest.raises(BadSetting) as caught:
        await server(tmp_path / "data")
    assert str(caught.value).startswith(f"{member} in {tmp_path / 'hall.toml'}: ")


async def test_a_key_file_that_holds_no_text_is_named(tmp_path: Path) -> None:
    """A file of keys that is no text is refused by its name."""
    (tmp_path / "keys").write_bytes(b"\xff\xfe")
    with pytest.raises(BadSetting) as caught:
        await server(tmp_path / "data", HALL_KEY_FILE=str(tmp_path / "keys"))
    assert str(caught.value).startswith(f"HALL_KEY_FILE: {tmp_path / 'keys'} must be ")


async def test_configured_tokens_are_never_written(tmp_path: Path) -> None:
    """server.json holds only tokens that the hall made."""
    folder = tmp_path / "data"
    made = await server(folder, HALL_ADMIN_TOKEN="one,two", HALL_WORKER_TOKEN="shared")
    made.announce("http://127.0.0.1:1")
    tokens = made.hall.tokens
    bearers = [tokens.bearer(b"Bearer " + name) for name in (b"one", b"two", b"shared")]
    await made.close()
    assert [bearer.is_operator for bearer in bearers] == [True, True, False]
    assert bearers[2].is_worker
    assert set(written(folder)) == {"url", "bootstrap_token"}


async def test_a_second_server_names_the_first(tmp_path: Path) -> None:
    """The folder is locked while a server works in it."""
    folder = tmp_path / "data"
    first = await server(folder)
    first.announce("http://127.0.0.1:1234")
    with pytest.raises(FolderInUse, match=rf"http://127\.0\.0\.1:1234 \(process {os.getpid()}\).*--data"):
        await server(folder)
    await first.close()
    await (await server(folder)).close()


def test_an_older_folder_is_made_private(tmp_path: Path) -> None:
    """A folder that others could read is closed to them."""
    tmp_path.chmod(0o755)
    Folder(tmp_path).close()
    assert mode(tmp_path) == 0o700


async def test_postgres_needs_an_operator_token(tmp_path: Path) -> None:
    """With a shared database the operator token must be configured; the complaint names the setting."""
    with pytest.raises(BadSetting, match="HALL_ADMIN_TOKEN"):
        await server(tmp_path / "data", HALL_DATABASE="postgresql://localhost/x")


async def test_too_many_values_are_refused(tmp_path: Path) -> None:
    """More than two values of one token setting are an error that names it."""
    with pytest.raises(BadSetting, match="HALL_WORKER_TOKEN: takes up to 2 values"):
        await server(tmp_path / "data", HALL_WORKER_TOKEN="a,b,c")
    await (await server(tmp_path / "data")).close()
