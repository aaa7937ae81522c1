"""The agent that published workers run for each task, and how they are told of it."""

from __future__ import annotations

import re
from pathlib import Path

OK, SLOW, EXIT_3 = "ok", "slow", "exit-3"
MODE_VARIABLE = "WHILLY_MODEL"
"""The name of the model, since every worker hands it on to its agent."""

MARK = "note this name:"
"""What stands before the name of a task in its description."""

SCRIPT = """\
#!/bin/sh
here=${0%/*}
mode=
prompt=
while [ $# -gt 0 ]; do
    [ "$1" = --model ] && mode=$2
    [ "$1" = -p ] && prompt=$2
    shift
done
name=${prompt#*MARK}
name=${name%%.*}
echo "begin $name" >> "$here/notes"
case $mode in
    slow)
        while [ ! -e "$here/go" ]; do sleep 0.05; done ;;
    exit-3)
        # These words keep the worker from trying again for two minutes.
        echo '{"type": "result", "result": "failed to authenticate"}'
        exit 3 ;;
esac
echo "end $name" >> "$here/notes"
echo '{"type": "result", "result": "did it <promise>COMPLETE</promise>", "total_cost_usd": 0.25}'
"""


class Agent:
    """A program in a folder of its own; how it behaves is said to each worker by a variable."""

    def __init__(self, folder: Path, environment: Path) -> None:
        self.folder = folder
        self.program = folder / "agent"
        self.program.write_text(SCRIPT.replace("MARK", MARK))
        self.program.chmod(0o755)
        (source,) = environment.glob("lib/python*/site-packages/whilly/adapters/runner/*_cli.py")
        (self._variable,) = set(re.findall(r'environ\.get\("(\w+)"\) or DEFAULT_BIN', source.read_text()))

    def variables(self, mode: str) -> dict[str, str]:
        """What tells a worker to run this agent so."""
        return {self._variable: str(self.program), MODE_VARIABLE: mode}

    @property
    def notes(self) -> list[str]:
        """What the agents wrote down, in the order of time: `begin NAME` and `end NAME`."""
        written = self.folder / "notes"
        return written.read_text().splitlines() if written.exists() else []

    def let_go(self) -> None:
        """Let slow agents finish."""
        (self.folder / "go").touch()


def noting(task: str) -> str:
    """A description whose agent writes down this name."""
    return f"Please {MARK}{task}."
