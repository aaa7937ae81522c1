"""A desk at which one store is asked about service calls, with the words of the protocol for what is asked most."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from hiringhall.domain.call import Answer, Capabilities, Dispatch, Requires, call_lane, worker_lane
from hiringhall.domain.names import service_worker
from hiringhall.domain.topics import topic_of, topic_of_request, topic_of_service
from hiringhall.ports.asks import Beat, DirectWorker, MarkSeen, Sign, SweepRetries, SweepSilent
from hiringhall.ports.calls import (
    AddFeedback,
    Drain,
    Drained,
    Feedback,
    FeedbackRow,
    FindRequests,
    Goodbye,
    Lock,
    Locked,
    Message,
    ReadFeedback,
    Registered,
    RegisterServiceWorker,
    RequestView,
    Respond,
    Responded,
    Submit,
    Submitted,
)
from hiringhall.ports.identity import BeginSession, HashedSecret, PutService
from hiringhall.ports.questions import HistoryLine, ListWorkers, ReadHistory
from tests.storage.call_books import check_call_books, check_offers
from tests.storage.desk import Desk
from tests.storage.snapshot import crossed_edges

MATH = "math"
ADD = "add"
DAY_MS = 86_400_000
ANN, BEN, CAT = (service_worker(MATH, name) for name in ("ann", "ben", "cat"))
FOREIGN = service_worker("text", "ann")


def feedback(request_id: str, number: int = 0, *, keep: bool = True) -> Feedback:
    """An item of feedback on a call."""
    return Feedback(request_id, 1, "add", b'"progress"', keep, json.dumps({"step": number}).encode())


class CallDesk(Desk):
    """One store and a service `math`, of whose workers each has one session of its own name unless told otherwise."""

    def same(self, before: dict[str, Any], after: dict[str, Any]) -> bool:
        """A worker that answers for what it was told to stop need not be told again, whatever the answer is worth."""
        return after | {"directives": None} == before | {"directives": None}

    async def look(self) -> dict[str, Any]:
        """A picture of everything, calls included."""
        return await self.subject.call_snapshot()

    def compare(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Check the books of both protocols, and which edges of the lifecycle were crossed."""
        Desk.compare(self, before, after)
        check_call_books(after)
        check_offers(after)
        self.crossed |= crossed_edges(before, after, "requests", "call_histories")

    async def service(self, service: str = MATH, dispatch: Dispatch | None = None, **methods: Any) -> None:
        """Make or change a service; `methods` tells what differs for some of them."""
        members = json.dumps(methods) if methods else None
        secret = HashedSecret(f"secret of {service}", "sha256", "0" * 64)
        chosen = None if dispatch is None else dispatch.value
        await self.ask(PutService(service, spare=secret, dispatch=chosen, methods=members))

    async def login(self, worker: str, sid: str | None = None) -> str:
        """Begin a session of a worker."""
        assert await self.ask(login_of(worker, sid or worker)) is True
        return sid or worker

    async def register(self, worker: str, *methods: str, sid: str | None = None, **members: Any) -> int:
        """Register a worker, which has to be accepted; return its incarnation."""
        outcome = await self.ask(registration(worker, *methods, sid=sid, **members))
        assert isinstance(outcome, Registered), outcome
        return outcome.incarnation

    async def hire(self, *workers: str, methods: tuple[str, ...] = (ADD,), **members: Any) -> None:
        """Log in and register workers of services that exist or are made."""
        for worker in workers:
            await self.service(named(worker)[0])
            await self.login(worker)
            await self.register(worker, *methods, **members)

    async def submit(self, request_id: str, method: str = ADD, service: str = MATH, **members: Any) -> Any:
        """Submit a call."""
        return await self.ask(call(request_id, method, service, **members))

    async def calls(self, *request_ids: str, **members: Any) -> None:
        """Submit calls, which have to be accepted as new."""
        for request_id in request_ids:
            assert await self.submit(request_id, **members) == Submitted(request_id)

    async def drain(self, worker: str, *, limit: int = 100, sid: str | None = None, **members: Any) -> Drained:
        """Drain as a worker, which has to be accepted."""
        outcome = await self.ask(Drain(worker, sid or worker, limit, **members))
        assert isinstance(outcome, Drained), outcome
        return outcome

    async def drained(self, worker: str, **members: Any) -> list[str]:
        """The ids of what a worker drains."""
        return [message.request_id for message in (await self.drain(worker, **members)).messages]

    async def take_call(self, worker: str, **members: Any) -> Message:
        """Drain exactly one message."""
        (message,) = (await self.drain(worker, **members)).messages
        return message

    async def lock(self, worker: str, request_id: str, **members: Any) -> Any:
        """Lock what was offered."""
        service = members.pop("service", named(worker)[0])
        return await self.ask(Lock(worker, members.pop("sid", worker), service, request_id, **members))

    async def locked(self, worker: str, request_id: str, **members: Any) -> Locked:
        """Lock what was offered, which has to be accepted."""
        outcome = await self.lock(worker, request_id, **members)
        assert isinstance(outcome, Locked), outcome
        return outcome

    async def respond(self, worker: str, request_id: str, answer: Answer = Answer.SUCCESS, **members: Any) -> Any:
        """Answer a call."""
        return await self.ask(response(worker, request_id, answer, **members))

    async def answer(self, worker: str, request_id: str, answer: Answer = Answer.SUCCESS, **members: Any) -> Responded:
        """Answer a call, which has to be accepted."""
        outcome = await self.respond(worker, request_id, answer, **members)
        assert isinstance(outcome, Responded), outcome
        return outcome

    async def answer_all(self, answered: dict[str, str]) -> None:
        """Answer calls of several workers at once, which has to be accepted."""
        for outcome in await self.ask_all(*(response(worker, request_id) for worker, request_id in answered.items())):
            assert isinstance(outcome, Responded), outcome

    async def crowd(self, count: int) -> None:
        """Register so many workers at once."""
        workers = [service_worker(MATH, f"w-{number:04}") for number in range(count)]
        for start in range(0, count, 250):
            portion = workers[start : start + 250]
            await self.ask_all(*(login_of(worker, worker) for worker in portion))
            await self.ask_all(*(registration(worker) for worker in portion))

    async def view(self, request_id: str) -> RequestView:
        """A call as its client and operators see it."""
        (view,) = await self.read(FindRequests((request_id,)))
        assert isinstance(view, RequestView)
        return view

    async def stands(self, request_id: str) -> str:
        """Where a call stands: its state, and its answer if it has one."""
        view = await self.view(request_id)
        return view.state.value if view.answer is None else f"{view.state.value}: {view.answer.value}"

    async def past(self, request_id: str) -> list[HistoryLine]:
        """The audit log of a call."""
        lines: list[HistoryLine] = await self.read(ReadHistory((await self.view(request_id)).work))
        return lines

    async def tell(self, worker: str, *items: Feedback, sid: str | None = None) -> Any:
        """Add items of feedback."""
        return await self.ask(AddFeedback(worker, sid or worker, named(worker)[0], items))

    async def told(self, request_id: str, after: int = 0, **members: Any) -> list[FeedbackRow]:
        """The stored feedback of a call."""
        rows: list[FeedbackRow] = await self.read(ReadFeedback((await self.view(request_id)).work, after, **members))
        return rows

    async def pass_time(self, milliseconds: int, *alive: str) -> None:
        """Let time pass in a hall that hears, with some workers heard and the others silent."""
        await self.ask(Beat())  # what came before the first one was not heard
        end = self.now + milliseconds
        while self.now < end:
            self.now = min(end, self.now + 3_900) - 1
            await self.ask_all(Beat(), MarkSeen(tuple(Sign(worker, 0) for worker in alive)))

    async def retry(self) -> None:
        """Let the first or second retry of calls become due, and make these ready."""
        self.now += 2_000
        assert (await self.ask(SweepRetries())).changed

    async def away(self, worker: str, how: str) -> None:
        """Make a worker one that gets nothing new: `quiet`, `terminate`, `leaving` or `offline`."""
        match how:
            case "quiet":
                assert await self.ask(DirectWorker(worker, quiet=True)) is True
            case "terminate":
                assert await self.ask(DirectWorker(worker, terminate=True)) is True
            case "leaving":
                assert isinstance(await self.ask(Goodbye(worker, worker)), int)
            case "offline":
                others = [view.key for view in await self.read(ListWorkers()) if view.key != worker]
                await self.pass_time(self.terms.visibility_timeout_ms + self.terms.slack_ms + 10, *others)
                await self.ask(SweepSilent())
                assert (await self.worker(worker)).offline

    def rung_lane(self, method: str = ADD, service: str = MATH, dispatch: Dispatch = Dispatch.EXCLUSIVE) -> int:
        """How many were woken for a lane that requires nothing by the last ask."""
        return self.rings.get(topic_of(call_lane(service, method, dispatch, Requires())), 0)

    def lane(self, method: str = ADD, dispatch: Dispatch = Dispatch.EXCLUSIVE) -> str:
        """The key of a lane that requires nothing."""
        return call_lane(MATH, method, dispatch, Requires())

    def rung_own(self, worker: str) -> int:
        """How many children came into the own lane of a worker by the last ask."""
        return self.rings.get(topic_of(worker_lane(worker)), 0)

    def rung_request(self, request_id: str) -> bool:
        """Whether those who follow a call were woken by the last ask."""
        return topic_of_request(request_id) in self.rings

    def rung_service(self, service: str = MATH) -> bool:
        """Whether those who look after a service were woken by the last ask."""
        return topic_of_service(service) in self.rings


def named(worker: str) -> tuple[str, str]:
    """The service and the id of a worker whose names need no encoding."""
    service, _, worker_id = worker.partition(":")[2].partition("/")
    return service, worker_id


def login_of(worker: str, sid: str) -> BeginSession:
    """The login of a worker, with the secret of its service."""
    service, worker_id = named(worker)
    refresh = hashlib.sha256(sid.encode()).digest()
    return BeginSession(sid, "worker", worker_id, service, f"secret of {service}", refresh, 90 * DAY_MS)


def call(request_id: str, method: str = ADD, service: str = MATH, **members: Any) -> Submit:
    """A call, by a client `web` and for a day unless told otherwise."""
    defaults = {"client": "web", "params": b"[1,2]", "deadline_ms": DAY_MS}
    return Submit(request_id, service=service, method=method, **{**defaults, **members})


def response(worker: str, request_id: str, answer: Answer = Answer.SUCCESS, **members: Any) -> Respond:
    """An answer, whose body's hash follows from what it says."""
    service = members.pop("service", named(worker)[0])
    if answer is Answer.SUCCESS:
        members.setdefault("result", b"3")
    else:
        members.setdefault("error_text", "no")
    said = repr((answer, members.get("result"), members.get("error_text"))).encode()
    members.setdefault("body", hashlib.sha256(said).digest())
    return Respond(worker, members.pop("sid", worker), service, request_id, answer, **members)


def registration(
    worker: str, *methods: str, sid: str | None = None, service: str | None = None, **members: Any
) -> RegisterServiceWorker:
    """A registration; members that are no capabilities belong to the registration itself."""
    own = {
        name: members.pop(name) for name in ("ip", "port", "source", "forwarded", "version", "trace") if name in members
    }
    mode = members.pop("run_mode", "eager")
    known = service or named(worker)[0]
    return RegisterServiceWorker(
        worker, sid or worker, known, named(worker)[1], mode, Capabilities(methods or (ADD,), **members), **own
    )
