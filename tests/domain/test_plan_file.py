"""Reading plan files: what they may say, what defaults are, and that one reading finds every problem."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiringhall.domain.lifecycle import State
from hiringhall.domain.plan import PlanFile
from hiringhall.domain.plan_file import TASKS_MAX, PlanReading, read_plan_file
from hiringhall.domain.plan_members import edit_distance
from hiringhall.domain.retry import Backoff, Policy


def read(**members: Any) -> PlanReading:
    """Read a plan `P` with these members."""
    return read_plan_file({"plan_id": "P", "tasks": [], **members})


def fine(**members: Any) -> PlanFile:
    """The file that a plan with these members is read into."""
    reading = read(**members)
    assert reading.problems == ()
    assert reading.file is not None
    return reading.file


def problems(reading: PlanReading) -> dict[str, str]:
    """The problems by field; no file comes with them."""
    assert reading.file is None
    return {problem.field: problem.reason for problem in reading.problems}


def task(**members: Any) -> dict[str, Any]:
    """A task `T-1` with these members."""
    return {"id": "T-1", **members}


def test_a_task_needs_nothing_but_its_id() -> None:
    """All members of a task but its id have defaults."""
    (only,) = fine(tasks=[{"id": "T-1"}]).tasks
    assert (only.task_id, only.dependencies, only.priority, only.policy, only.state) == ("T-1", (), 2, Policy(), None)
    assert json.loads("{" + only.detail + "}") == {
        "description": "",
        "dependencies": [],
        "key_files": [],
        "acceptance_criteria": [],
        "test_steps": [],
        "prd_requirement": "",
    }


def test_the_detail_is_what_the_wire_sends() -> None:
    """The members of the claim example travel compactly in the example's order, whatever their order in the file."""
    given_task = {
        "prd_requirement": "Day 4",
        "test_steps": ["pytest -q"],
        "acceptance_criteria": ["runs"],
        "key_files": ["whilly/main.py"],
        "dependencies": ["T-0", "T-0"],
        "description": "a\x00b é \u2028",
        "priority": "critical",
        "id": "T-1",
    }
    (first, _) = fine(tasks=[given_task, {"id": "T-0"}]).tasks
    assert first.priority == 0
    assert first.dependencies == ("T-0",)
    assert first.detail == (
        '"description":"a\\u0000b é \u2028","dependencies":["T-0"],"key_files":["whilly/main.py"],'
        '"acceptance_criteria":["runs"],"test_steps":["pytest -q"],"prd_requirement":"Day 4"'
    )


@pytest.mark.parametrize("names", [{"plan_id": "X", "name": "N"}, {"id": "X", "project": "N"}])
def test_both_spellings_of_the_plan_are_known(names: dict[str, str]) -> None:
    """A plan says `plan_id` or `id`, and `name` or `project`."""
    file = read_plan_file({**names, "tasks": []}).file
    assert file == PlanFile("X", "N", ())


def test_a_plan_is_named_after_its_id_by_default() -> None:
    """Without a name the id stands for it, and without an id the one under which it is stored does."""
    assert fine().name == "P"
    assert read_plan_file({"tasks": []}, "Q").file == PlanFile("Q", "Q", ())


@pytest.mark.parametrize(
    ("members", "expected", "field"),
    [
        ({"plan_id": "A", "id": "B"}, None, "id"),
        ({"plan_id": "A"}, "B", "plan_id"),
        ({"id": "A"}, "B", "id"),
        ({}, None, "plan_id"),
        ({"plan_id": ""}, None, "plan_id"),
        ({"plan_id": "a\nb"}, None, "plan_id"),
        ({"plan_id": ".."}, None, "plan_id"),
        ({"plan_id": "x" * 257}, None, "plan_id"),
        ({"plan_id": 7}, None, "plan_id"),
        ({}, "..", "plan_id"),
    ],
)
def test_an_unusable_plan_id_is_a_problem(members: dict[str, Any], expected: str | None, field: str) -> None:
    """A plan id that is missing, contradicts another, or cannot be an identifier is refused by name."""
    assert list(problems(read_plan_file({"tasks": [], **members}, expected))) == [field]


@pytest.mark.parametrize("document", [None, [], "plan", 7])
def test_only_an_object_is_a_plan(document: object) -> None:
    """Any other JSON value is one problem."""
    assert list(problems(read_plan_file(document))) == ["body"]


def test_every_problem_is_told_at_once() -> None:
    """One reading lists everything that is wrong, by the place where it stands."""
    found = problems(
        read(
            on_failure="explode",
            max_attempts=0,
            tasks=[
                {"id": "A", "priority": "urgent", "dependencies": ["A"]},
                {"id": "A"},
                {"id": "B", "priorty": "high", "key_files": "x", "test_steps": ["ok", 1]},
                {"description": 5},
                "no object",
                {"id": "C", "dependencies": ["D"], "retry_backoff": {"factor": 0.5, "base_second": 1}},
                {"id": "D", "dependencies": ["C", "E\x07"], "run_limit_seconds": -1, "max_abandoned": True},
            ],
        )
    )
    assert set(found) == {
        "on_failure",
        "max_attempts",
        "tasks[0].priority",
        "tasks[0].dependencies[0]",
        "tasks[1].id",
        "tasks[2].priorty",
        "tasks[2].key_files",
        "tasks[2].test_steps[1]",
        "tasks[3].id",
        "tasks[3].description",
        "tasks[4]",
        "tasks[5].retry_backoff.factor",
        "tasks[5].retry_backoff.base_second",
        "tasks[5].dependencies",
        "tasks[6].dependencies[1]",
        "tasks[6].run_limit_seconds",
        "tasks[6].max_abandoned",
    }
    assert "'priority'" in found["tasks[2].priorty"]
    assert "tasks[0]" in found["tasks[1].id"]
    assert "C → D → C" in found["tasks[5].dependencies"]


def test_each_knot_of_dependencies_is_named() -> None:
    """Two separate cycles are two problems, and tasks that merely wait for a cycle are none."""
    needs = {"A": ["B"], "B": ["A"], "C": ["A"], "D": ["E", "A"], "E": ["F"], "F": ["D"]}
    found = problems(read(tasks=[{"id": name, "dependencies": others} for name, others in needs.items()]))
    assert sorted(found.values()) == [
        "tasks depend on each other: A → B → A",
        "tasks depend on each other: D → E → F → D",
    ]


def test_a_dependency_may_be_stored_already() -> None:
    """What the file does not contain is left for the store to judge."""
    assert fine(tasks=[task(dependencies=["T-0"])]).tasks[0].dependencies == ("T-0",)


def test_a_task_overrides_the_plan_member_by_member() -> None:
    """A task's policy is its plan's but for the members that the task names itself."""
    overriding = {"max_attempts": 5, "retry_backoff": {"factor": 3}, "run_limit_seconds": 1.5}
    plan = fine(
        on_failure="skip",
        max_attempts=2,
        max_abandoned=7,
        retry_backoff={"base_seconds": 2, "max_seconds": 10},
        run_limit_seconds=0,
        tasks=[task(), {"id": "T-2", **overriding}],
    )
    assert plan.tasks[0].policy == Policy("skip", 2, Backoff(2.0, 2.0, 10.0), 7, 0)
    assert plan.tasks[1].policy == Policy("skip", 5, Backoff(2.0, 3.0, 10.0), 7, 1500)


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("pending", None),
        ("done", State.DONE),
        ("DONE", State.DONE),
        ("skipped", State.SKIPPED),
        ("failed", State.FAILED),
    ],
)
def test_a_status_is_kept(status: str, state: State | None) -> None:
    """Pending, done, skipped and failed are honoured, in the spelling of files and in that of the wire."""
    assert fine(tasks=[task(status=status)]).tasks[0].state is state


def test_another_status_becomes_pending_with_a_warning() -> None:
    """A status that only a running hall can give is not taken from a file."""
    reading = read(tasks=[task(status="in_progress")])
    assert reading.file is not None
    assert reading.file.tasks[0].state is None
    assert len(reading.warnings) == 1
    assert reading.warnings[0].startswith("tasks[0].status: ")


def test_unknown_members_are_left_out_with_one_warning_each() -> None:
    """What nobody knows and nobody misspelt does no harm; the same member of many tasks is told once."""
    reading = read(owner="me", tasks=[{"id": str(index), "colour": "red"} for index in range(3)])
    assert reading.file is not None
    assert reading.warnings == (
        "owner: unknown member, left out",
        "tasks[0].colour: unknown member, left out (and 2 more like it)",
    )


def test_a_plan_without_tasks_must_say_so() -> None:
    """An empty plan is fine; a forgotten or misspelt list of tasks is not an empty plan."""
    assert fine().tasks == ()
    assert "tasks" in problems(read_plan_file({"plan_id": "P", "task": []}))
    assert "tasks" in problems(read(tasks={}))


def test_too_many_tasks_are_one_problem() -> None:
    """The limit is named."""
    found = problems(read(tasks=[{}] * (TASKS_MAX + 1)))
    assert found == {"tasks": "must have at most 50000 entries"}


def test_large_plans_are_read_quickly() -> None:
    """10 000 tasks take well under half a second, and a ring of 50 000 tasks is found to be one."""
    tasks = [
        {"id": f"T-{i}", "description": "do it " * 10, "dependencies": [f"T-{j}" for j in range(max(0, i - 3), i)]}
        for i in range(10_000)
    ]
    started_at = time.process_time()
    assert len(fine(tasks=tasks).tasks) == 10_000
    assert time.process_time() - started_at < 0.5
    ring = [{"id": str(i), "dependencies": [str((i + 1) % TASKS_MAX)]} for i in range(TASKS_MAX)]
    started_at = time.process_time()
    assert list(problems(read(tasks=ring))) == ["tasks[0].dependencies"]
    assert time.process_time() - started_at < 5


@pytest.mark.parametrize("name", ["max_attempts", "max_abandoned", "run_limit_seconds"])
@pytest.mark.parametrize("value", [10**400, -(10**400), 1e308, float("inf"), float("nan")])
def test_no_number_is_too_large_to_be_refused(name: str, value: float) -> None:
    """A number beyond every bound, and beyond what a float holds, is a problem like any other."""
    assert list(problems(read(tasks=[{"id": "A", name: value}]))) == [f"tasks[0].{name}"]
    assert list(problems(read(tasks=[], **{name: value}))) == [name]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
member_names = st.sampled_from(
    ["id", "priority", "status", "dependencies", "description", "max_attempts", "retry_backoff"]
)


@given(st.lists(st.dictionaries(member_names | st.text(max_size=12), values, max_size=6), max_size=4))
def test_no_document_makes_the_reader_stumble(tasks: list[Any]) -> None:
    """Whatever a file holds is read or refused, and always the same way."""
    document = {"plan_id": "P", "tasks": tasks}
    reading = read_plan_file(document)
    assert (reading.file is None) == bool(reading.problems)
    assert repr(read_plan_file(document)) == repr(reading)


@pytest.mark.parametrize(
    ("left", "right", "distance"), [("", "", 0), ("priorty", "priority", 1), ("abc", "", 3), ("ab", "ba", 2)]
)
def test_edit_distance(left: str, right: str, distance: int) -> None:
    """Insertions, deletions and replacements of one character count one each."""
    assert edit_distance(left, right) == edit_distance(right, left) == distance
