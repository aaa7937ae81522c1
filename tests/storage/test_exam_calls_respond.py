"""The exam on service calls, part 4: what workers answer."""

from __future__ import annotations

import pytest

from hiringhall.domain.call import Answer, Dispatch
from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import State
from hiringhall.ports.asks import RemoveWorker, Return, SweepRetries
from hiringhall.ports.calls import Goodbye, Responded, SweepDeadlines, Withdraw
from tests.storage.call_desk import ANN, BEN, CAT, FOREIGN, CallDesk, response
from tests.storage.desk import refused


async def test_success(calls: CallDesk) -> None:
    """`success` → result, as it was written; whoever follows the call is woken."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    message = await calls.take_call(ANN)
    written = '{"a": 1e400, "b": "\\u0000 ü"}'.encode()
    assert await calls.answer(ANN, "r-1", result=written) == Responded(message.work, State.DONE)
    assert calls.rung_request("r-1")
    view = await calls.view("r-1")
    assert (view.state, view.answer, view.result, view.error_text) == (State.DONE, Answer.SUCCESS, written, None)
    assert (view.version, view.holder, view.last_holder, view.finished_at) == (3, None, ANN, calls.now)
    (*_, line) = await calls.past("r-1")
    assert (line.move, line.state, line.worker) == ("complete", "done", ANN)


async def test_null_is_a_result(calls: CallDesk) -> None:
    """`null` is not "missing"."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    await calls.take_call(ANN)
    await calls.answer(ANN, "r-1", result=b"null")
    assert (await calls.view("r-1")).result == b"null"


@pytest.mark.parametrize("answer", [Answer.FAILED, Answer.ERROR])
async def test_failure(calls: CallDesk, answer: Answer) -> None:
    """`failed` and `error`: the client sees error_text, and there is no result."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    await calls.take_call(ANN)
    outcome = await calls.answer(ANN, "r-1", answer, error_text="no \x00 'ü'")
    assert (outcome.state, outcome.again, outcome.retrying) == (State.FAILED, False, False)
    assert calls.rung_request("r-1")
    view = await calls.view("r-1")
    assert (view.state, view.answer, view.result, view.error_text) == (State.FAILED, answer, None, "no \x00 'ü'")
    assert view.finished_at == calls.now


async def test_error_is_retried(calls: CallDesk) -> None:
    """`error` is retried if the call asked for it, with back-off, as often as it asked; in between it is pending."""
    await calls.hire(ANN)
    await calls.calls("r-1", retries=2)
    for attempt, delay_ms in ((1, 1_000), (2, 2_000)):
        await calls.take_call(ANN)
        outcome = await calls.answer(ANN, "r-1", Answer.ERROR)
        assert (outcome.state, outcome.retrying) == (State.FAILED, True)
        assert not calls.rung_request("r-1")
        view = await calls.view("r-1")
        assert (view.state, view.answer, view.error_text, view.finished_at) == (State.FAILED, None, None, None)
        assert (view.attempts, view.retry_at) == (attempt, calls.now + delay_ms)
        assert (await calls.drain(ANN)).messages == ()
        calls.now += delay_ms
        assert (await calls.ask(SweepRetries())).changed == 1
        assert calls.rung_lane() == 1
        calls.now += 5_000
    await calls.take_call(ANN)
    outcome = await calls.answer(ANN, "r-1", Answer.ERROR)
    assert (outcome.state, outcome.retrying) == (State.FAILED, False)
    assert await calls.stands("r-1") == "failed: error"


async def test_jitter(calls: CallDesk) -> None:
    """The back-off is jittered down, by up to half."""
    await calls.hire(ANN)
    await calls.calls("r-1", retries=1)
    await calls.take_call(ANN)
    await calls.answer(ANN, "r-1", Answer.ERROR, jitter=1.0)
    assert (await calls.view("r-1")).retry_at == calls.now + 500


async def test_failed_is_not_retried(calls: CallDesk) -> None:
    """No automatic retry of `failed`."""
    await calls.hire(ANN)
    await calls.calls("r-1", retries=5)
    await calls.take_call(ANN)
    assert not (await calls.answer(ANN, "r-1", Answer.FAILED)).retrying
    assert await calls.stands("r-1") == "failed: failed"


async def test_the_same_answer_again(calls: CallDesk) -> None:
    """First accepted wins; the same worker repeating the same body is accepted, another body or worker is not."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1")
    message = await calls.take_call(ANN)
    await calls.answer(ANN, "r-1")
    assert await calls.answer(ANN, "r-1") == Responded(message.work, State.DONE, again=True)
    refused(await calls.respond(ANN, "r-1", result=b"4"), "not_held")
    refused(await calls.respond(ANN, "r-1", Answer.FAILED), "not_held")
    refused(await calls.respond(BEN, "r-1"), "not_held")
    assert (await calls.view("r-1")).result == b"3"


async def test_an_error_again(calls: CallDesk) -> None:
    """An error that leads to a retry may be repeated too, and counts once, also when the retry is due already."""
    await calls.hire(ANN)
    await calls.calls("r-1", retries=2)
    message = await calls.take_call(ANN)
    await calls.answer(ANN, "r-1", Answer.ERROR)
    assert await calls.answer(ANN, "r-1", Answer.ERROR) == Responded(
        message.work, State.FAILED, again=True, retrying=True
    )
    await calls.retry()
    assert (await calls.answer(ANN, "r-1", Answer.ERROR)).again
    assert (await calls.view("r-1")).attempts == 1
    calls.now += 5_000
    await calls.take_call(ANN)
    assert not (await calls.answer(ANN, "r-1", Answer.ERROR)).again
    assert (await calls.view("r-1")).attempts == 2


async def test_idempotency_key(calls: CallDesk) -> None:
    """A repeat with the key and the body of the accepted answer is accepted; with another body the key is reused."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    await calls.take_call(ANN)
    key = b"k" * 32
    await calls.answer(ANN, "r-1", key=key)
    assert (await calls.answer(ANN, "r-1", key=key)).again
    refused(await calls.respond(ANN, "r-1", key=key, result=b"4"), "idempotency_key_reused")
    refused(await calls.respond(ANN, "r-1", key=b"o" * 32, result=b"4"), "not_held")


async def test_who_may_answer(calls: CallDesk) -> None:
    """A worker without the lease: `not_held`; unknown ids and those of another service: `not_found`."""
    await calls.hire(ANN, BEN, FOREIGN)
    await calls.calls("r-1", "r-2")
    refused(await calls.respond(ANN, "r-1"), "not_held")
    await calls.take_call(ANN, limit=1)
    refused(await calls.respond(BEN, "r-1"), "not_held")
    refused(await calls.respond(FOREIGN, "r-1"), "not_found")
    refused(await calls.respond(ANN, "r-3"), "not_found")
    assert await calls.stands("r-1") == "held"


async def test_an_offer_must_be_locked_first(calls: CallDesk) -> None:
    """A worker that answers what it was offered and has not locked does not hold it."""
    await calls.hire(ANN)
    await calls.calls("r-1", dispatch=Dispatch.RACE)
    await calls.take_call(ANN)
    refused(await calls.respond(ANN, "r-1"), "not_held")
    await calls.locked(ANN, "r-1")
    await calls.answer(ANN, "r-1")


@pytest.mark.parametrize("answer", [Answer.SUCCESS, Answer.FAILED, Answer.ERROR])
async def test_a_late_answer(calls: CallDesk, answer: Answer) -> None:
    """The last holder may still answer while the call has not been handed to another: it saves a second run."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1")
    message = await calls.take_call(ANN)
    await calls.ask(Return(message.work, message.version, ANN, Cause.CONNECTION_LOST))
    refused(await calls.respond(BEN, "r-1", answer), "not_held")
    assert not (await calls.answer(ANN, "r-1", answer)).again
    assert calls.rung_request("r-1")
    view = await calls.view("r-1")
    assert (view.answer, view.last_holder) == (answer, ANN)
    assert (await calls.drain(BEN)).messages == ()


async def test_a_late_error_is_retried(calls: CallDesk) -> None:
    """A late `error` counts as an attempt like any other."""
    await calls.hire(ANN)
    await calls.calls("r-1", retries=1)
    message = await calls.take_call(ANN)
    await calls.ask(Return(message.work, message.version, ANN, Cause.CONNECTION_LOST))
    assert (await calls.answer(ANN, "r-1", Answer.ERROR)).retrying
    await calls.retry()
    calls.now += 5_000
    await calls.take_call(ANN)
    assert not (await calls.answer(ANN, "r-1", Answer.ERROR)).retrying


async def test_fencing(calls: CallDesk) -> None:
    """A result from a worker that lost its lease to another holder is refused; the newer holder's stands."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1")
    message = await calls.take_call(ANN)
    await calls.ask(Return(message.work, message.version, ANN, Cause.CONNECTION_LOST))
    again = await calls.take_call(BEN)
    assert again.version > message.version
    refused(await calls.respond(ANN, "r-1", result=b"1"), "not_held")
    await calls.answer(BEN, "r-1", result=b"2")
    refused(await calls.respond(ANN, "r-1", result=b"1"), "not_held")
    assert (await calls.view("r-1")).result == b"2"
    assert [line.cause for line in await calls.past("r-1") if line.move == "hold"] == ["first", "connection_lost"]


async def test_after_the_end(calls: CallDesk) -> None:
    """After the deadline, or once it is cancelled: `gone`, for whoever answers."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", deadline_ms=5_000)
    await calls.take_call(ANN)
    calls.now += 5_000
    await calls.ask(SweepDeadlines())
    for worker in (ANN, BEN):
        refused(await calls.respond(worker, "r-1"), "gone")
    await calls.calls("r-2")
    await calls.ask(Withdraw("r-2", "web"))
    refused(await calls.respond(ANN, "r-2"), "gone")


async def test_a_superseded_worker_may_not_answer(calls: CallDesk) -> None:
    """What the old incarnation answers is refused, though it held the call; the new one may answer in time."""
    await calls.hire(ANN)
    await calls.login(ANN, "second")
    await calls.login(CAT)
    await calls.calls("r-1")
    await calls.take_call(ANN)
    await calls.register(ANN, sid="second")
    refused(await calls.respond(ANN, "r-1"), "worker_superseded")
    refused(await calls.respond(CAT, "r-1"), "not_registered")
    refused(await calls.respond(ANN, "r-1", sid=""), "worker_superseded")
    await calls.answer(ANN, "r-1", sid="second")


async def test_a_leaving_worker_may_answer(calls: CallDesk) -> None:
    """What a worker holds that said goodbye may still be answered until its lease ends."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    await calls.take_call(ANN)
    assert await calls.ask(Goodbye(ANN, ANN)) == 0
    await calls.answer(ANN, "r-1")


async def test_a_removed_worker_may_not_answer(calls: CallDesk) -> None:
    """A removed worker's calls return; it has to register before anything else is heard from it."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1")
    await calls.take_call(ANN)
    assert await calls.ask(RemoveWorker(ANN)) is True
    assert calls.rung_lane() == 1
    refused(await calls.respond(ANN, "r-1"), "not_registered")
    assert await calls.drained(BEN) == ["r-1"]


async def test_answers_of_one_batch(calls: CallDesk) -> None:
    """Answers that come together are decided each by itself."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", "r-2")
    assert [await calls.drained(worker) for worker in (ANN, BEN)] == [["r-1"], ["r-2"]]
    first, second = await calls.ask_all(response(ANN, "r-1"), response(ANN, "r-2"))
    assert first.state is State.DONE
    refused(second, "not_held")
    assert await calls.stands("r-2") == "held"
