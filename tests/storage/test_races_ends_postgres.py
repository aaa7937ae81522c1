"""Replicas at once on one PostgreSQL database, of which one ends what the other is about to use, or to end too."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hiringhall.domain.refusals import Refused
from hiringhall.ports.calls import ForgetCalls, Submitted, Withdraw
from hiringhall.ports.identity import DeleteService
from tests.storage.call_desk import ANN, MATH, call, response
from tests.storage.call_replicas import CallReplicas
from tests.storage.test_races_postgres import begun, outcome

WAYS = [pytest.param({}, id="usual"), pytest.param({"key": b"k", "body": b"b"}, id="with a key")]
SAME_ID = """
    INSERT INTO request (work, request_id, client, service, method, dispatch, lane, policy, deadline_at, made_at)
    VALUES (0, 'r-1', '', '', '', '', 0, '', 0, 0)
"""


async def serve(halls: CallReplicas) -> None:
    """A service with a worker and a lane in which nothing is open."""
    await halls.hire(ANN)
    await halls.submit("r-0")
    await outcome(halls.one, Withdraw("r-0", "web"))


async def test_two_replicas_forget_the_same_call(halls: CallReplicas) -> None:
    """A call that two replicas are about to forget at once is forgotten by one of them, and counted off once."""
    await halls.hire(ANN)
    await halls.submit("r-1")
    assert await halls.drain(ANN) == ["r-1"]
    await outcome(halls.one, response(ANN, "r-1"))
    await halls.observer.execute("UPDATE result SET at = 0")
    async with halls.locked("work", "state = 'done'"):
        sweeps = begun(outcome(halls.one, ForgetCalls())), begun(outcome(halls.other, ForgetCalls()))
        await halls.waiting(2)
    assert sorted([swept.changed for swept in await asyncio.gather(*sweeps)]) == [0, 1]
    await halls.call_books_balance()


@pytest.mark.parametrize("members", WAYS)
async def test_a_service_is_deleted_while_a_call_is_being_stored(halls: CallReplicas, members: dict[str, Any]) -> None:
    """A call that is accepted is seen by whoever wants to delete its service: it is not deleted."""
    await serve(halls)
    same_id = halls.observer.transaction()
    await same_id.start()
    await halls.observer.execute(SAME_ID)  # the call is half stored: it waits for what becomes of another of its id
    submitting = begun(outcome(halls.one, call("r-1", **members)))
    await halls.waiting(1)
    deleting = begun(outcome(halls.other, DeleteService(MATH)))
    await halls.waiting(2)
    await same_id.rollback()
    assert await submitting == Submitted("r-1")
    refused = await deleting
    assert isinstance(refused, Refused)
    assert refused.code == "in_use"
    assert await halls.drain(ANN) == ["r-1"]


@pytest.mark.parametrize("members", WAYS)
async def test_a_call_comes_while_its_service_is_being_deleted(halls: CallReplicas, members: dict[str, Any]) -> None:
    """A call that comes while its service is being deleted is refused, and not left waiting for nobody."""
    await serve(halls)
    async with halls.observer.transaction():
        await halls.observer.execute("LOCK TABLE setting IN SHARE MODE")  # the service is deleted, and not committed
        deleting = begun(outcome(halls.one, DeleteService(MATH)))
        await halls.waiting(1)
        submitting = begun(outcome(halls.other, call("r-1", **members)))
        await halls.waiting(2)
    assert await deleting is True
    refused = await submitting
    assert isinstance(refused, Refused)
    assert refused.code == "unknown_service"
