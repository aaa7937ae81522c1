"""Which of a case's rules applies to a request, if any."""

from __future__ import annotations

from collections.abc import Sequence

from hiringhall.verify.cases import Rule
from hiringhall.verify.heard import Heard, misfit


class Script:
    """The rules of a case, each with how often it fitted and applied."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._fitted = [0] * len(rules)
        self._applied = [0] * len(rules)

    def pick(self, heard: Heard) -> Rule | None:
        """The first rule that is meant for this request and not used up."""
        for number, rule in enumerate(self._rules):
            if misfit(rule.to, heard, {}) is not None:
                continue
            self._fitted[number] += 1
            if self._fitted[number] <= rule.skip:
                continue
            if rule.times == "always" or self._applied[number] < rule.times:
                self._applied[number] += 1
                return rule
        return None

    def unused(self) -> list[str]:
        """What rules never applied, for people."""
        return [
            f"a scripted answer to {r.to.request}" for r, n in zip(self._rules, self._applied, strict=True) if not n
        ]
