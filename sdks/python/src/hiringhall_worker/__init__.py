"""Worker SDK for Hiring Hall: take tasks of a plan over plain HTTP, without dependencies."""

from .errors import HallError, Refused, Release, Unauthorized
from .task import Task
from .worker import PlanWorker

__version__ = "0.1.0"

__all__ = ["HallError", "PlanWorker", "Refused", "Release", "Task", "Unauthorized", "__version__"]
