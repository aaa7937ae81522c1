"""A comparable picture of everything the oracle remembers, by names instead of ids."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hiringhall.storage.model.hall import Hall, Task


def picture(hall: Hall) -> dict[str, Any]:
    """Plans, tasks with all members of their units, open edges, counts, workers, directives, hand-overs, histories."""
    names = {id_: (task.unit.plan, task.unit.name) for id_, task in hall.tasks.items()}
    return {
        "plans": {
            plan.id: {"name": plan.name, "paused": plan.paused, "applied_at": plan.applied_at}
            for plan in hall.plans.values()
        },
        "tasks": {names[id_]: _members(task) for id_, task in hall.tasks.items()},
        "edges": {(names[dependency], names[dependent]) for dependency, dependent in hall.edges},
        "unmet": {(names[dependency], names[dependent]) for dependency, dependent in hall.unmet},
        "tallies": {
            plan.id: dict(Counter(task.unit.counted_as for task in plan.tasks.values())) for plan in hall.plans.values()
        },
        "workers": {
            key: {
                "hostname": worker.hostname,
                "token_hash": worker.token_hash,
                "registered_at": worker.registered_at,
                "quiet": worker.quiet,
                "terminate": worker.terminate,
                "offline": worker.offline,
                "last_seen": worker.pulse.last_seen,
                "last_beat": worker.pulse.last_beat,
                "gaps": worker.pulse.gaps,
            }
            for key, worker in hall.workers.items()
        },
        "directives": dict(hall.directives),
        "hand_overs": {
            name: (hand_over.lane_key, hand_over.cause.value, hand_over.at, hand_over.key, hand_over.gone_at)
            for name, hand_over in hall.hand_overs.items()
        },
        "histories": {names[id_]: list(task.history) for id_, task in hall.tasks.items()},
        "hall": (hall.heard_since, hall.pulse_at),
    }


def _members(task: Task) -> dict[str, Any]:
    unit = task.unit
    left_out = {"id", "lane", "lane_key", "name"}
    members = {name: getattr(unit, name) for name in unit.__struct_fields__ if name not in left_out}
    return {**members, "detail": task.spec.detail}
