"""What a value has to be like: literal JSON, with objects whose only member begins with `$` as wildcards."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from hiringhall.verify.numerals import Numeral, decode, shown

Saved = dict[str, Any]


class BadPattern(ValueError):
    """A case has a wildcard that there is not."""


def difference(pattern: Any, seen: Any, saved: Saved, place: str = "") -> str | None:
    """What about `seen` is not as the pattern says, in one line; None if it fits.

    Objects may have more members than the pattern names; arrays have exactly its elements. `$save` puts values into
    `saved`, also when something else then does not fit.
    """
    wildcard = _wildcard(pattern)
    if wildcard is not None:
        return _WILDCARDS[wildcard](pattern[wildcard], seen, saved, place)
    if isinstance(pattern, Mapping):
        return _objects(pattern, seen, saved, place)
    if isinstance(pattern, list):
        if not isinstance(seen, list):
            return f"{_at(place)}expected an array, was {shown(seen)}"
        if len(pattern) != len(seen):
            return f"{_at(place)}expected {len(pattern)} elements, were {len(seen)}: {shown(seen)}"
        pairs = enumerate(zip(pattern, seen, strict=True))
        return next((d for n, (p, s) in pairs if (d := difference(p, s, saved, f"{place}[{n}]"))), None)
    return None if _same(pattern, seen) else f"{_at(place)}expected {shown(pattern)}, was {shown(seen)}"


def check_pattern(pattern: Any) -> None:
    """BadPattern if a wildcard in a pattern is unknown or misplaced."""
    if isinstance(pattern, Mapping):
        marked = [name for name in pattern if isinstance(name, str) and name.startswith("$")]
        if marked and (len(pattern) > 1 or marked[0] not in _WILDCARDS):
            raise BadPattern(f"there is no wildcard {' with '.join(map(str, pattern))}; known: {', '.join(_WILDCARDS)}")
        for member in pattern.values():
            check_pattern(member)
    elif isinstance(pattern, list):
        for element in pattern:
            check_pattern(element)


def wildcards() -> tuple[str, ...]:
    """The names of all wildcards."""
    return tuple(_WILDCARDS)


def _wildcard(pattern: Any) -> str | None:
    if isinstance(pattern, Mapping) and len(pattern) == 1:
        (name,) = pattern
        if isinstance(name, str) and name in _WILDCARDS:
            return name
    return None


def _objects(pattern: Mapping[str, Any], seen: Any, saved: Saved, place: str) -> str | None:
    if not isinstance(seen, Mapping):
        return f"{_at(place)}expected an object, was {shown(seen)}"
    for name, member in pattern.items():
        inside = f"{place}.{name}" if place else str(name)
        if _wildcard(member) == "$absent":
            if name in seen:
                return f"{_at(inside)}expected not to be there, was {shown(seen[name])}"
        elif name not in seen:
            return f"{_at(inside)}is missing in {shown(seen)}"
        elif found := difference(member, seen[name], saved, inside):
            return found
    return None


def _same(pattern: Any, seen: Any) -> bool:
    if isinstance(pattern, bool) or isinstance(seen, bool):
        return pattern is seen
    if isinstance(pattern, Numeral) or isinstance(seen, Numeral):
        return bool(seen == pattern)
    return type(pattern) is type(seen) and bool(pattern == seen)


def _at(place: str) -> str:
    return f"{place}: " if place else ""


def _any(_: Any, _seen: Any, _saved: Saved, _place: str) -> str | None:
    return None


def _absent(_: Any, _seen: Any, _saved: Saved, place: str) -> str | None:
    return f"{_at(place)}expected not to be there"


_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: (isinstance(v, Numeral) and v.whole) or (isinstance(v, int) and not isinstance(v, bool)),
    "number": lambda v: isinstance(v, Numeral | int | float) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "object": lambda v: isinstance(v, Mapping),
    "array": lambda v: isinstance(v, list),
}


def _type(wanted: Any, seen: Any, _saved: Saved, place: str) -> str | None:
    return None if _TYPES[wanted](seen) else f"{_at(place)}expected {wanted}, was {shown(seen)}"


def _matches(wanted: Any, seen: Any, _saved: Saved, place: str) -> str | None:
    if isinstance(seen, str) and re.search(wanted, seen):
        return None
    return f"{_at(place)}expected a text that matches {wanted}, was {shown(seen)}"


def _contains(wanted: Any, seen: Any, saved: Saved, place: str) -> str | None:
    if isinstance(seen, str) and isinstance(wanted, str) and wanted in seen:
        return None
    if isinstance(seen, list) and any(difference(wanted, one, saved) is None for one in seen):
        return None
    return f"{_at(place)}expected to contain {shown(wanted)}, was {shown(seen)}"


def _one_of(wanted: Any, seen: Any, saved: Saved, place: str) -> str | None:
    if any(difference(one, seen, saved) is None for one in wanted):
        return None
    return f"{_at(place)}expected one of {shown(wanted)}, was {shown(seen)}"


def _all(wanted: Any, seen: Any, saved: Saved, place: str) -> str | None:
    return next((d for one in wanted if (d := difference(one, seen, saved, place))), None)


def _not(wanted: Any, seen: Any, saved: Saved, place: str) -> str | None:
    if difference(wanted, seen, dict(saved)) is not None:
        return None
    return f"{_at(place)}expected anything but {shown(wanted)}, was {shown(seen)}"


def _between(wanted: Any, seen: Any, _saved: Saved, place: str) -> str | None:
    least, most = wanted
    try:
        value = seen.value if isinstance(seen, Numeral) else float(seen)
    except (TypeError, ValueError):
        value = None
    if value is not None and not isinstance(seen, bool) and least <= value <= most:
        return None
    return f"{_at(place)}expected a number of {least} to {most}, was {shown(seen)}"


def _save(name: Any, seen: Any, saved: Saved, _place: str) -> str | None:
    saved[name] = seen
    return None


def _saved(name: Any, seen: Any, saved: Saved, place: str) -> str | None:
    if name not in saved:
        return f"{_at(place)}expected the same as {name}, which was never seen"
    return (
        None if saved[name] == seen else f"{_at(place)}expected {name} again, {shown(saved[name])}, was {shown(seen)}"
    )


def _only(wanted: Any, seen: Any, saved: Saved, place: str) -> str | None:
    found = difference(wanted, seen, saved, place)
    if found is None and len(seen) > len(wanted):
        return f"{_at(place)}expected no other members than {', '.join(wanted)}, was {shown(seen)}"
    return found


def _json_text(text: Any, seen: Any, saved: Saved, place: str) -> str | None:
    return difference(decode(text), seen, saved, place)


_WILDCARDS: dict[str, Callable[[Any, Any, Saved, str], str | None]] = {
    "$any": _any,
    "$absent": _absent,
    "$type": _type,
    "$matches": _matches,
    "$contains": _contains,
    "$one_of": _one_of,
    "$all": _all,
    "$not": _not,
    "$between": _between,
    "$save": _save,
    "$saved": _saved,
    "$only": _only,
    "$json": _json_text,
}
