"""Random batches about service calls, on few services, workers, sessions and calls, so that they collide."""

from __future__ import annotations

from typing import Final

from hiringhall.domain.call import Answer, Capabilities, Dispatch, Requires
from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.names import service_of, service_worker
from hiringhall.domain.work import Unit
from hiringhall.ports.asks import (
    Beat,
    DirectWorker,
    Forget,
    MarkSeen,
    Reconcile,
    RemoveWorker,
    Sign,
    SweepRetries,
    SweepRunLimit,
    SweepSilent,
)
from hiringhall.ports.calls import (
    AddFeedback,
    Drain,
    Feedback,
    ForgetCalls,
    Goodbye,
    Lock,
    RegisterServiceWorker,
    Respond,
    Submit,
    SweepDeadlines,
    Withdraw,
)
from hiringhall.ports.identity import BeginSession, DeleteService, EndSessions, HashedSecret, PauseService, PutService
from hiringhall.storage.model.call_book import Call
from hiringhall.storage.model.hall import Hall
from hiringhall.storage.model.identity import Login
from tests.storage.batches import Draft, ReturnByName, SteerByName, Writer

SERVICES: Final = ("math", "text/ü %")
NO_SERVICE: Final = "none"
METHODS: Final = ("add", "mul", "ü ' ; --")
NAMES: Final = ("ann", "ben", "c/ü")
CALLERS: Final = tuple((service, name) for service in SERVICES for name in NAMES)
SERVICE_WORKERS: Final = tuple(service_worker(*caller) for caller in CALLERS)
CLIENTS: Final = ("web", "cron")
REQUIREMENTS: Final = (
    Requires(),
    Requires(platform="linux"),
    Requires(executors=("python", "node"), tags=(("os", "linux"),)),
    Requires(browser_runtime=True),
)
CAPABILITIES: Final = (
    Capabilities(METHODS, "linux", ("node", "python"), True, True, (("os", "linux"),)),
    Capabilities(METHODS, "windows", ("python",), tags=(("concurrency", "2"), ("os", "linux"))),
    Capabilities(METHODS[:1], "linux"),
    Capabilities((*METHODS, "rare"), browser_runtime=True),
    Capabilities(()),
)
SPECIAL: Final = (None, "{}", '{"mul":{"dispatch":"race"}}', '{"add":{"run_limit_seconds":5,"dispatch":"broadcast"}}')
PARAMS: Final = (b"null", b"[1e400]", b'"\\u0000"', b"{}" + b" " * 9_000)


class CallWriter(Writer):
    """Writes batches about calls, and now and then about plans."""

    def __init__(self, seed: int, hall: Hall) -> None:
        super().__init__(seed, hall)
        self._made = 0
        self._sids = 0
        self._ordeal = 0  # how many batches of a hard time are still to come
        few = {verb: max(1, weight // 6) for verb, weight in self._verbs.items()}
        self._verbs = few | {
            self._put_service: 2,
            self._pause_service: 1,
            self._begin_session: 10,
            self._end_sessions: 1,
            self._register_worker: 7,
            self._submit: 34,
            self._drain: 34,
            self._lock: 14,
            self._respond: 36,
            self._withdraw: 8,
            self._add_feedback: 10,
            self._goodbye: 5,
            self._sweep_deadlines: 4,
            self._forget_calls: 2,
            self._mark_service_workers: 6,
            self._direct_service_worker: 3,
            self._remove_service_worker: 1,
            self._return_call: 4,
            self._reconcile_calls: 4,
            self._retries: 4,
            self._steer_call: 6,
            self._delete_service: 2,
            self._forget_workers: 1,
        }
        self._alone = (self._drain, self._respond, self._submit, self._lock, self._add_feedback)

    def batch(self) -> tuple[list[Draft], int]:
        """The next batch; now and then one of a single verb, as it comes in production, or a hard time begins."""
        if self._ordeal or self.chance.random() < 0.01:
            return self._hard_time()
        if self.chance.random() < 0.3 and (missing := self._missing()):
            self._tick()
            return missing, self.now
        if self.chance.random() < 0.2:
            self._tick()
            verb = self.chance.choice(self._alone)
            return self._distinct([verb] * self.chance.choice((2, 3, 6))), self.now
        if self.chance.random() < 0.08:
            scene = self._scene()
            if scene is not None:
                return [scene], self.now
        drafts, now = super().batch()
        if self.chance.random() < 0.3:
            drafts = [draft for draft in drafts if not isinstance(draft, MarkSeen)]
            drafts.append(MarkSeen(tuple(Sign(worker, 0) for worker in SERVICE_WORKERS)))
        return drafts, now

    def _missing(self) -> list[Draft]:
        """What is lacking for anything to happen: services, or most of their workers."""
        lacking = [service for service in SERVICES if service not in self.hall.gate.services]
        if lacking:
            return [self._service_of(service) for service in lacking]
        absent = [caller for caller in CALLERS if service_worker(*caller) not in self.hall.book.workers]
        if len(absent) <= 1:
            return []
        caller = self.chance.choice(absent)
        begun = self._session_of(*caller)
        return [begun, self._registration_of(*caller, begun.sid)]

    def _scene(self) -> Draft | None:
        """What seldom comes by itself: a call ends without an answer while it is retried, held or gathered."""
        calls = [call for call in self.hall.book.calls.values() if not call.unit.finished]
        pressing = [call for call in calls if call.unit.state in (State.FAILED, State.HELD, State.WAITING)]
        retried = [call for call in pressing if call.unit.state is State.FAILED]
        if not pressing:
            return None
        children = [call for call in retried if call.child_of is not None]
        chosen = self._pick((2, children), (3, retried), (2, pressing)) or pressing
        call = self.chance.choice(chosen)
        self.now += 1
        if call.child_of in self.hall.book.workers:
            return Goodbye(call.child_of, self._session(call.child_of))
        deadline_at = call.unit.deadline_at or 0
        if deadline_at < self.now + 100_000 and self.chance.random() < 0.7:
            self.now = max(self.now, deadline_at)
            return SweepDeadlines()
        return Withdraw(call.unit.name, call.client)

    def _hard_time(self) -> tuple[list[Draft], int]:
        """All workers take what there is, and all fall silent; so often that calls are abandoned for good."""
        self._ordeal = self._ordeal - 1 if self._ordeal else 11
        if self._ordeal % 2:
            self.now += 100
            able = [worker for worker in sorted(self.hall.book.workers) if self._good_sessions(worker)]
            heard = MarkSeen(tuple(Sign(worker, 0) for worker in able))
            return [Beat(), heard, *(Drain(worker, self._good_sessions(worker)[0]) for worker in able)], self.now
        self.now += 150_000
        return [SweepSilent(), SweepRunLimit()], self.now

    # --- who and what ------------------------------------------------------------------------------------------------

    def _some_unit(self, *states: State) -> Unit | None:
        """A task: what is written about plans is about these alone."""
        found = [task.unit for task in self.hall.tasks.values() if not states or task.unit.state in states]
        return self.chance.choice(found) if found else None

    def _caller(self) -> tuple[str, str]:
        caller: tuple[str, str] = self.chance.choice(CALLERS)
        return caller

    def _sessions(self, worker: str) -> dict[str, Login]:
        """The logins of a worker."""
        whose = CALLERS[SERVICE_WORKERS.index(worker)]
        logins = self.hall.gate.logins
        return {sid: login for sid, login in logins.items() if (login.service, login.subject) == whose}

    def _good_sessions(self, worker: str) -> list[str]:
        """Those of them that may act for the worker."""
        known = self.hall.book.workers.get(worker)
        incarnation = 0 if known is None else known.incarnation
        return [
            sid
            for sid, login in self._sessions(worker).items()
            if login.incarnation in (None, incarnation) and not login.ended
        ]

    def _session(self, worker: str) -> str:
        """Mostly one that may act for the worker."""
        good = self._good_sessions(worker)
        if good and self.chance.random() < 0.95:
            return str(self.chance.choice(good))
        return str(self.chance.choice([*self._sessions(worker), "unknown", ""]))

    def _some_call(self, *states: State) -> Call | None:
        found = [call for call in self.hall.book.calls.values() if not states or call.unit.state in states]
        recent = sorted(found, key=lambda call: call.unit.id)[-12:]
        return self.chance.choice(recent) if recent else None

    def _some_worker(self, service: str | None = None) -> str:
        """Mostly one that is registered and may act, of the service if one is named."""
        registered = sorted(self.hall.book.workers)
        able = [key for key in registered if self._good_sessions(key) and service in (None, service_of(key))]
        chosen = able if able and self.chance.random() < 0.95 else SERVICE_WORKERS
        return str(self.chance.choice(chosen))

    def _request_id(self, call: Call | None) -> str:
        return "r-none" if call is None or self.chance.random() < 0.02 else call.unit.name

    def _service_for(self, worker: str) -> str:
        service = CALLERS[SERVICE_WORKERS.index(worker)][0]
        return str(self._pick((40, service), (1, self.chance.choice(SERVICES))))

    # --- services and sessions ---------------------------------------------------------------------------------------

    def _put_service(self) -> Draft:
        return self._service_of(self.chance.choice(SERVICES))

    def _service_of(self, service: str) -> PutService:
        secret = HashedSecret(f"secret of {service}", "sha256", "0" * 64)
        dispatch = self._pick((4, None), (2, "exclusive"), (1, "race"), (1, "broadcast"))
        return PutService(service, spare=secret, dispatch=dispatch, methods=self.chance.choice(SPECIAL))

    def _pause_service(self) -> Draft:
        return PauseService(self._pick((9, self.chance.choice(SERVICES)), (1, NO_SERVICE)), self.chance.random() < 0.1)

    def _begin_session(self) -> Draft:
        return self._session_of(*self._caller())

    def _session_of(self, service: str, name: str) -> BeginSession:
        self._sids += 1
        sid = f"sid-{self._sids}"
        return BeginSession(sid, "worker", name, service, f"secret of {service}", sid.encode(), 10**12)

    def _end_sessions(self) -> Draft | None:
        return EndSessions(*self._caller()) if self.chance.random() < 0.6 else None

    def _register_worker(self) -> Draft:
        service, name = self._caller()
        return self._registration_of(service, name, self._session(service_worker(service, name)))

    def _registration_of(self, service: str, name: str, sid: str) -> RegisterServiceWorker:
        worker = service_worker(service, name)
        return RegisterServiceWorker(
            worker, sid, self._pick((30, service), (1, NO_SERVICE)), name,
            self.chance.choice(("lazy", "eager", "connected")), self.chance.choice(CAPABILITIES),
            self._pick((1, None), (1, "192.0.2.7")), self._pick((1, None), (1, 55_222)),
            self._pick((1, None), (1, "192.0.2.7")), self.chance.random() < 0.3, self.chance.choice(("", "1.0 ü")),
            self.chance.random() < 0.5,
        )  # fmt: skip

    def _goodbye(self) -> Draft:
        worker = self._some_worker()
        held = [unit.name for unit in self.hall.held_by(worker)]
        unstarted = {name for name in held if self.chance.random() < 0.5} | {"r-none"}
        return Goodbye(worker, self._session(worker), frozenset(unstarted))

    # --- calls -------------------------------------------------------------------------------------------------------

    def _submit(self) -> Draft:
        self._made += 1
        dispatch = self._pick((3, None), (4, Dispatch.EXCLUSIVE), (4, Dispatch.RACE), (3, Dispatch.BROADCAST))
        key = self._key()
        return Submit(
            f"r-{self._made}", self.chance.choice(CLIENTS),
            self._pick((40, self.chance.choice(SERVICES)), (1, NO_SERVICE)),
            self._pick((20, self.chance.choice(METHODS)), (1, "unheard")), self.chance.choice(PARAMS),
            self._pick((3, 86_400_000), (2, 60_000), (1, 1_000)), dispatch, self._pick((3, 0), (1, 100), (1, -7)),
            self._pick((1, 0), (1, 1), (1, 10)), self.chance.choice(REQUIREMENTS), self.chance.random() < 0.1,
            self._pick((5, None), (1, 0), (1, 3_000)), self._pick((1, None), (1, "00-a-b-01")), key,
            None if key is None else self.chance.choice((b"b" * 32, b"c" * 32)), self._pick((12, 10_000), (1, 3)),
        )  # fmt: skip

    def _withdraw(self) -> Draft:
        states = self._pick((2, (State.FAILED,)), (2, (State.HELD,)), (3, (State.READY, State.WAITING)), (1, ()))
        call = self._some_call(*states) or self._some_call()
        client = self._pick((4, call.client if call else "web"), (1, "cron"), (2, None))
        return Withdraw(self._request_id(call), client)

    def _drain(self) -> Draft:
        worker = self._some_worker()
        limit = self._pick((4, 100), (2, 1), (2, 3))
        return Drain(worker, self._session(worker), limit, limited=self.chance.random() < 0.7)

    def _lock(self) -> Draft:
        offers = sorted(self.hall.book.offers)
        if offers and self.chance.random() < 0.7:
            worker, work = self.chance.choice(offers)
            call: Call | None = self.hall.book.calls[work]
        else:
            call = self._some_call(State.READY, State.HELD) if self.chance.random() < 0.7 else self._some_call()
            worker = self._some_worker(None if call is None else call.service)
        limited = self.chance.random() < 0.7
        return Lock(worker, self._session(worker), self._service_for(worker), self._request_id(call), limited)

    def _respond(self) -> Draft:
        call = self._answered()
        last = None if call is None else call.unit.holder or call.unit.last_holder
        known = last if last in self.hall.book.workers and self.chance.random() < 0.9 else None
        worker = known or self._some_worker(None if call is None else call.service)
        answer = self._pick((5, Answer.SUCCESS), (2, Answer.FAILED), (5, Answer.ERROR))
        key = self._key()
        return Respond(
            worker, self._session(worker), self._service_for(worker), self._request_id(call), answer,
            self.chance.choice(PARAMS) if answer is Answer.SUCCESS else None,
            None if answer is Answer.SUCCESS else self.chance.choice(("no \x00 'ü'", "")),
            self.chance.choice((0.0, 0.25, 1.0)), key, self.chance.choice((b"1" * 32, b"2" * 32)),
        )  # fmt: skip

    def _answered(self) -> Call | None:
        """Mostly a held call, but seldom one that was abandoned: or none would ever be abandoned too often."""
        chance = self.chance.random()
        if chance < 0.15:
            late = [call for call in self.hall.book.calls.values() if self._may_come_late(call)]
            return self.chance.choice(late) if late else self._some_call()
        call = (self._some_call(State.HELD) if chance < 0.85 else None) or self._some_call()
        return None if call is not None and call.unit.abandoned and self.chance.random() < 0.7 else call

    def _may_come_late(self, call: Call) -> bool:
        return call.unit.state is State.READY and call.unit.last_holder is not None

    def _add_feedback(self) -> Draft:
        call = self._some_call(State.HELD) or self._some_call()
        last = None if call is None else call.unit.holder or call.unit.last_holder
        worker = last if last in self.hall.book.workers and self.chance.random() < 0.9 else self._some_worker()
        assert worker is not None
        items = [
            Feedback(
                self._request_id(call if self.chance.random() < 0.8 else self._some_call()),
                self.chance.choice((1, 2)), "sn \x00", self.chance.choice((b"7", b'"text"')),
                self.chance.random() < 0.5, self.chance.choice(PARAMS),
            )
            for _ in range(self.chance.choice((1, 2, 4)))
        ]  # fmt: skip
        return AddFeedback(worker, self._session(worker), self._service_for(worker), tuple(items))

    # --- what goes by itself -----------------------------------------------------------------------------------------

    def _sweep_deadlines(self) -> Draft:
        return SweepDeadlines(self._pick((3, 500), (1, 2), (1, 1)))

    def _forget_calls(self) -> Draft:
        return ForgetCalls(
            self._pick((3, 86_400_000), (1, 700_000)), self._pick((3, 86_400_000), (1, 60_000)),
            self._pick((1, 60_000), (1, 1_000)),
        )  # fmt: skip

    def _mark_service_workers(self) -> Draft:
        heard = self.chance.sample(SERVICE_WORKERS, self.chance.randint(1, len(SERVICE_WORKERS)))
        return MarkSeen(tuple(Sign(worker, 0, self._pick((2, None), (1, 0))) for worker in heard))

    def _direct_service_worker(self) -> Draft:
        quiet, terminate = self._pick((1, (True, None)), (3, (False, None)), (1, (None, True)), (3, (False, False)))
        return DirectWorker(self._some_worker(), quiet, terminate)

    def _remove_service_worker(self) -> Draft | None:
        return RemoveWorker(self._some_worker()) if self.chance.random() < 0.3 else None

    def _return_call(self) -> Draft | None:
        cancelling = [call for call in self.hall.book.calls.values() if call.unit.cancelling]
        call = self.chance.choice(cancelling) if cancelling else self._some_call(State.HELD) or self._some_call()
        if call is None:
            return None
        unit = call.unit
        worker = self._pick((6, unit.holder), (1, self._some_worker())) or self._some_worker()
        version = self._pick((6, unit.handed_version), (1, unit.version))
        return ReturnByName("", unit.name, version, worker, Cause.CONNECTION_LOST, 1)

    def _reconcile_calls(self) -> Draft:
        worker = self._some_worker()
        names = [unit.name for unit in self.hall.held_by(worker)]
        named = {("", name, 0) for name in names if self.chance.random() < 0.6} | {("", "r-none", 0)}
        return Reconcile(worker, frozenset(named), self.chance.choice((0, 9_000)))

    def _steer_call(self) -> Draft:
        call = self._some_call(State.FAILED, State.HELD) if self.chance.random() < 0.6 else self._some_call()
        move = self._pick((3, Move.RETRY), (2, Move.CANCEL), (3, Move.RELEASE), (1, Move.SKIP), (1, Move.RESET))
        return SteerByName(self._request_id(call), move)

    def _delete_service(self) -> Draft | None:
        if self.chance.random() < 0.5:
            return None
        return DeleteService(self._pick((9, self.chance.choice(SERVICES)), (1, NO_SERVICE)), self.chance.random() < 0.4)

    def _forget_workers(self) -> Draft:
        return Forget(keep_workers_ms=600_000, keep_service_workers_ms=self._pick((1, 600_000), (1, 86_400_000)))

    def _retries(self) -> Draft:
        return SweepRetries()
