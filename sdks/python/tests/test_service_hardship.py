"""Everything at once: a worker and a client through a network that loses one answer in four."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor

from running_worker import Start
from scripted_hall import Reaction, answer, cut, render, sending
from scripted_services import ScriptedServices

from hiringhall_worker import Call, Client

LOSSES: list[Reaction] = [
    cut,
    sending(then_close=True),
    sending(b"HTTP/1.1 200 OK\r\nContent-Le", then_close=True),
    sending(render(200, {"status": "success"})[:-3], then_close=True),
    answer(502),
    answer(503, Retry_After="0"),
    answer(401, {"error_code": "missing_or_invalid_bearer"}),
]


def spoil(services: ScriptedServices, dice: random.Random, losses: list[Reaction], *verbs: str) -> None:
    for verb in verbs:
        for _ in range(100):
            services.script[verb].append(dice.choice(losses) if dice.random() < 0.25 else services._usual)


def test_every_call_is_answered_whatever_is_lost(services: ScriptedServices, serve: Start) -> None:
    """Calls run once each and all of them are answered, with the same bytes and key however often."""
    dice = random.Random(2)
    spoil(services, dice, LOSSES, "drain", "response", "heartbeat", "feedback", "lock")
    services.settings["heartbeat_delay"] = "0.05"
    ids = [f"r-{number}" for number in range(60)]
    for number, request_id in enumerate(ids):
        services.call(request_id, "work", [number], lock_required=number % 2 == 0)
    ran: list[int] = []
    guard = threading.Lock()

    def work(call: Call, number: int) -> int:
        call.progress(50)
        with guard:
            ran.append(number)
        return number

    running = serve({"work": work}, concurrency=8)
    services.wait_for(
        lambda: {heard.json["request_id"] for heard in services.of("response")} == set(ids), "all answers"
    )
    services.wait_parked()
    services.wait_for(lambda: services.of("drain")[-1].headers["hall-holding"] == "", "nothing held")
    assert running.stop() is None
    assert sorted(ran) == list(range(60))
    told = {
        (heard.json["request_id"], heard.headers["idempotency-key"], heard.body) for heard in services.of("response")
    }
    assert len(told) == 60


def test_every_call_of_a_client_is_made_once(services: ScriptedServices) -> None:
    """Threads that share a client get each their result, and the hall sees each call once."""
    dice = random.Random(3)
    spoil(services, dice, LOSSES, "call", "look", "client_login")
    services.answers["math/add"] = {"status": "success", "result": 3, "error_text": None}
    with Client(services.url, client_id="shop", secret="s") as client, ThreadPoolExecutor(8) as pool:
        pending = list(pool.map(lambda number: client.start("math/add", [number]), range(60)))
        assert [one.result(60) for one in pending] == [3] * 60
    assert len(services.calls) == 60
