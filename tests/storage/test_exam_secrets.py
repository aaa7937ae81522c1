"""The exam, part 5 b: a new secret takes the place of the one that it was compared with, and of no other."""

from __future__ import annotations

import pytest

from hiringhall.ports.identity import FindSecrets, HashedSecret, Put, PutClient, PutService
from tests.storage.desk import Desk

FIRST, SECOND, THIRD = (HashedSecret(name, "argon2", "$argon2id$" + name) for name in ("s1", "s2", "s3"))


@pytest.mark.parametrize(("kind", "role"), [(PutService, "worker"), (PutClient, "client")])
async def test_a_secret_that_was_outrun_is_not_stored(desk: Desk, kind: type, role: str) -> None:
    """If another secret has come since the present one was looked at, nothing is stored, and none ends."""

    async def secrets() -> list[str]:
        return [view.id for view in await desk.read(FindSecrets(((role, "math"),), desk.now))]  # type: ignore[arg-type]

    assert await desk.ask(kind("math", secret=FIRST)) == Put(True)
    assert await desk.ask(kind("math", secret=SECOND, instead_of="s1")) == Put(False)
    assert await desk.ask(kind("math", secret=THIRD, instead_of="s1")) == Put(False, outrun=True)
    assert await desk.ask(kind("math", secret=THIRD, instead_of="s1", retire=True)) == Put(False, outrun=True)
    assert await secrets() == ["s2", "s1"]
    assert await desk.ask(kind("math", secret=THIRD, instead_of="s2", retire=True)) == Put(False)
    assert await secrets() == ["s3"]
