"""The form of a case for servers: what a worker, a client or an operator sends, and what is answered and when."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from hiringhall.verify.cases import Described, Milliseconds


class Answered(Struct, forbid_unknown_fields=True, kw_only=True):
    """What an answer looks like. Times are counted from when the request was sent."""

    status: Any
    headers: dict[str, Any] = {}
    json: Any = UNSET
    body: Any = UNSET
    within_ms: Milliseconds = 5000
    not_before_ms: Milliseconds = 0


class Send(Struct, forbid_unknown_fields=True, kw_only=True):
    """A request. `${NAME}` in any text stands for what is known by that name."""

    method: Literal["GET", "POST", "PUT", "DELETE"] = "POST"
    path: str
    bearer: str | UnsetType = UNSET
    headers: dict[str, str] = {}
    json: Any = UNSET
    form: dict[str, str] | UnsetType = UNSET
    text: str | UnsetType = UNSET


class ServerStep(Struct, forbid_unknown_fields=True, kw_only=True):
    """A request and its answer, a request whose answer is awaited later, or that answer."""

    send: Send | UnsetType = UNSET
    later: str | UnsetType = UNSET
    answer_of: str | UnsetType = UNSET
    answer: Answered | UnsetType = UNSET
    give_up: str | UnsetType = UNSET
    pause_ms: Milliseconds | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Refuse what is none of the three."""
        given = frozenset(name for name in self.__struct_fields__ if getattr(self, name) is not UNSET)
        forms = ({"send", "answer"}, {"send", "later"}, {"answer_of", "answer"}, {"give_up"}, {"pause_ms"})
        if given not in forms:
            raise ValueError(f"a step is one of {', '.join(' + '.join(sorted(form)) for form in forms)}")


class Given(Struct, forbid_unknown_fields=True, kw_only=True):
    """What is there before the first step; each makes names known.

    `tasks`: a plan `${plan}` with them. `plan_workers`: so many registered workers, `${worker1}` with `${token1}`.
    `service`: a service `${service}` with `${secret}`. `service_workers`: so many of its workers, `${worker1}` with
    `${token1}` and `${refresh1}`, logged in and registered with the methods `echo` and `add`.
    """

    tasks: list[dict[str, Any]] | UnsetType = UNSET
    plan_workers: Annotated[int, Meta(ge=0, le=5)] = 0
    service: bool = False
    service_workers: Annotated[int, Meta(ge=0, le=5)] = 0


class ServerCase(Described, forbid_unknown_fields=True, kw_only=True):
    """One case: a sentence of the protocol, and requests that show whether a server keeps to it."""

    given: Given = field(default_factory=Given)
    steps: Annotated[list[ServerStep], Meta(min_length=1)]
