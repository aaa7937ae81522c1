"""How a case went, and patterns in words for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from hiringhall.verify.cases import Described
from hiringhall.verify.numerals import shown
from hiringhall.verify.timeline import Timeline


@dataclass(frozen=True)
class Result:
    """The end of one case; `seen` is empty if the worker did as expected."""

    case: Described
    expected: str
    seen: str
    timeline: Timeline
    seconds: float
    skipped: str = ""

    @property
    def passed(self) -> bool:
        """Whether everything was as the case says."""
        return not self.seen and not self.skipped


def described(value: Any) -> str:
    """A member of a case in one line: what is not the default, as JSON."""
    if not isinstance(value, msgspec.Struct):
        return value if isinstance(value, str) else shown(value)
    usual = dict(zip(reversed(value.__struct_fields__), reversed(value.__struct_defaults__), strict=False))
    given = {}
    for name in value.__struct_fields__:
        member = getattr(value, name)
        if name in usual and (member == usual[name] or member is msgspec.UNSET or member == {}):
            continue
        given[name] = member
    first = str(given.pop("request", ""))
    return f"{first} {shown(given, 400)}".strip() if given else first
