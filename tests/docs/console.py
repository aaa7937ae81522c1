"""A shell in which the examples of a page run, one after the other, with a home of its own and a free port."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.docs.documents import ROOT, Block, agrees, commands, settled
from tests.waiting import until

USUAL_PORT = "8400"
END = "--- end of command"
ANSWER_SECONDS = 60.0
OTHERS_VARIABLES = ("HALL_", "XDG_", "WHILLY_", "MAKE", "MFLAGS")
"""Variables that are about another hall, or about the make that runs the tests."""
LINKED = ("examples", "sdks", "docs")


class Console:
    """One bash. What pages say about port 8400 and `~` holds for the port and the home of the test."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.work = folder / "hiringhall"
        for made in (self.home, self.work):
            made.mkdir()
        for name in LINKED:
            (self.work / name).symlink_to(ROOT / name)
        (self.work / "Makefile").symlink_to(ROOT / "Makefile")
        self.port = _free_port()
        self.output = folder / "output"
        self._background: list[int] = []
        with self.output.open("wb") as output:
            self._bash = subprocess.Popen(
                ["bash", "--norc", "--noprofile"], stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT,
                cwd=self.work, env=self._environment(), start_new_session=True,
            )  # fmt: skip
        self._read = 0

    def _environment(self) -> dict[str, str]:
        outside = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS_VARIABLES)}
        return {
            **outside,
            "HOME": str(self.home),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HALL_PORT": self.port,
            "MAKEFLAGS": f" -- INSTALLED= PYTHON={sys.executable}",  # what is to be shown is installed already
            "TERM": "dumb",
            "PYTHONUNBUFFERED": "1",
        }

    def run(self, block: Block) -> None:
        """Do what the block says; fail if it does not go as the page shows."""
        if block.word.startswith("file="):
            (self.work / block.word.removeprefix("file=")).write_text(self._here(block.text))
        elif block.language == "sh":
            printed, status = self._answer(block.text)
            assert status == 0, f"line {block.line}: status {status}:\n{printed}"
        elif block.word == "stays":
            self._start(block)
        else:
            for command in commands(block):
                printed, _ = self._answer(command.command)
                shown = self._usual(printed)
                assert agrees(command.printed, shown), (
                    f"line {block.line}: $ {command.command}\n--- the page shows\n"
                    + "\n".join(settled("\n".join(command.printed)))
                    + "\n--- but it prints\n"
                    + "\n".join(settled(shown))
                )

    def _start(self, block: Block) -> None:
        (command,) = commands(block)
        output = self.output.with_name(f"background-{len(self._background)}")
        output.touch()
        printed, _ = self._answer(f"{command.command} >>{output} 2>&1 </dev/null & echo $!")
        process = int(printed)
        self._background.append(process)

        def as_shown() -> bool:
            return agrees([*command.printed, "…"], self._usual(output.read_text())) or not _runs(process)

        until(as_shown, within_seconds=ANSWER_SECONDS, waiting_for=f"{command.command} to print what is shown")
        assert agrees([*command.printed, "…"], self._usual(output.read_text())), output.read_text()

    def _answer(self, command: str) -> tuple[str, int]:
        """What a command prints, on both streams, and its exit status."""
        assert self._bash.stdin is not None
        self._bash.stdin.write(f"{self._here(command).rstrip()}\necho; echo '{END}' $?\n".encode())
        self._bash.stdin.flush()

        def fresh() -> str:
            return self.output.read_text()[self._read :]

        until(
            lambda: END in fresh() and fresh().endswith("\n"),
            within_seconds=ANSWER_SECONDS, waiting_for=f"the end of {command}",
        )  # fmt: skip
        printed, _, status = fresh().rpartition(END)
        self._read += len(fresh())
        return printed.removesuffix("\n"), int(status)

    def _here(self, text: str) -> str:
        return text.replace(USUAL_PORT, self.port)

    def _usual(self, text: str) -> str:
        return text.replace(self.port, USUAL_PORT).replace(str(self.home), "~")

    def close(self) -> None:
        """End what goes on in the background, the last first, and then the shell."""
        for process in reversed(self._background):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
        assert self._bash.stdin is not None
        try:
            self._bash.stdin.write(b"wait\n")
            self._bash.stdin.close()
            self._bash.wait(30)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._bash.pid, signal.SIGKILL)
            self._bash.wait()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
