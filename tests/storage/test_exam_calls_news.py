"""The exam on service calls: what is told of many calls at once."""

from __future__ import annotations

from hiringhall.domain.call import Answer, Dispatch
from hiringhall.ports.calls import CountCalls, FindNews, News
from tests.storage.call_desk import ANN, BEN, CallDesk, feedback


async def test_calls_that_go_on_are_no_news(calls: CallDesk) -> None:
    """Of many calls those are told that have ended, are gone, or have feedback; what waits or runs is left out."""
    await calls.hire(ANN)
    await calls.calls("r-1", "r-2", "r-3", "r-4")
    await calls.answer(ANN, (await calls.take_call(ANN, limit=1)).request_id)
    await calls.take_call(ANN, limit=1)
    assert await calls.tell(ANN, feedback("r-2"), feedback("r-2")) == 2
    await calls.take_call(ANN, limit=1)
    asked = FindNews(("r-4", "r-3", "r-2", "r-1", "r-nobody"))
    assert sorted(await calls.read(asked)) == [
        News("r-1", 0, ended=True),
        News("r-2", 2, ended=False),
        News("r-nobody", 0, ended=True),
    ]
    assert await calls.read(FindNews(())) == []


async def test_a_call_that_is_to_be_tried_again_has_not_ended(calls: CallDesk) -> None:
    """Between two attempts a call is no news."""
    await calls.hire(ANN)
    await calls.calls("r-1", retries=1)
    await calls.take_call(ANN)
    await calls.answer(ANN, "r-1", Answer.ERROR)
    assert await calls.read(FindNews(("r-1",))) == []
    assert await calls.read(CountCalls()) == {"math": {"retrying": 1}}


async def test_calls_are_counted(calls: CallDesk) -> None:
    """By service and state; a broadcast counts once, whatever its parts."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", "r-2")
    await calls.calls("r-3", dispatch=Dispatch.BROADCAST)
    await calls.answer(ANN, (await calls.take_call(ANN, limit=1)).request_id)
    assert await calls.read(CountCalls()) == {"math": {"done": 1, "ready": 1, "waiting": 1}}
