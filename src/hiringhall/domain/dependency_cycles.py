"""Cycles among the dependencies of a plan: one for each knot of tasks that wait for each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def cycles(dependencies: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """One cycle, as a path whose last task is its first, for each set of tasks that all depend on each other.

    A task that depends on itself alone is left out; names that are not keys are left out.
    """
    return [_path_within(knot, dependencies) for knot in _knots(dependencies) if len(knot) > 1]


def _path_within(knot: set[str], dependencies: Mapping[str, Sequence[str]]) -> list[str]:
    places: dict[str, int] = {}
    task = next(task for task in dependencies if task in knot)
    while task not in places:
        places[task] = len(places)
        task = next(other for other in dependencies[task] if other in knot and other != task)
    path = list(places)
    return [*path[places[task] :], task]


def _knots(dependencies: Mapping[str, Sequence[str]]) -> list[set[str]]:
    """Strongly connected components by Tarjan's algorithm, without recursion."""
    found: list[set[str]] = []
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_tasks: dict[str, None] = {}  # a stack that is quick to search
    for root in dependencies:
        if root in number:
            continue
        number[root] = lowest[root] = len(number)
        open_tasks[root] = None
        walk = [(root, iter(dependencies[root]))]
        while walk:
            task, needs = walk[-1]
            for other in needs:
                if other not in dependencies:
                    continue
                if other not in number:
                    number[other] = lowest[other] = len(number)
                    open_tasks[other] = None
                    walk.append((other, iter(dependencies[other])))
                    break
                if other in open_tasks:
                    lowest[task] = min(lowest[task], number[other])
            else:
                walk.pop()
                if walk:
                    parent = walk[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[task])
                if lowest[task] == number[task]:
                    found.append(_popped_until(task, open_tasks))
    return found


def _popped_until(task: str, stack: dict[str, None]) -> set[str]:
    popped = set()
    while task not in popped:
        popped.add(stack.popitem()[0])
    return popped
