"""`hall work …`: a worker from the shell."""

from __future__ import annotations

import logging
import shutil
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hiringhall.cli.connection import (
    Connection,
    DataOption,
    Place,
    Refusal,
    ServerOption,
    TokenOption,
    Unreachable,
    find_server,
    plan_path,
)
from hiringhall.cli.output import visible
from hiringhall.cli.trouble import USAGE, Trouble
from hiringhall.cli.watch import ENDED

if TYPE_CHECKING:
    from hiringhall_worker import PlanWorker, Task

app: Final = typer.Typer(help="Work from the shell.", no_args_is_help=True)

LOOK_SECONDS: Final = 0.5


@app.callback()
def _work() -> None:
    """Work from the shell."""


PlanArgument = Annotated[str, typer.Argument(metavar="PLAN", help="The plan whose tasks are taken.")]
CommandArgument = Annotated[list[str], typer.Argument(metavar="-- CMD…", help="What is run for each task.")]
ConcurrencyOption = Annotated[
    int, typer.Option("--concurrency", metavar="N", min=1, max=1_000, help="How many tasks at once.")
]
OnceOption = Annotated[bool, typer.Option("--once", help="End after one task.")]
UntilFinishedOption = Annotated[
    bool, typer.Option("--until-finished", help="End when the plan is finished or blocked (needs an operator token).")
]
GraceOption = Annotated[
    float, typer.Option("--grace", metavar="SECONDS", min=0, help="How long commands may go on after SIGTERM.")
]
BootstrapTokenOption = Annotated[
    str | None,
    typer.Option("--bootstrap-token", metavar="TEXT", help="To register. [HALL_BOOTSTRAP_TOKEN, else DIR/server.json]"),
]
WorkerTokenOption = Annotated[
    str | None, typer.Option("--worker-token", metavar="TEXT", help="The one that workers share. [HALL_WORKER_TOKEN]")
]


@app.command("plan")
def work_plan(
    plan: PlanArgument,
    command: CommandArgument,
    concurrency: ConcurrencyOption = 1,
    once: OnceOption = False,
    until_finished: UntilFinishedOption = False,
    grace: GraceOption = 0.0,
    bootstrap_token: BootstrapTokenOption = None,
    worker_token: WorkerTokenOption = None,
    token: TokenOption = None,
    server: ServerOption = None,
    data: DataOption = None,
) -> None:
    """Take tasks of a plan and run CMD for each.

    The task stands as JSON on CMD's standard input, and in HALL_TASK_ID, HALL_PLAN_ID and HALL_TASK_VERSION. Exit
    status 0 completes it; any other fails it, with the end of CMD's standard error as the reason. SIGTERM is passed on
    to CMD, and its task is given back. CMD does not get the hall's tokens.

    If this program is killed (SIGKILL), Linux kills CMD too, though not what CMD itself started. Elsewhere CMD goes on
    while the hall gives its task to another worker, so end such a worker with SIGTERM.
    """
    from hiringhall.cli.task_command import TaskCommand
    from hiringhall_worker import HallError, PlanWorker

    if shutil.which(command[0]) is None:
        raise Trouble(f"{command[0]}: there is no such command", status=USAGE)
    place = find_server(server, data)
    shared, bootstrap, origin = _tokens(place, worker_token, bootstrap_token)
    try:
        worker = PlanWorker(
            place.url, plan=plan, bootstrap_token=bootstrap, token=shared, concurrency=concurrency, grace_seconds=grace
        )
    except ValueError as bad:
        raise Trouble(str(bad), status=USAGE) from None
    follower = _PlanFollower(Connection(server, token, data), plan, worker) if until_finished else None
    _log_plainly()
    runner = TaskCommand(command)
    try:
        if follower is not None:
            follower.start()
        worker.run(_Telling(runner), once=once)
    except HallError as refused:
        raise Trouble(f"{place.url} refuses this worker: {refused}", f"(its token came from {origin})") from None
    finally:
        if follower is not None:
            follower.stop()
        runner.end_all()


def _tokens(place: Place, worker_token: str | None, bootstrap_token: str | None) -> tuple[str | None, str | None, str]:
    """The shared token, the one to register with, and where the one that counts came from."""
    shared, shared_origin = place.token("worker_token", "HALL_WORKER_TOKEN", worker_token, "--worker-token")
    bootstrap, origin = place.token("bootstrap_token", "HALL_BOOTSTRAP_TOKEN", bootstrap_token, "--bootstrap-token")
    if shared is None and bootstrap is None:
        raise Trouble(f"no token for {place.url}: set HALL_BOOTSTRAP_TOKEN, or HALL_WORKER_TOKEN if workers share one")
    return shared, bootstrap, shared_origin if bootstrap is None else origin


class _Telling:
    """Says on standard error how each task went."""

    def __init__(self, runner: Callable[[Task], None]) -> None:
        self._runner = runner

    def __call__(self, task: Task) -> None:
        say(f"{task.id}: started")
        try:
            self._runner(task)
        except Exception as failure:
            say(f"{task.id}: {'stopped' if task.cancelled.is_set() else 'failed'}: {str(failure).splitlines()[0]}")
            raise
        say(f"{task.id}: {'stopped: its command ended well, but too late' if task.cancelled.is_set() else 'done'}")


def say(line: str) -> None:
    """A line for whoever watches the worker."""
    print(f"hall: {visible(line)}", file=sys.stderr, flush=True)


class _PlanFollower:
    """Ends the worker once nothing of the plan goes on by itself."""

    def __init__(self, connection: Connection, plan: str, worker: PlanWorker) -> None:
        self._connection = connection
        self._path = plan_path(plan)
        self._worker = worker
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def start(self) -> None:
        """Look from time to time, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join(LOOK_SECONDS)

    def _follow(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            try:
                plan = self._connection.call("GET", self._path, params={"summary": "1"})["plan"]
            except Unreachable:
                continue  # the worker waits for the server too
            except Refusal as refusal:
                if refusal.http_status not in (404, 503):
                    say(str(refusal.lines[0]))
                    self._worker.stop()
                continue  # a plan may be applied later
            if plan["state"] in ENDED:
                say(f"{plan['id']}: {plan['state']}")
                self._worker.stop()
                return


def _log_plainly() -> None:
    """What the SDK has to say is said in its words alone; how a task failed is said by the task."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("hall: %(message)s"))
    handler.addFilter(lambda record: record.exc_info is None)
    log = logging.getLogger("hiringhall_worker")
    log.addHandler(handler)
    log.setLevel(logging.WARNING)
    log.propagate = False
