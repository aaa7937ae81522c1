"""What goes wrong in a command, told in one or two plain lines on standard error."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from hiringhall.cli.output import visible

USAGE = 2


class Trouble(Exception):
    """Ends a command: its lines are printed, and the exit status is 1 unless it says otherwise."""

    def __init__(self, *lines: str, status: int = 1) -> None:
        super().__init__(*lines)
        self.lines = lines
        self.status = status


class Commands(TyperGroup):
    """A group of commands that tells trouble plainly."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an interrupted one has the exit status that shells expect."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()  # what cannot be written is found out here, not when the interpreter ends
        except Trouble as trouble:
            _end(trouble)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except BrokenPipeError:  # whoever read our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or the interpreter complains about it at the end
            raise typer.Exit(1) from None
        except OSError as problem:  # most likely the output cannot be written
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            _end(Trouble(problem.strerror or str(problem)))


def _end(trouble: Trouble) -> NoReturn:
    first, *rest = trouble.lines
    print(f"hall: {visible(first)}", file=sys.stderr)
    for line in rest:
        print(f"  {visible(line)}", file=sys.stderr)
    raise typer.Exit(trouble.status)
