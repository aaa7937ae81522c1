"""Methods in processes of their own: for work that keeps a processor busy, and that can be killed.

A child is started when none is free. A pipe carries calls there and feedback and answers back; its
end tells either side that the other is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from .. import jsontext
from ..errors import Fail
from ..handlers import reason_of
from .call import Call
from .signature import Arguments

# After this long a method that was told to stop is killed with its process.
STOP_SECONDS = 5.0


class Broken(Exception):
    """The method raised in its process; the text is what it raised, `trace` where."""

    def __init__(self, text: str, trace: str = "") -> None:
        super().__init__(text)
        self.trace = trace


class Child:
    """One process for methods, one after the other. For one thread; others may tell it to cancel or close."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._process: Any = None
        self._pipe: Connection[Any, Any] | None = None
        self._running: Call | None = None
        self._closed = False

    def run(self, handler: Callable[..., Any], arguments: Arguments, call: Call, say: Callable[[Any], None]) -> bytes:
        """Run a handler to its end; its result as JSON. Raises Fail, Broken, or what kept it from being sent there."""
        pipe = self._started()
        try:
            with self._guard:
                pipe.send(("run", handler, arguments, call.service, dict(call.members)))
                self._running = call
                if call.cancelled.is_set():
                    self._stop_running()
            return self._answer(pipe, say)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise Broken(f"the process of the method ended ({self._status()})") from None
        finally:
            with self._guard:
                self._running = None

    def cancel(self, call: Call) -> None:
        """Tell the method to stop if it runs here; after a while its process is killed."""
        with self._guard:
            if self._running is call:
                self._stop_running()

    def close(self) -> None:
        """Kill the process; none is started any more."""
        with self._guard:
            self._closed = True
        self._discard()

    def _answer(self, pipe: Connection[Any, Any], say: Callable[[Any], None]) -> bytes:
        while True:
            kind, *told = pipe.recv()
            if kind == "feedback":
                say(told[0])
            elif kind == "done":
                return bytes(told[0])
            elif kind == "failed":
                raise Fail(told[0])
            else:
                raise Broken(told[0], told[1])

    def _stop_running(self) -> None:
        if self._pipe is not None:
            with contextlib.suppress(OSError):
                self._pipe.send(("cancel",))
        timer = threading.Timer(STOP_SECONDS, self._kill_if_running, (self._running,))
        timer.daemon = True
        timer.start()

    def _kill_if_running(self, call: Call) -> None:
        with self._guard:
            if self._running is call and self._process is not None:
                self._process.kill()

    def _discard(self) -> None:
        with self._guard:
            process, self._process, self._pipe = self._process, None, None
        if process is not None:
            process.kill()
            process.join(1.0)

    def _started(self) -> Connection[Any, Any]:
        with self._guard:
            if self._pipe is not None and self._process.is_alive():
                return self._pipe
        self._discard()
        context = multiprocessing.get_context("spawn")
        with self._guard:
            if self._closed:
                raise Broken("this worker is about to exit")
            ours, theirs = context.Pipe()
            self._process = context.Process(target=serve, args=(theirs,), name="hiringhall-method", daemon=True)
            self._process.start()
            theirs.close()
            self._pipe = ours
        return ours

    def _status(self) -> str:
        with self._guard:
            process = self._process
        if process is None:
            return "it was stopped"
        process.join(1.0)
        code = process.exitcode
        return f"signal {-code}" if code is not None and code < 0 else f"status {code}"


class Children:
    """The processes of one worker: as many as methods in processes ran at once. For any thread."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._all: list[Child] = []
        self._idle: list[Child] = []
        self._closed = False

    def run(self, handler: Callable[..., Any], arguments: Arguments, call: Call, say: Callable[[Any], None]) -> bytes:
        """Run a handler in a process that is free; see `Child.run`."""
        with self._guard:
            if self._closed:
                raise Broken("this worker is about to exit")
            child = self._idle.pop() if self._idle else Child()
            if child not in self._all:
                self._all.append(child)
        try:
            return child.run(handler, arguments, call, say)
        finally:
            with self._guard:
                self._idle.append(child)

    def cancel(self, call: Call) -> None:
        """Tell the method to stop, wherever it runs."""
        with self._guard:
            children = list(self._all)
        for child in children:
            child.cancel(call)

    def close(self) -> None:
        """Kill all of them."""
        with self._guard:
            self._closed = True
            children = list(self._all)
        for child in children:
            child.close()


class _Task:
    """What the child's main thread works on, as its reading thread sees it."""

    def __init__(self, pipe: Connection[Any, Any]) -> None:
        self._pipe = pipe
        self._sending = threading.Lock()
        self._ready = threading.Semaphore(0)
        self._received: Any = None
        self.call: Call | None = None

    def read(self) -> None:
        """Take orders until the worker is gone, and then end the process whatever it does."""
        while True:
            try:
                data = self._pipe.recv_bytes()
            except (EOFError, OSError):
                os._exit(0)
            try:
                received = pickle.loads(data)  # from the parent process alone
            except Exception as error:
                self.send("raised", f"the method cannot be found in its process: {reason_of(error)}", "")
                continue
            if received[0] == "cancel":
                if self.call is not None:
                    self.call.cancelled.set()
                continue
            _, self._handler, self._arguments, service, members = received
            self.call = Call(service, members, self._say)
            self._ready.release()

    def next(self) -> tuple[Callable[..., Any], Arguments, Call]:
        self._ready.acquire()
        assert self.call is not None
        return self._handler, self._arguments, self.call

    def send(self, *told: Any) -> None:
        with self._sending, contextlib.suppress(OSError):
            self._pipe.send(told)

    def _say(self, item: Mapping[str, Any]) -> None:
        try:
            self.send("feedback", item)
        except Exception:
            # Feedback never fails a method; the worker's own queue would drop such an item too.
            return


def serve(pipe: Connection[Any, Any]) -> None:
    """The life of a child. Signals of the process group are the worker's business: it decides when a method ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    task = _Task(pipe)
    threading.Thread(target=task.read, name="hiringhall-orders", daemon=True).start()
    while True:
        handler, arguments, call = task.next()
        try:
            result = arguments.apply(handler, call)
            if inspect.isawaitable(result):
                result = asyncio.run(_completed(result))
            encoded = jsontext.encode(result)
        except Fail as refusal:
            task.send("failed", str(refusal))
        except BaseException as error:
            task.send("raised", reason_with_type(error), traceback.format_exc())
        else:
            task.send("done", encoded)


async def _completed(result: Any) -> Any:
    return await result


def reason_with_type(error: BaseException) -> str:
    """The type and the text of an exception, in one line's worth of words."""
    kind, text = type(error).__name__, reason_of(error)
    return text if text.startswith(kind) else f"{kind}: {text}"
