"""The player sees what a worker does and does not do, and says so."""

from __future__ import annotations

import re

import pytest

from hiringhall.verify.report import failure_lines
from tests.verify.small_worker import alive, play
from tests.waiting import until

IDLE = "me = register(); time.sleep(30)"
CLAIMS = """
me = register()
while True:
    claim(me)
"""


def test_a_worker_that_does_as_it_should() -> None:
    """Requests in their order, and the numbers at the end, are as the case says."""
    result = play(
        """
        steps:
          - task: {id: T-001, version: 4}
          - expect: {request: register, json: {hostname: {$save: name}}}
          - expect: {request: claim, json: {worker_id: w-verifier0001}}
          - expect: {request: complete, id: T-001, json: {version: 4}}
          - exit: {status: 0}
        finally:
          - {request: complete, exactly: 1, answered: 200}
          - {request: fail, at_most: 0}
        """,
        """
        me = register()
        task = claim(me)[1]["task"]
        ask(f"/tasks/{task['id']}/complete", me["token"], worker_id=me["worker_id"], version=task["version"])
        """,
    )
    assert result.passed, "\n".join(failure_lines(result))


@pytest.mark.parametrize(
    ("steps", "program", "seen"),
    [
        ("- expect: {request: claim, within_ms: 500}", IDLE, "no claim came within 500 ms"),
        ("- expect: {request: claim, within_ms: 9000}", "sys.exit(3)", r"ended \(status 3\)"),
        ("- expect: {request: register, json: {hostname: y}, within_ms: 900}", IDLE, 'hostname: expected "y", was "x"'),
        ("- never: {request: register, for_ms: 5000}", IDLE, "POST /workers/register"),
        ("- parked: 5000", "sys.exit(0)", r"ended \(status 0\)"),
        ("- exit: {status: 0}", "sys.exit(1)", "status 1"),
        ("- exit: {status: not 0}", "sys.exit(0)", "status 0"),
        ("- exit: {status: 0, within_ms: 500}", IDLE, "still runs"),
        ("- expect: {request: register}\n  - signal: SIGTERM\n  - exit: {status: 0}", IDLE, "by SIGTERM"),
        ("- expect: {request: register}", "print('bootstrap-token-1', flush=True); register()", "printed bootstra"),
        (
            "- exit: {status: 0}",
            "with socket.create_connection((host, int(port))) as s: s.sendall(b'HELLO\\r\\n\\r\\n'); s.recv(1)",
            "no request line",
        ),
        ("- handed: T-1", IDLE, "did not ask"),
    ],
)
def test_what_is_wrong_is_told(steps: str, program: str, seen: str) -> None:
    """Whatever a worker does otherwise fails the case, with what was seen instead."""
    result = play(f"steps:\n  {steps}", program, patience=0.25)
    assert not result.passed
    assert re.search(seen, result.seen), result.seen


def test_too_early_is_wrong_too() -> None:
    """A request that comes before it may is a failure, and the report says when it came."""
    result = play(
        """
        answers:
          - {to: {request: claim}, reply: {status: 503, headers: {Retry-After: "3"}}}
        steps:
          - expect: {request: claim}
          - expect: {request: claim, not_before_ms: 3000}
        """,
        CLAIMS,
    )
    assert "already" in result.seen


def test_order_counts() -> None:
    """What came before the step ahead does not count, and the report says that it came."""
    result = play(
        """
        steps:
          - expect: {request: claim}
          - expect: {request: register, within_ms: 500}
        """,
        CLAIMS,
    )
    assert "before the step ahead" in result.seen


def test_what_came_before_counts_if_the_order_does_not_matter() -> None:
    """With `anytime` everything since the last step that did something counts."""
    assert play("steps: [{expect: {request: claim}}, {expect: {request: register, anytime: true}}]", CLAIMS).passed


def test_a_scripted_answer_that_nobody_fetches_is_a_failure() -> None:
    """A case proves nothing if its fault never happened."""
    result = play(
        """
        answers: [{to: {request: heartbeat}, reply: {status: 500}}]
        steps: [{expect: {request: register}}]
        """,
        IDLE,
    )
    assert "never did" in result.seen


def test_the_number_of_requests_is_compared() -> None:
    """`finally` counts over the whole case."""
    result = play(
        """
        steps: [{expect: {request: claim, times: 2}}]
        answers: [{to: {request: claim}, times: always, reply: {status: 204}}]
        finally: [{request: claim, at_most: 1}]
        """,
        CLAIMS,
    )
    assert re.fullmatch(r"there were \d+", result.seen)


def test_nothing_is_left_behind() -> None:
    """What the worker has started is ended with it."""
    result = play(
        """
        steps: [{expect: {request: register, json: {hostname: x}}}, {pause_ms: 100}]
        """,
        """
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        print("child", child.pid, flush=True)
        register()
        time.sleep(60)
        """,
    )
    assert result.passed
    found = re.search(r"child (\d+)", "".join(result.timeline.output))
    assert found
    until(lambda: not alive(int(found.group(1))), waiting_for="the child to end")


def test_faults_of_the_line() -> None:
    """A reset, a close, a half answer and a slow one look like that to the worker, and the case sees every attempt."""
    result = play(
        """
        answers:
          - {to: {request: register}, fault: reset}
          - {to: {request: register}, fault: close}
          - {to: {request: register}, fault: half}
          - {to: {request: register}, pieces: {bytes: 1, pause_ms: 1}, late_ms: 200, headers: {X-Extra: here}}
        steps:
          - expect: {request: register, times: 4}
          - exit: {status: 0}
        """,
        """
        seen = []
        for n in range(4):
            try:
                register()
                seen.append("answered")
            except (OSError, http.client.HTTPException) as problem:
                seen.append(type(problem).__name__)
        print(seen)
        sys.exit(seen != ["ConnectionResetError", "RemoteDisconnected", "IncompleteRead", "answered"])
        """,
    )
    assert result.passed, "\n".join(failure_lines(result))


def test_a_restart_keeps_the_port() -> None:
    """While the hall is away nobody listens; then it is back where it was, and knows what it knew."""
    result = play(
        """
        steps:
          - expect: {request: register}
          - pause_ms: 100
          - restart: {down_ms: 500}
          - task: {}
          - expect: {request: claim, headers: {authorization: Bearer worker-token-1}}
          - handed: T-001
        """,
        """
        me, refused = register(), 0
        time.sleep(0.3)
        while True:
            try:
                claim(me)
            except OSError:
                refused += 1
                time.sleep(0.05)
        """,
    )
    assert result.passed, "\n".join(failure_lines(result))
