"""The members of a plan file one by one: what each may hold, and what is said about those that nobody knows.

Every check notes what is wrong in `Findings` and goes on with a harmless value, so that one reading finds all problems.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from hiringhall.domain.names import complaint_about
from hiringhall.domain.plan import Problem
from hiringhall.domain.retry import BACKOFF_SECONDS_LIMIT, MAX_ATTEMPTS_LIMIT, Backoff, Policy

TYPO_DISTANCE_MAX: Final = 2
TYPO_NAME_CHARACTERS_MIN: Final = 6
RUN_LIMIT_SECONDS_LIMIT: Final = 366 * 86_400
BACKOFF_FACTOR_LIMIT: Final = 1_000
WARNING_NAME_CHARACTERS_MAX: Final = 80

POLICY_MEMBERS: Final = frozenset({"on_failure", "max_attempts", "retry_backoff", "max_abandoned", "run_limit_seconds"})
BACKOFF_MEMBERS: Final = frozenset({"base_seconds", "factor", "max_seconds"})


class Findings:
    """What one reading of a plan file finds: the problems, and what is left out."""

    __slots__ = ("_left_out", "problems")

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._left_out: dict[tuple[str, str], tuple[str, int]] = {}

    def problem(self, field: str, reason: str) -> None:
        """Something is wrong with `field`."""
        self.problems.append(Problem(field, reason))

    def left_out(self, field: str, kind: str, reason: str) -> None:
        """`field` does not count. Fields of one kind and reason are told once, with how many more there are."""
        first, more = self._left_out.get((kind, reason), (field, -1))
        self._left_out[kind, reason] = (first, more + 1)

    def warnings(self) -> tuple[str, ...]:
        """What was left out, a line for each kind of field."""
        return tuple(
            f"{first}: {reason}" + (f" (and {more} more like it)" if more else "")
            for (_, reason), (first, more) in self._left_out.items()
        )

    def unknown_members(self, names: Iterable[str], known: Iterable[str], where: str, kind: str) -> None:
        """Members that nobody knows: probably misspelt ones are problems, the others are left out."""
        for name in sorted(names):
            meant = next((other for other in sorted(known) if _misspelt(name, other)), None)
            if meant is not None:
                self.problem(where + name, f"unknown member; did you mean {meant!r}?")
            else:
                shown = name if len(name) <= WARNING_NAME_CHARACTERS_MAX else name[:WARNING_NAME_CHARACTERS_MAX] + "…"
                self.left_out(where + shown, kind + name, "unknown member, left out")


def text(members: Mapping[str, Any], name: str, where: str, findings: Findings) -> str:
    """A text, empty by default."""
    value = members.get(name)
    if type(value) is str:
        return value
    if value is not None:
        findings.problem(where + name, "must be a text")
    return ""


def texts(members: Mapping[str, Any], name: str, where: str, findings: Findings) -> list[str]:
    """A list of texts, empty by default."""
    value = members.get(name)
    if value is None:
        return []
    if type(value) is not list:
        findings.problem(where + name, "must be a list of texts")
        return []
    if not value or set(map(type, value)) == {str}:
        return value
    for index, item in enumerate(value):
        if type(item) is not str:
            findings.problem(f"{where}{name}[{index}]", "must be a text")
    return [item for item in value if type(item) is str]


def identifier(value: object, field: str, findings: Findings) -> str | None:
    """An identifier, or None if it cannot be one."""
    if type(value) is not str:
        findings.problem(field, "is missing" if value is None else "must be a text")
        return None
    complaint = complaint_about(value)
    if complaint is not None:
        findings.problem(field, complaint)
        return None
    return value


def policy(members: Mapping[str, Any], inherited: Policy, where: str, findings: Findings) -> Policy:
    """What happens on failure: the inherited policy, overridden member by member."""
    if POLICY_MEMBERS.isdisjoint(members):
        return inherited
    on_failure = members.get("on_failure")
    if on_failure is not None and on_failure not in ("block", "skip"):
        findings.problem(where + "on_failure", "must be 'block' or 'skip'")
    attempts = _number(members, "max_attempts", (1, MAX_ATTEMPTS_LIMIT), where, findings, whole=True)
    abandoned = _number(members, "max_abandoned", (1, MAX_ATTEMPTS_LIMIT), where, findings, whole=True)
    run_limit = _number(members, "run_limit_seconds", (0, RUN_LIMIT_SECONDS_LIMIT), where, findings)
    return Policy(
        on_failure=inherited.on_failure if on_failure is None else str(on_failure),
        max_attempts=inherited.max_attempts if attempts is None else int(attempts),
        backoff=_backoff(members.get("retry_backoff"), inherited.backoff, where + "retry_backoff", findings),
        max_abandoned=inherited.max_abandoned if abandoned is None else int(abandoned),
        run_limit_ms=inherited.run_limit_ms if run_limit is None else _milliseconds(run_limit),
    )


def _backoff(value: object, inherited: Backoff, field: str, findings: Findings) -> Backoff:
    if value is None:
        return inherited
    if not isinstance(value, dict):
        findings.problem(field, "must be an object with base_seconds, factor and max_seconds")
        return inherited
    where = field + "."
    findings.unknown_members(value.keys() - BACKOFF_MEMBERS, BACKOFF_MEMBERS, where, "retry_backoff.")
    base = _number(value, "base_seconds", (0, BACKOFF_SECONDS_LIMIT), where, findings)
    factor = _number(value, "factor", (1, BACKOFF_FACTOR_LIMIT), where, findings)
    longest = _number(value, "max_seconds", (0, BACKOFF_SECONDS_LIMIT), where, findings)
    return Backoff(
        base_seconds=inherited.base_seconds if base is None else float(base),
        factor=inherited.factor if factor is None else float(factor),
        max_seconds=inherited.max_seconds if longest is None else float(longest),
    )


def _number(
    members: Mapping[str, Any],
    name: str,
    bounds: tuple[int, int],
    where: str,
    findings: Findings,
    *,
    whole: bool = False,
) -> float | None:
    value = members.get(name)
    if value is None:
        return None
    low, high = bounds
    kind = "a whole number" if whole else "a number"
    if isinstance(value, bool) or not isinstance(value, int | float) or (whole and value != value // 1):
        findings.problem(where + name, f"must be {kind} from {low} to {high}")
        return None
    if not low <= value <= high:
        findings.problem(where + name, f"must be {kind} from {low} to {high}")
        return None
    return value


def _milliseconds(seconds: float) -> int:
    """0 means that there is no limit, so a tiny limit does not become 0."""
    return max(1, round(seconds * 1000)) if seconds else 0


def _misspelt(name: str, known: str) -> bool:
    if len(known) < TYPO_NAME_CHARACTERS_MIN or abs(len(name) - len(known)) > TYPO_DISTANCE_MAX:
        return False
    return edit_distance(name, known) <= TYPO_DISTANCE_MAX


def edit_distance(left: str, right: str) -> int:
    """How many insertions, deletions and replacements of one character turn `left` into `right`."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]
