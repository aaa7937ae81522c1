"""Worker SDK and client for Hiring Hall, over plain HTTP, without dependencies."""

from .client.client import Client
from .client.outcome import CallFailed, CallPending, Feedback, Outcome
from .client.pending import PendingCall
from .errors import Fail, HallError, Refused, Release, Superseded, Unauthorized, Unreachable
from .services.call import Call
from .services.worker import ServiceWorker
from .task import Task
from .worker import PlanWorker

__version__ = "0.1.0"

__all__ = [
    "Call",
    "CallFailed",
    "CallPending",
    "Client",
    "Fail",
    "Feedback",
    "HallError",
    "Outcome",
    "PendingCall",
    "PlanWorker",
    "Refused",
    "Release",
    "ServiceWorker",
    "Superseded",
    "Task",
    "Unauthorized",
    "Unreachable",
    "__version__",
]
