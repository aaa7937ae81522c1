"""Who calls: what is remembered of workers, for how long, and their signs of life."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hiringhall.auth.tokens import hash_of
from hiringhall.operations.presence import VIEW_SECONDS_MAX, Known, directive_of
from hiringhall.ports.asks import DirectWorker, MarkSeen, Register, RemoveWorker, Take
from hiringhall.ports.questions import FindWorkers, WorkerView
from hiringhall.storage.model.store import ModelStore
from tests.operations.parts import BOOTSTRAP, Office, office
from tests.waiting import until_async


async def _true(value: object) -> bool:
    return bool(value)


async def registered(made: Office) -> tuple[str, str]:
    """A worker of its own: id and token."""
    body = await made.send("POST", "/workers/register", {"hostname": "h"}, BOOTSTRAP).json(201)
    return body["worker_id"], body["token"]


def questions(made: Office) -> list[FindWorkers]:
    """What was asked about workers."""
    return [query for query in made.store.reads if isinstance(query, FindWorkers)]


def at(made: Office, offset_seconds: float) -> None:
    """Move the hall's clock; the event loop's stays."""
    clock: Callable[[], float] = made.hall.loop.time
    made.hall.time = lambda: clock() + offset_seconds


async def test_many_misses_of_one_turn_are_one_read() -> None:
    """Workers that are not yet known are looked up together."""
    async with office() as made:
        workers = [await registered(made) for _ in range(5)]
        claims = [made.claim(worker, token=token, wait=0) for worker, token in workers]
        for claim in claims:
            assert (await claim.reply()).status == 204
        asked = questions(made)
        assert len(asked) == 1
        assert set(asked[0].token_hashes) == {hash_of(token.encode()) for _, token in workers}


async def test_a_known_worker_costs_no_read() -> None:
    """Within 5 s a worker is not looked up again; after that it is."""
    async with office() as made:
        worker, token = await registered(made)
        for _ in range(5):
            await made.claim(worker, token=token, wait=0).reply()
        assert len(questions(made)) == 1
        at(made, VIEW_SECONDS_MAX + 1)
        await made.claim(worker, token=token, wait=0).reply()
        assert len(questions(made)) == 2


async def test_a_worker_is_looked_up_in_passing_before_it_is_too_old() -> None:
    """A view that is nearly too old is renewed without anybody waiting for it."""
    async with office() as made:
        worker, token = await registered(made)
        await made.claim(worker, token=token, wait=0).reply()
        at(made, VIEW_SECONDS_MAX - 1)
        made.send("POST", f"/workers/{worker}/heartbeat", {"worker_id": worker}, token)
        await until_async(lambda: _true(len(questions(made)) == 2))


async def test_a_removed_workers_token_is_dead_at_once() -> None:
    """Removing a worker rings its topic: its token opens nothing any more."""
    async with office() as made:
        worker, token = await registered(made)
        assert (await made.claim(worker, token=token, wait=0).reply()).status == 204
        await made.hall.coalescer.one(RemoveWorker(f"plan:{worker}"))
        assert (await made.claim(worker, token=token, wait=0).reply()).status == 401


async def test_the_token_of_a_removed_worker_stays_dead_when_its_id_comes_back() -> None:
    """A worker that was removed and then registered on the fly has no token."""
    async with office() as made:
        worker, token = await registered(made)
        assert (await made.claim(worker, token=token, wait=0).reply()).status == 204
        await made.hall.coalescer.one(RemoveWorker(f"plan:{worker}"))
        assert (await made.claim(worker, wait=0).reply()).status == 204
        assert (await made.claim(worker, token=token, wait=0).reply()).status == 401


async def test_a_directive_shows_on_the_next_answer() -> None:
    """A ring of the worker's topic makes what is known of it stale."""
    async with office() as made:
        worker, token = await registered(made)
        await made.claim(worker, token=token, wait=0).reply()
        await made.hall.coalescer.one(DirectWorker(f"plan:{worker}", quiet=True))
        reply = await made.claim(worker, token=token, wait=0).reply()
        assert reply.headers == ((b"hall-directive", b"quiet"),)


async def test_wrong_tokens_are_remembered_too() -> None:
    """Someone who tries one wrong token again and again costs one read."""
    async with office() as made:
        for _ in range(5):
            assert (await made.claim(token="wrong").reply()).status == 401
        assert len(questions(made)) == 1


async def test_a_database_that_is_away_is_503() -> None:
    """A worker that cannot be looked up is answered 503, and asked again later."""
    async with office() as made:
        worker, token = await registered(made)
        made.store.away = True
        reply = await made.claim(worker, token=token).reply()
        assert reply.status == 503
        assert (b"retry-after", b"1") in reply.headers
        made.store.away = False
        assert (await made.claim(worker, token=token, wait=0).reply()).status == 204


async def test_signs_of_life_are_written_together() -> None:
    """What many workers did in one interval is one ask, with their heartbeats."""
    async with office(visibility_timeout=0.5) as made:
        await made.admit("a", "b")
        made.claim("a", wait=0)
        beat = made.send("POST", "/workers/b/heartbeat", {"worker_id": "b"})
        assert await beat.json() == {"ok": True}
        await until_async(lambda: _true(made.store.asked(MarkSeen)))
        signs = {sign.worker: sign for sign in made.store.asked(MarkSeen)[0].signs}
        assert set(signs) == {"plan:a", "plan:b"}
        assert signs["plan:a"].beat_ms_ago is None
        assert signs["plan:b"].beat_ms_ago is not None


async def test_a_parked_claim_is_a_sign_of_life() -> None:
    """While a claim is parked its worker is seen in every interval; then no more."""
    async with office(visibility_timeout=0.5) as made:
        await made.admit("w")
        claim = made.claim("w")
        await until_async(lambda: _true(len(made.store.asked(MarkSeen)) >= 3))
        assert all(ask.signs[0].seen_ms_ago < 50 for ask in made.store.asked(MarkSeen)[1:3])
        claim.hang_up()
        await until_async(lambda: _true(made.hall.presence._timer is None), waiting_for="the last sign")
        written = len(made.store.asked(MarkSeen))
        await made.turns()
        assert len(made.store.asked(MarkSeen)) == written


async def test_an_offline_worker_that_calls_is_online_at_once() -> None:
    """A worker that was judged offline need not wait for the next interval to count again."""
    async with office() as made:
        await made.admit("w")
        model = made.store.store
        assert isinstance(model, ModelStore)
        model.hall.workers["plan:w"].offline = True
        assert await made.send("POST", "/workers/w/heartbeat", {"worker_id": "w"}).json() == {"ok": True}
        await until_async(lambda: _true(made.store.asked(MarkSeen)), within_seconds=1)
        await made.hall.coalescer.idle()
        assert not model.hall.workers["plan:w"].offline
        await made.send("POST", "/workers/w/heartbeat", {"worker_id": "w"}).json()
        await made.turns()
        assert len(made.store.asked(MarkSeen)) == 1


async def test_signs_survive_an_outage() -> None:
    """A sign that could not be written is written later, as old as it is then."""
    async with office(visibility_timeout=0.5) as made:
        await made.admit("w")
        made.claim("w", plan="x", wait=0)
        await until_async(lambda: _true(made.store.asked(Take)))
        await made.hall.coalescer.idle()
        made.store.away = True
        await until_async(lambda: _true(len(made.store.asked(MarkSeen)) >= 2))
        made.store.away = False
        tried = len(made.store.asked(MarkSeen))
        await until_async(lambda: _true(len(made.store.asked(MarkSeen)) > tried or made.hall.presence._timer is None))
        assert made.store.asked(MarkSeen)[-1].signs[0].seen_ms_ago >= 50


async def test_signs_are_chunked() -> None:
    """At most 2 000 signs are one ask."""
    async with office() as made:
        presence = made.hall.presence
        found: list[Any] = []
        for number in range(4_201):
            made.hall.coalescer.ask(Register(f"plan:{number}"), lambda _: None)
            presence.find(f"plan:{number}", found.append)
        await made.hall.coalescer.idle()
        for number in range(4_201):
            presence.find(f"plan:{number}", found.append)
        await until_async(lambda: _true(len([one for one in found if isinstance(one, Known)]) >= 4_201))
        for known in list(presence._by_key.values()):
            presence.seen(known, 1.0)
        await presence.flush()
        assert [len(ask.signs) for ask in made.store.asked(MarkSeen)] == [2_000, 2_000, 201]


def test_directives_are_one_header() -> None:
    """`quiet`, `terminate` and `cancel=ID,ID`, joined by `; `, at most 20 ids."""

    def view(**more: Any) -> WorkerView:
        usual: dict[str, Any] = {"quiet": False, "terminate": False}
        return WorkerView(
            "plan:w", "h", has_token=False, registered_at=0, last_seen=0, last_beat=None, offline=False, **usual | more
        )

    assert directive_of(view()) == b""
    assert directive_of(view(quiet=True)) == b"quiet"
    assert directive_of(view(quiet=True, terminate=True, cancels=("p/T1", "a%2Fb/T%202"))) == (
        b"quiet; terminate; cancel=p/T1,a%2Fb/T%202"
    )
    assert directive_of(view(cancels=tuple(f"p/{n}" for n in range(30)))).count(b",") == 19
