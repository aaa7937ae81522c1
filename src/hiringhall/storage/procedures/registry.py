"""Which procedure carries out which ask, and which answers which query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hiringhall.ports import store as port
from hiringhall.storage.procedure import Procedure
from hiringhall.storage.procedures import apply_plan, give_back, plans, queries, settle, steer, sweeps, take, workers

PROCEDURES: Final[dict[type[Any], Callable[..., Procedure]]] = {
    port.Beat: sweeps.beat,
    port.Register: workers.register,
    port.MarkSeen: workers.mark_seen,
    port.Settle: settle.settle,
    port.Return: give_back.give_back,
    port.Reconcile: give_back.reconcile,
    port.DirectWorker: workers.direct_worker,
    port.RemoveWorker: workers.remove_worker,
    port.Apply: apply_plan.apply_plan,
    port.DeletePlan: plans.delete_plan,
    port.PausePlan: plans.pause_plan,
    port.RetryPlan: steer.retry_plan,
    port.Steer: steer.steer,
    port.SweepSilent: sweeps.sweep_silent,
    port.SweepRunLimit: sweeps.sweep_run_limit,
    port.SweepRetries: sweeps.sweep_retries,
    port.Unblock: plans.unblock,
    port.FoldTallies: sweeps.fold_tallies,
    port.Forget: plans.forget,
    port.Take: take.take,
}
"""From the type of an ask to `procedure(context, asks)`, which returns one outcome for each."""

QUERIES: Final[dict[type[Any], Callable[..., Procedure]]] = {
    port.Alive: queries.alive,
    port.FindWorkers: queries.find_workers,
    port.ListWorkers: queries.list_workers,
    port.ReadyLanes: queries.ready_lanes,
    port.FindPlan: queries.find_plan,
    port.ListPlans: queries.list_plans,
    port.ListTasks: queries.list_tasks,
    port.FindTasks: queries.find_tasks,
    port.KnownTasks: queries.known_tasks,
    port.ReadHistory: queries.read_history,
}
"""From the type of a query to `procedure(context, query)`, which returns its result."""
