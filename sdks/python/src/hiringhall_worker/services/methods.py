"""The methods that a worker offers, and what running one of them comes to."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .. import jsontext
from ..errors import Fail
from ..handlers import LoopThread, Run
from . import outcome
from .call import Call
from .child import Broken, Children, reason_with_type
from .kinds import Misfit
from .outcome import Outcome
from .signature import Arguments, Signature

log = logging.getLogger("hiringhall_worker")


class Method(NamedTuple):
    """One method: its handler, what it takes, and whether it runs in a process of its own."""

    name: str
    handler: Callable[..., Any]
    signature: Signature
    in_process: bool


class Methods:
    """The methods of one service, by name."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._known: dict[str, Method] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __bool__(self) -> bool:
        return bool(self._known)

    def add(self, name: str, handler: Callable[..., Any], raw: bool, in_process: bool) -> None:
        """Take a method up; ValueError says what is wrong with it."""
        if not isinstance(name, str) or not name:
            raise ValueError("a method needs a name: @worker.method('add')")
        if name in self._known:
            raise ValueError(f"{self._service}/{name} is there already")
        if in_process and "<locals>" in getattr(handler, "__qualname__", ""):
            raise ValueError(f"{self._service}/{name}: with in_process=True its handler must be at the top of a module")
        try:
            signature = Signature(handler, raw)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self._service}/{name}: {error}") from error
        self._known[name] = Method(name, handler, signature, in_process)

    def prepare(self, name: str, params: Any) -> tuple[Method, Arguments] | Outcome:
        """The method and its arguments, or the answer that says why there are none."""
        method = self._known.get(name)
        if method is None:
            return outcome.error(f"{self._service}: there is no method {name!r:.100}{self._hint(name)}")
        try:
            return method, method.signature.arguments(params)
        except Misfit as misfit:
            return outcome.error(f"{self._service}/{name}: {misfit}")

    def _hint(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._known, 1)
        offered = f"; this worker has {', '.join(sorted(self._known))}"
        return f"; is {near[0]!r} meant?{offered}" if near else offered


class Running:
    """One run of a method for one call. `children` is where it runs if it needs a process."""

    def __init__(self, method: Method, arguments: Arguments, call: Call, loops: LoopThread, children: Children) -> None:
        self.call = call
        self._method = method
        self._arguments = arguments
        self._children = children
        self._run = Run(self._apply, call.cancelled, loops)

    def outcome(self) -> Outcome:
        """Run it to its end in this thread, and say how it ended."""
        name = f"{self.call.service}/{self._method.name}"
        try:
            result = self._in_child() if self._method.in_process else jsontext.encode(self._run.run())
        except Fail as refusal:
            return outcome.failed(str(refusal) or "refused")
        except jsontext.Unsendable as problem:
            log.warning("%s: its result cannot be sent: %s", self.call, problem)
            return outcome.error(f"{name}: its result cannot be sent as JSON: {problem}")
        except BaseException as error:
            if self.call.cancelled.is_set():
                return outcome.failed(f"{name}: cancelled")
            return self._broken(name, error)
        return Outcome("success", None, result)

    def cancel(self) -> None:
        """Tell the method to stop."""
        self._run.cancel()
        if self._method.in_process:
            self._children.cancel(self.call)

    def _apply(self) -> object:
        return self._arguments.apply(self._method.handler, self.call, self._method.signature.python)

    def _in_child(self) -> bytes:
        return self._children.run(self._method.handler, self._arguments, self.call, self.call.say)

    def _broken(self, name: str, error: BaseException) -> Outcome:
        if isinstance(error, Broken):
            log.warning("%s raised\n%s", self.call, error.trace or error)
            return outcome.error(f"{name}: {error}")
        log.warning("%s raised", self.call, exc_info=error)
        return outcome.error(f"{name}: {reason_with_type(error)}")
