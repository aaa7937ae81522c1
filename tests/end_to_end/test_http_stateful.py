"""Random conversations of operators and workers with a real server: after every step it still tells one true story."""

from __future__ import annotations

import itertools
import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.conftest import StartHall
from tests.end_to_end.http_conversation import Conversation
from tests.end_to_end.http_model import PLANS, PRIORITIES, VERBS
from tests.hall_client import HallClient
from tests.hall_process import Database

CONVERSATIONS = int(os.environ.get("HALL_TEST_EXAMPLES", "10"))
STEPS = int(os.environ.get("HALL_TEST_STEPS", "20"))
"""A longer run, which is another one each time, sets both variables."""
IDS = ("T1", "T2", "T3", "T4", "T5")
SHARED = ("w-shared{}", "anybody / else{}")
number_of_conversation = itertools.count()
"""Hand-overs are remembered longer than a conversation lasts, so that a worker id is of one conversation only."""
index = st.integers(0, 7)
plans = st.sampled_from(PLANS)
keys = st.sampled_from([None, None, None, "k1", "k2"])


@st.composite
def plan_files(draw: st.DrawFn, tasks_min: int = 1) -> dict[str, Any]:
    """A plan file whose tasks depend on earlier ones only, so that no history of files makes a cycle."""
    tasks = []
    for name in draw(st.lists(st.sampled_from(IDS), unique=True, min_size=tasks_min)):
        earlier = IDS[: IDS.index(name)]
        needs = st.lists(st.sampled_from(earlier), unique=True, max_size=2) if earlier else st.just([])
        tasks.append(
            {
                "id": name,
                "description": draw(st.sampled_from(["", "other"])),
                "priority": draw(st.sampled_from(["medium", "medium", "critical", "low"])),
                "dependencies": draw(st.just([]) | needs),
            }
        )
    return {"tasks": tasks, "on_failure": draw(st.sampled_from(["block", "block", "skip"]))}


claims = st.fixed_dictionaries({"plan": plans, "key": keys, "most": st.sampled_from([None, None, 1, 2, 100])})
settles = st.fixed_dictionaries(
    {
        "verb": st.sampled_from(["complete", "complete", "fail", "release"]),
        "named": st.booleans(),
        "key": keys,
        "prefer": st.booleans(),
        "off": st.sampled_from([0, 0, 0, 0, 0, 1, -1]),
    }
)
works = st.lists(
    st.one_of(
        st.tuples(st.just("claim"), index, claims),
        st.tuples(st.just("settle"), index, settles),
        st.tuples(st.just("settle as another"), index, settles),
    ),
    min_size=2,
    max_size=8,
)
steers = st.lists(
    st.tuples(index, st.sampled_from(sorted(VERBS)), st.booleans(), st.sampled_from(PRIORITIES)), min_size=1, max_size=4
)


class Conversations(RuleBasedStateMachine):
    """Which steps there are, and how often."""

    client: HallClient

    def __init__(self) -> None:
        super().__init__()
        self.talk = Conversation(self.client)

    @initialize(first=plan_files(4), second=plan_files(2))
    def begin(self, first: dict[str, Any], second: dict[str, Any]) -> None:
        for plan, file in zip(PLANS, (first, second), strict=True):
            self.talk.apply(plan, file, prune=False)
        number = next(number_of_conversation)
        for worker_id in SHARED:
            self.talk.shared(worker_id.format(number))
        self.talk.register("h")
        self.talk.register("ü\0")

    @rule(steps=works)
    def work(self, steps: list[tuple[str, int, dict[str, Any]]]) -> None:
        talk = self.talk
        for what, number, how in steps:
            worker = talk.pool[number % len(talk.pool)]
            if what == "claim":
                talk.claim(worker, **how)
            elif talk.hand_overs:
                holder, task = talk.hand_overs[-1 - number % len(talk.hand_overs)]
                talk.settle(task, holder if what == "settle" else worker, **how)

    @rule(steps=steers)
    def steer(self, steps: list[tuple[int, str, bool, str]]) -> None:
        for number, verb, switch, urgency in steps:
            known = [*sorted(self.talk.ledger.tasks), (PLANS[0], "nowhere")]
            plan, task_id = known[number % len(known)]
            self.talk.steer_task(plan, task_id, verb, switch, urgency)

    @rule(plan=plans, verb=st.sampled_from(["resume", "resume", "pause", "retry"]))
    def steer_plan(self, plan: str, verb: str) -> None:
        self.talk.steer_plan(plan, verb)

    @rule(plan=plans, file=plan_files(), prune=st.booleans(), again=st.booleans())
    def apply(self, plan: str, file: dict[str, Any], prune: bool, again: bool) -> None:
        if again:
            self.talk.apply_again(plan)
        else:
            self.talk.apply(plan, file, prune)

    @rule(number=index, verb=st.sampled_from(["heartbeat", "resume", "resume", "quiet", "terminate"]))
    def direct(self, number: int, verb: str) -> None:
        worker = self.talk.pool[number % len(self.talk.pool)]
        if verb == "heartbeat":
            self.talk.heartbeat(worker)
        else:
            self.talk.direct(worker, verb)

    @rule(what=st.sampled_from(["register", "worker", "plan"]), number=index, plan=plans, file=plan_files(3))
    def replace(self, what: str, number: int, plan: str, file: dict[str, Any]) -> None:
        if what == "worker":
            self.talk.remove_worker(self.talk.pool[number % len(self.talk.pool)])
        elif what == "register":
            self.talk.register("h")
        else:
            self.talk.delete_plan(plan, force=number > 1)
            self.talk.apply(plan, file, prune=False)


def test_every_conversation_tells_one_story(database: Database, start_hall: StartHall) -> None:
    """Whatever is asked in whatever order: versions only rise, what is finished stays so, a task has one holder,
    nothing is handed over before what it depends on, refusals tell the truth and change nothing, counts are right."""
    hall = start_hall(database, HALL_VISIBILITY_TIMEOUT=3600, HALL_HEARTBEAT_DELAY=3600)
    with HallClient(hall.url) as client:
        run_state_machine_as_test(
            type("Conversations", (Conversations,), {"client": client}),
            settings=settings(
                max_examples=CONVERSATIONS,
                stateful_step_count=STEPS,
                derandomize="HALL_TEST_STEPS" not in os.environ,
                database=None,
                deadline=None,
                print_blob=True,
                suppress_health_check=list(HealthCheck),
            ),
        )
    assert "Traceback" not in hall.stderr
