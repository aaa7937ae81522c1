"""The form of a case for workers: what the hall sends, what must come back and when."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Protocol = Literal["services", "plans"]
Level = Literal["core", "fault", "optional"]
Milliseconds = Annotated[int, Meta(ge=0, le=60_000)]
Name = Annotated[str, Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]


class RequestPattern(Struct, forbid_unknown_fields=True, kw_only=True):
    """Requests that look like this. What is not named may be anything."""

    request: str
    id: Any = UNSET
    headers: dict[str, Any] = {}
    query: dict[str, Any] = {}
    form: dict[str, Any] = {}
    json: Any = UNSET


class Expected(RequestPattern, forbid_unknown_fields=True, kw_only=True):
    """The worker has to send this, after what was expected before."""

    within_ms: Milliseconds = 10_000
    not_before_ms: Milliseconds = 0
    times: Annotated[int, Meta(ge=1)] = 1
    anytime: bool = False


class Never(RequestPattern, forbid_unknown_fields=True, kw_only=True):
    """The worker must not send this for so long."""

    for_ms: Milliseconds


class Counted(RequestPattern, forbid_unknown_fields=True, kw_only=True):
    """How many requests of the whole case look like this."""

    exactly: int | UnsetType = UNSET
    at_least: int = 0
    at_most: int | UnsetType = UNSET
    answered: int | UnsetType = UNSET


class Reply(Struct, forbid_unknown_fields=True, kw_only=True):
    """An answer to send. Without a body, that of a refusal is made for statuses from 400."""

    status: int
    headers: dict[str, str] = {}
    json: Any = UNSET
    text: str | UnsetType = UNSET


class Pieces(Struct, forbid_unknown_fields=True, kw_only=True):
    """An answer comes in portions of so many bytes with pauses between them."""

    bytes: Annotated[int, Meta(ge=1)]
    pause_ms: Milliseconds = 0


class Rule(Struct, forbid_unknown_fields=True, kw_only=True):
    """What happens to requests instead of the usual: an answer of its own, or a fault on the way."""

    to: RequestPattern
    skip: int = 0
    times: Annotated[int, Meta(ge=1)] | Literal["always"] = 1
    carried_out: bool = False
    late_ms: Milliseconds = 0
    reply: Reply | UnsetType = UNSET
    headers: dict[str, str] = {}
    fault: Literal["reset", "close", "silence", "half"] | UnsetType = UNSET
    pieces: Pieces | UnsetType = UNSET
    framing: Literal["chunked", "until_close"] | UnsetType = UNSET
    twice: Literal["first", "second"] | UnsetType = UNSET

    @property
    def acts(self) -> bool:
        """Whether the hall does what the request asks."""
        replaced = self.reply is not UNSET or self.fault in ("reset", "close", "silence")
        return self.carried_out or not replaced


class Many(Struct, forbid_unknown_fields=True, kw_only=True):
    """So many calls or tasks alike, with ids that end in their number."""

    count: Annotated[int, Meta(ge=1, le=1000)]
    like: dict[str, Any] = {}


class Exit(Struct, forbid_unknown_fields=True, kw_only=True):
    """The worker ends by itself."""

    status: int | Literal["any", "not 0"]
    within_ms: Milliseconds = 10_000


class Restart(Struct, forbid_unknown_fields=True, kw_only=True):
    """The hall is killed, and starts again on the same port after so long."""

    down_ms: Milliseconds = 0
    forget: Literal["nothing", "tokens", "workers"] = "nothing"


class Probe(Struct, forbid_unknown_fields=True, kw_only=True):
    """The hall knocks at the port of a Lazy worker with a packet, and reads what comes back."""

    packet_id: str = "0f9619ff-8b86-d011-b42d-00cf4fc964ff"
    request_id: str | None = None
    text: str | UnsetType = UNSET
    pieces: Annotated[int, Meta(ge=1)] = 1
    acknowledged: bool = True
    within_ms: Milliseconds = 2000


class Step(Struct, forbid_unknown_fields=True, kw_only=True):
    """One thing that happens or has to happen; exactly one member."""

    expect: Expected | UnsetType = UNSET
    never: Never | UnsetType = UNSET
    call: dict[str, Any] | UnsetType = UNSET
    task: dict[str, Any] | UnsetType = UNSET
    many: Many | UnsetType = UNSET
    handed: str | UnsetType = UNSET
    parked: Milliseconds | UnsetType = UNSET
    pause_ms: Milliseconds | UnsetType = UNSET
    signal: Literal["SIGTERM", "SIGINT"] | UnsetType = UNSET
    exit: Exit | UnsetType = UNSET
    restart: Restart | UnsetType = UNSET
    directive: str | UnsetType = UNSET
    revoke: Literal["tokens", "all"] | UnsetType = UNSET
    forget: Literal["worker"] | UnsetType = UNSET
    probe: Probe | UnsetType = UNSET

    def __post_init__(self) -> None:
        if len(self.given) != 1:
            raise ValueError(f"a step has exactly one member, this one has {len(self.given)}")

    @property
    def given(self) -> list[str]:
        """The names of the members that are there."""
        return [name for name in self.__struct_fields__ if getattr(self, name) is not UNSET]


class Setting(Struct, forbid_unknown_fields=True, kw_only=True):
    """How the hall of a case is."""

    heartbeat_seconds: float = 30.0
    token_seconds: float = 3600.0
    settings: dict[str, str] = {}
    wakes: bool = True
    obeys_max: bool = True
    shared_token: bool = False


class Described(Struct, forbid_unknown_fields=True, kw_only=True):
    """What every case tells about itself: the sentence that it proves, where that stands, and how much it matters."""

    name: Name
    sentence: Annotated[str, Meta(min_length=10)]
    source: Annotated[str, Meta(min_length=5)]
    level: Level
    feature: str
    protocol: Protocol = "plans"

    @property
    def title(self) -> str:
        """The name by which people and lists call it."""
        return f"{self.protocol}/{self.name}"


class Case(Described, forbid_unknown_fields=True, kw_only=True):
    """One case: a sentence of the protocol, and how a worker shows that it keeps to it."""

    environment: dict[str, str | None] = {}
    hall: Setting = msgspec.field(default_factory=Setting)
    answers: list[Rule] = []
    steps: Annotated[list[Step], Meta(min_length=1)]
    finally_: list[Counted] = msgspec.field(default_factory=list, name="finally")
