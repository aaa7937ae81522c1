"""Percentiles, goals and tables say what was measured."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from bench.figures import percentile, shown
from bench.plans import plan_files, ready_of, task_of
from bench.processes import cpu_seconds, own_cpu_seconds, parent_of, proportional_kib
from bench.report import Goal, grid

BUSY = "import time\nwhile time.process_time() < 0.1: pass"


def test_percentiles_are_values_that_occurred() -> None:
    """Nearest rank: never an interpolation between two samples."""
    values = [float(number) for number in range(1, 101)]
    assert (percentile(values, 50), percentile(values, 99), percentile([3.0], 99)) == (50.0, 99.0, 3.0)


def test_numbers_keep_the_digits_that_they_can_bear() -> None:
    """Large ones are grouped, small ones have two decimals, missing ones are a dash."""
    assert [shown(each) for each in (12345.6, 12.34, 1.234, 7, None, "x")] == ["12,346", "12.3", "1.23", "7", "-", "x"]


def test_goals_are_ceilings_or_floors_and_may_be_unmeasured() -> None:
    """A goal that was not measured is never met."""
    verdicts = [
        Goal("a", 3.0, 2.9, "ms").verdict,
        Goal("a", 3.0, 3.1, "ms").verdict,
        Goal("a", 20.0, 25.0, "times", at_least=True).verdict,
        Goal("a", 20.0, 19.0, "times", at_least=True).verdict,
        Goal("a", 3.0, None, "ms").verdict,
    ]
    assert verdicts == ["met", "MISSED", "met", "MISSED", "not measured"]


def test_a_table_is_aligned() -> None:
    """Texts to the left, numbers to the right, missing cells as dashes."""
    assert grid([{"name": "a", "n": 1}, {"name": "bcd", "n": 1000, "more": 1.5}]) == [
        "  name      n  more",
        "  ----  -----  ----",
        "  a         1     -",
        "  bcd   1,000  1.50",
    ]


def test_shapes_have_as_many_ready_tasks_as_is_said() -> None:
    """Ready is what depends on nothing; dependencies only name earlier tasks."""
    for shape in ("flat", "chains", "fan-in"):
        tasks = [task_of(shape, index, "p") for index in range(57)]
        assert sum(not task["dependencies"] for task in tasks) == ready_of(shape, 57)
        names: set[object] = set()
        for task in tasks:
            dependencies = task["dependencies"]
            assert isinstance(dependencies, list)
            assert names.issuperset(dependencies)
            names.add(task["id"])


def test_a_plan_is_cut_into_files() -> None:
    """No file has more tasks than allowed, and together they have all."""
    files = list(plan_files("p", "flat", 25, most=10))
    assert [each.count(b'"id":') for each in files] == [10, 10, 5]


def test_cpu_of_ended_children_is_counted_with_their_parent() -> None:
    """A database server's short-lived processes do not vanish from its account."""
    before = cpu_seconds([os.getpid()])
    subprocess.run([sys.executable, "-c", BUSY], check=True)
    assert cpu_seconds([os.getpid()]) - before >= 0.09


def test_cpu_of_running_children_is_counted() -> None:
    """A server's processes are found from its first one, and are known by their parent and name."""
    with subprocess.Popen(
        [sys.executable, "-c", f"{BUSY}\nprint('done', flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert own_cpu_seconds(child.pid) >= 0.1
        assert cpu_seconds([os.getpid()]) >= own_cpu_seconds(child.pid) + time.process_time() - 0.05
        assert proportional_kib([child.pid]) > 1000
        assert parent_of(child.pid, "no such name") is None
        child.communicate(b"\n")
