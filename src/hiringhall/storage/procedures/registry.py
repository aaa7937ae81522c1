"""Which procedure carries out which ask, and which answers which query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hiringhall.ports import asks, calls, identity, questions
from hiringhall.storage.procedure import Procedure
from hiringhall.storage.procedures import (
    apply_plan,
    drain,
    feedback,
    forget_calls,
    give_back,
    logins,
    offers,
    plans,
    queries,
    requests,
    respond,
    service_workers,
    settle,
    steer,
    submit,
    sweeps,
    take,
    withdraw,
    workers,
)
from hiringhall.storage.procedures import identity as owners

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
    identity.PutService: owners.put_service,
    identity.PutClient: owners.put_client,
    identity.PauseService: owners.pause_service,
    identity.DeleteService: owners.delete_service,
    identity.DeleteClient: owners.delete_client,
    identity.BeginSession: logins.begin_session,
    identity.RefreshSession: logins.refresh_session,
    identity.EndSessions: logins.end_sessions,
    identity.PutSigningKey: logins.put_signing_key,
    identity.Reseal: logins.reseal,
    identity.ForgetLogins: logins.forget_logins,
    calls.RegisterServiceWorker: service_workers.register,
    calls.Goodbye: service_workers.goodbye,
    calls.Submit: submit.submit,
    calls.Withdraw: withdraw.withdraw,
    calls.Drain: drain.drain,
    calls.Lock: offers.lock,
    calls.Respond: respond.respond,
    calls.AddFeedback: feedback.add_feedback,
    calls.SweepDeadlines: withdraw.sweep_deadlines,
    calls.ForgetCalls: forget_calls.forget_calls,
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
    identity.FindServices: owners.find_services,
    identity.ListServices: owners.list_services,
    identity.ReadSettings: owners.read_settings,
    identity.FindClients: owners.find_clients,
    identity.ListClients: owners.list_clients,
    identity.FindSecrets: owners.find_secrets,
    identity.FindSessions: logins.find_sessions,
    identity.FindSigningKeys: logins.find_signing_keys,
    calls.FindRequests: requests.find_requests,
    calls.FindNews: requests.find_news,
    calls.ReadFeedback: feedback.read_feedback,
    calls.ListMethods: requests.list_methods,
    calls.CountCalls: requests.count_calls,
    calls.LazyWorkers: requests.lazy_workers,
}
"""From the type of a query to `procedure(context, query)`, which returns its result."""
