"""What may be said of a service or a client, by operators and in `hall.toml`; every problem is told at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hiringhall.domain.call import Dispatch
from hiringhall.domain.names import IDENTIFIER_CHARACTERS_MAX, complaint_about
from hiringhall.domain.plan import Problem
from hiringhall.domain.plan_members import RUN_LIMIT_SECONDS_LIMIT

SECRET_CHARACTERS_MAX: Final = 256
SETTINGS_MAX: Final = 200
VALUE_CHARACTERS_MAX: Final = 16 * 1024
METHODS_MAX: Final = 1_000
PATTERNS_MAX: Final = 200
PATTERN_STARS_MAX: Final = 8
"""Each star of each pattern may go through the whole of a method's name, for every call."""
PATTERN_CHARACTERS_MAX: Final = 2 * IDENTIFIER_CHARACTERS_MAX + 1
OPERATOR: Final = "operator"
"""The client as which the operator's token acts. No client may be called so."""
TOLD_ANYWAY: Final = frozenset({"heartbeat_delay", "hall_version"})
"""What every worker is told when it registers, so that no setting may be called so."""
SERVICE_MEMBERS: Final = ("secret", "settings", "dispatch", "methods")
CLIENT_MEMBERS: Final = ("secret", "allow")
METHOD_MEMBERS: Final = ("dispatch", "run_limit_seconds")


@dataclass(frozen=True, slots=True)
class ServiceWish:
    """What a service shall be; None and absent settings: as it is. A setting with None is removed."""

    secret: str | None = None
    settings: Mapping[str, str | None] = field(default_factory=dict)
    dispatch: str | None = None
    methods: str | None = None  # JSON


@dataclass(frozen=True, slots=True)
class ClientWish:
    """What a client shall be; None: as it is."""

    secret: str | None = None
    allow: str | None = None  # a JSON list of patterns


def complaint_about_service(service: str) -> str | None:
    """Why a service cannot be called so: as identifiers, and a slash would part service and method."""
    return complaint_about(service) or ("must not contain '/'" if "/" in service else None)


def complaint_about_client(client: str) -> str | None:
    """Why a client cannot be called so."""
    return complaint_about(client) or ("is the client of the operator's token" if client == OPERATOR else None)


def read_service(members: object) -> ServiceWish | list[Problem]:
    """What is said of a service."""
    reading = _Reading(members, SERVICE_MEMBERS)
    wish = ServiceWish(
        reading.secret(), reading.settings(), reading.dispatch("dispatch", reading.get("dispatch")), reading.methods()
    )
    return reading.problems or wish


def read_client(members: object) -> ClientWish | list[Problem]:
    """What is said of a client."""
    reading = _Reading(members, CLIENT_MEMBERS)
    wish = ClientWish(reading.secret(), reading.allow())
    return reading.problems or wish


class _Reading:
    """Goes through the members of an object. A member that is null is absent."""

    def __init__(self, members: object, known: tuple[str, ...]) -> None:
        self.problems: list[Problem] = []
        self._members: Mapping[str, Any] = members if isinstance(members, dict) else {}
        if not isinstance(members, dict):
            self._complain("body", "must be an object")
        for name in self._members:
            if name not in known:
                self._complain(_shown(name), f"is not known here; the members are {', '.join(known)}")

    def _complain(self, name: str, reason: str) -> None:
        self.problems.append(Problem(name, reason))

    def get(self, name: str) -> Any:
        """A member; None if it is absent."""
        return self._members.get(name)

    def _object(self, name: str, found: Any) -> Mapping[str, Any]:
        if found is None:
            return {}
        if isinstance(found, dict):
            return found
        self._complain(name, "must be an object")
        return {}

    def secret(self) -> str | None:
        """The secret that somebody chose."""
        found = self.get("secret")
        if found is None:
            return None
        if not isinstance(found, str) or not 1 <= len(found) <= SECRET_CHARACTERS_MAX:
            self._complain("secret", f"must be a text of 1 to {SECRET_CHARACTERS_MAX} characters")
            return None
        return found

    def settings(self) -> dict[str, str | None]:
        """The settings to set and, with null, to remove."""
        found = self._object("settings", self.get("settings"))
        if len(found) > SETTINGS_MAX:
            self._complain("settings", f"must be at most {SETTINGS_MAX}")
        for name, value in found.items():
            place = f"settings.{_shown(name)}"
            complaint = complaint_about(name)
            if complaint is not None:
                self._complain("settings", f"a name {complaint}")
            elif name in TOLD_ANYWAY:
                self._complain(place, "is told to every worker anyway")
            elif not isinstance(value, str | None):
                self._complain(place, "must be a text, or null to remove it")
            elif value is not None and len(value) > VALUE_CHARACTERS_MAX:
                self._complain(place, f"must have at most {VALUE_CHARACTERS_MAX} characters")
        return dict(found)

    def dispatch(self, place: str, found: Any) -> str | None:
        """Who gets a call."""
        if found is None or found in tuple(Dispatch):
            return None if found is None else str(found)
        self._complain(place, f"must be one of {', '.join(Dispatch)}")
        return None

    def methods(self) -> str | None:
        """What differs for single methods, as JSON; None if nothing is said of methods."""
        if self.get("methods") is None:
            return None
        found = self._object("methods", self.get("methods"))
        if len(found) > METHODS_MAX:
            self._complain("methods", f"must be at most {METHODS_MAX}")
        kept: dict[str, dict[str, Any]] = {}
        for name, members in found.items():
            place = f"methods.{_shown(name)}"
            complaint = complaint_about(name)
            if complaint is not None:
                self._complain("methods", f"a name {complaint}")
                continue
            if not isinstance(members, dict):
                self._complain(place, "must be an object")
                continue
            special: dict[str, Any] = members
            for member in special:
                if member not in METHOD_MEMBERS:
                    known = ", ".join(METHOD_MEMBERS)
                    self._complain(f"{place}.{_shown(member)}", f"is not known here; the members are {known}")
            self.dispatch(f"{place}.dispatch", special.get("dispatch"))
            self._run_limit(f"{place}.run_limit_seconds", special.get("run_limit_seconds"))
            kept[name] = {member: value for member, value in special.items() if value is not None}
        return None if self.problems else json.dumps(kept, separators=(",", ":"), sort_keys=True)

    def _run_limit(self, place: str, found: Any) -> None:
        number = isinstance(found, int | float) and not isinstance(found, bool)
        if found is not None and not (number and 0 <= found <= RUN_LIMIT_SECONDS_LIMIT):
            self._complain(place, f"must be a number from 0 (no limit) to {RUN_LIMIT_SECONDS_LIMIT:g}")

    def allow(self) -> str | None:
        """The patterns of what a client may call, as JSON."""
        found = self.get("allow")
        if found is None:
            return None
        if not isinstance(found, list) or not all(isinstance(pattern, str) for pattern in found):
            self._complain("allow", "must be a list of patterns like 'math/*'")
            return None
        if len(found) > PATTERNS_MAX or any(
            not 1 <= len(each) <= PATTERN_CHARACTERS_MAX or each.count("*") > PATTERN_STARS_MAX for each in found
        ):
            longest = PATTERN_CHARACTERS_MAX
            self._complain(
                "allow",
                f"must be at most {PATTERNS_MAX} patterns of 1 to {longest} characters and {PATTERN_STARS_MAX} stars",
            )
            return None
        return json.dumps(found, separators=(",", ":"))


def _shown(name: str) -> str:
    """A name that somebody made up, as far as it can be told."""
    return name if name.isprintable() and len(name) <= IDENTIFIER_CHARACTERS_MAX else "a member"
