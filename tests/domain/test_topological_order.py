"""Plans in an order in which each task comes after those it depends on."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from hiringhall.domain.plan import topological_order

NAMES = st.sampled_from("abcdefgh")
GRAPHS = st.dictionaries(NAMES, st.lists(st.sampled_from("abcdefghxy"), max_size=4))


@given(GRAPHS)
def test_order_or_cycle(graph: dict[str, list[str]]) -> None:
    """Either every task is in the order, or a cycle is told and what is in the order does not depend on it."""
    order, cycle = topological_order(graph)
    assert len(set(order)) == len(order)
    assert set(order) <= set(graph)
    for place, task in enumerate(order):
        assert {other for other in graph[task] if other in graph} <= set(order[:place])
    if len(order) == len(graph):
        assert cycle == []
    else:
        assert cycle[0] == cycle[-1]
        assert all(after in graph[before] for before, after in itertools.pairwise(cycle))


@given(st.permutations("abcdef"), st.data())
def test_what_has_an_order_gets_one(names: list[str], data: st.DataObject) -> None:
    """A graph made along an order has no cycle, and every task finds its place."""
    graph = {
        name: data.draw(st.lists(st.sampled_from(names[:place]), max_size=3)) if place else []
        for place, name in enumerate(names)
    }
    order, cycle = topological_order(dict(sorted(graph.items())))
    assert sorted(order) == sorted(names)
    assert cycle == []


def test_ties_keep_the_order_given() -> None:
    """Tasks that do not depend on each other stay in the order of the file."""
    assert topological_order({"c": [], "a": [], "b": ["c"], "d": []})[0] == ["c", "a", "d", "b"]


def test_a_long_chain() -> None:
    """Fifty thousand tasks in a chain neither recurse nor take long."""
    chain = {str(number): [str(number + 1)] for number in range(50_000)}
    assert topological_order(chain)[0][:2] == ["49999", "49998"]
    chain["49999"] = ["0"]
    assert len(topological_order(chain)[1]) == 50_001
