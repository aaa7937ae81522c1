"""What operators' routes about services and clients take and answer, as structs."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hiringhall.domain.names import IDENTIFIER_CHARACTERS_MAX
from hiringhall.domain.owners import (
    METHODS_MAX,
    OPERATOR,
    PATTERN_CHARACTERS_MAX,
    PATTERN_STARS_MAX,
    PATTERNS_MAX,
    SECRET_CHARACTERS_MAX,
    SETTINGS_MAX,
    TOLD_ANYWAY,
    VALUE_CHARACTERS_MAX,
)
from hiringhall.domain.plan_members import RUN_LIMIT_SECONDS_LIMIT
from hiringhall.wire.operators.structs import IDENTIFIER_PATTERN, Count, Identifier, Time

SERVICE_PATTERN = IDENTIFIER_PATTERN.replace("[^", "[^/")
"""As an identifier, without a slash."""
CLIENT_PATTERN = f"^(?!{OPERATOR}$)" + IDENTIFIER_PATTERN[1:]
STARS_PATTERN = f"^(?:[^*]*\\*){{0,{PATTERN_STARS_MAX}}}[^*]*$"
SETTING_PATTERN = f"^(?!(?:{'|'.join(sorted(TOLD_ANYWAY))})$)" + IDENTIFIER_PATTERN[1:]

Secret = Annotated[str, Meta(min_length=1, max_length=SECRET_CHARACTERS_MAX)]
SettingName = Annotated[str, Meta(min_length=1, max_length=IDENTIFIER_CHARACTERS_MAX, pattern=SETTING_PATTERN)]
SettingValue = Annotated[str, Meta(max_length=VALUE_CHARACTERS_MAX)]
Pattern = Annotated[str, Meta(min_length=1, max_length=PATTERN_CHARACTERS_MAX, pattern=STARS_PATTERN)]
Dispatch = Literal["exclusive", "race", "broadcast"]


class MethodOverride(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What differs for one method of a service. `run_limit_seconds`: 0 is no limit."""

    dispatch: Dispatch | None = None
    run_limit_seconds: Annotated[float, Meta(ge=0, le=RUN_LIMIT_SECONDS_LIMIT)] | None = None


class ServiceBody(Struct, forbid_unknown_fields=True):
    """A service; absent members keep their value. `settings` are added to those that there are, null removes one."""

    secret: Secret | None = None
    settings: Annotated[dict[SettingName, SettingValue | None], Meta(max_length=SETTINGS_MAX)] | None = None
    dispatch: Dispatch | None = None
    methods: Annotated[dict[Identifier, MethodOverride], Meta(max_length=METHODS_MAX)] | None = None


class ClientBody(Struct, forbid_unknown_fields=True):
    """A client; absent members keep their value. `allow` are shell wildcards over `service/method`; a new client needs
    them."""

    secret: Secret | None = None
    allow: Annotated[list[Pattern], Meta(max_length=PATTERNS_MAX)] | None = None


class Service(Struct, kw_only=True):
    """A service. Of its settings only the names are told; `secrets`: how many are valid.

    `unreadable_settings`: those that no key of this server opens, so that no worker can register. Only an answer about
    one service has it, and only if there are some."""

    id: str
    dispatch: Dispatch
    methods: dict[str, MethodOverride]
    paused: bool
    settings: list[str]
    secrets: Count
    made_at: Time
    unreadable_settings: list[str] | UnsetType = UNSET


class ServiceAnswer(Struct):
    """One service. `secret` is the one that was made, and is never told again."""

    service: Service
    secret: str | UnsetType = UNSET


class ServicesAnswer(Struct):
    """Services in the order of their ids. `next`: give it as `after` to read on."""

    services: list[Service]
    next: str | None


class KeyAnswer(Struct):
    """The key that signs access tokens now. The one before is accepted for `previous_seconds` more."""

    key_id: str
    previous_seconds: Annotated[float, Meta(gt=0)]


class ServiceDeleted(Struct):
    """The service is gone, and the logins of its workers have ended."""

    service_id: str
    deleted: bool = True


class Client(Struct, kw_only=True):
    """A client. `secrets`: how many are valid."""

    id: str
    allow: list[str]
    secrets: Count
    made_at: Time


class ClientAnswer(Struct):
    """One client. `secret` is the one that was made, and is never told again."""

    client: Client
    secret: str | UnsetType = UNSET


class ClientsAnswer(Struct):
    """Clients in the order of their ids. `next`: give it as `after` to read on."""

    clients: list[Client]
    next: str | None


class ClientDeleted(Struct):
    """The client is gone, and its logins have ended."""

    client_id: str
    deleted: bool = True
