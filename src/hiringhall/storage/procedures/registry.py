"""Which procedure carries out which ask, and which answers which query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hiringhall.ports import asks, questions
from hiringhall.storage.procedure import Procedure
from hiringhall.storage.procedures import apply_plan, give_back, plans, queries, settle, steer, sweeps, take, workers

PROCEDURES: Final[dict[type[Any], Callable[..., Procedure]]] = {
    asks.Beat: sweeps.beat,
    asks.Register: workers.register,
    asks.MarkSeen: workers.mark_seen,
    asks.Settle: settle.settle,
    asks.Return: give_back.give_back,
    asks.Reconcile: give_back.reconcile,
    asks.DirectWorker: workers.direct_worker,
    asks.RemoveWorker: workers.remove_worker,
    asks.Apply: apply_plan.apply_plan,
    asks.DeletePlan: plans.delete_plan,
    asks.PausePlan: plans.pause_plan,
    asks.RetryPlan: steer.retry_plan,
    asks.Steer: steer.steer,
    asks.SweepSilent: sweeps.sweep_silent,
    asks.SweepRunLimit: sweeps.sweep_run_limit,
    asks.SweepRetries: sweeps.sweep_retries,
    asks.Unblock: plans.unblock,
    asks.FoldTallies: sweeps.fold_tallies,
    asks.Forget: plans.forget,
    asks.Take: take.take,
}
"""From the type of an ask to `procedure(context, asks)`, which returns one outcome for each."""

QUERIES: Final[dict[type[Any], Callable[..., Procedure]]] = {
    questions.Alive: queries.alive,
    questions.FindWorkers: queries.find_workers,
    questions.ListWorkers: queries.list_workers,
    questions.ReadyLanes: queries.ready_lanes,
    questions.FindPlan: queries.find_plan,
    questions.ListPlans: queries.list_plans,
    questions.ListTasks: queries.list_tasks,
    questions.FindTasks: queries.find_tasks,
    questions.KnownTasks: queries.known_tasks,
    questions.ReadHistory: queries.read_history,
}
"""From the type of a query to `procedure(context, query)`, which returns its result."""
