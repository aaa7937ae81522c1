"""What is done to many units goes in portions, on the databases: no transaction grows with what has gathered."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from hiringhall.domain.call import Dispatch
from hiringhall.ports.asks import Swept
from hiringhall.ports.calls import Submitted, SweepDeadlines
from hiringhall.storage.procedures import withdraw
from tests.storage.call_desk import ANN, BEN, CallDesk
from tests.storage.conftest import TERMS
from tests.storage.subjects import KINDS, open_subject


@pytest.fixture(params=[kind for kind in KINDS if kind != "model"])
async def desk(request: pytest.FixtureRequest) -> AsyncIterator[CallDesk]:
    """A desk at each database."""
    async with open_subject(request.param, TERMS, request) as subject:
        yield CallDesk(subject, TERMS)


async def test_broadcasts_expire_in_portions(desk: CallDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts of broadcasts count among the units that end in one pass; what is left over ends in the next."""
    monkeypatch.setattr(withdraw, "ENDED_AT_ONCE_MAX", 4)
    await desk.hire(ANN, BEN)
    for number in range(3):
        request_id = f"r-{number}"
        assert await desk.submit(request_id, dispatch=Dispatch.BROADCAST, deadline_ms=5_000) == Submitted(request_id)
    desk.now += 5_000
    assert [await desk.ask(SweepDeadlines()) for _ in range(4)] == [
        Swept(3, more=True),
        Swept(3, more=True),
        Swept(3),
        Swept(),
    ]
