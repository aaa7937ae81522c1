"""The comparison verb by verb, as in production: the asks of each are a batch, and hot ones a single statement."""

from __future__ import annotations

from typing import Any

import pytest

from hiringhall.ports.asks import ORDER
from tests.storage.batches import TERMS, Draft, addressed
from tests.storage.subjects import Subject, open_subject
from tests.storage.test_differential import Comparison


class VerbByVerb(Comparison):
    """One run of one seed whose batches are split by verb."""

    async def _commit(self, subject: Subject, drafts: list[Draft], now: int) -> tuple[list[Any], dict[str, int]]:
        outcomes: dict[int, Any] = {}
        rings: dict[str, int] = {}
        for kind in ORDER:
            places = [place for place, draft in enumerate(drafts) if type(addressed(draft, {})) is kind]
            if places:
                found, rung = await super()._commit(subject, [drafts[place] for place in places], now)
                outcomes.update(zip(places, found, strict=True))
                for topic, count in rung.items():
                    rings[topic] = rings.get(topic, 0) + count
        return [outcomes[place] for place in range(len(drafts))], rings


@pytest.mark.parametrize("seed", [2, 3])
async def test_agrees_verb_by_verb(seed: int, request: pytest.FixtureRequest) -> None:
    """The single statements of the hot verbs do exactly what the domain decides."""
    async with open_subject("postgres", TERMS, request) as subject:
        await VerbByVerb(seed, subject).run()
