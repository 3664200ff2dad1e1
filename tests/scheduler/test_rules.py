"""Every trigger rule after every mix of up to three ends, carried out by a scheduler on a database.

What a rule means is tested beside another wording of it in tests/unit/test_trigger_rules.py; here it is only asked what
the model says, and whether that is what becomes of tasks in a run.
"""

from itertools import combinations_with_replacement

import pytest

from bide.model.outcome import Failed, Outcome, Skipped
from bide.model.plan import TaskPlan
from bide.model.states import TaskState
from bide.model.trigger_rules import TriggerRule, Upstream, Verdict, judge
from tests.scheduler.town import Town, dag, task

S = TaskState
ENDS = (S.SUCCESS, S.FAILED, S.SKIPPED, S.UPSTREAM_FAILED)
MOST = 3
BECOMES = {Verdict.READY: S.SUCCESS, Verdict.SKIP: S.SKIPPED, Verdict.UPSTREAM_FAILED: S.UPSTREAM_FAILED}
MIXES = [mix for size in range(1, MOST + 1) for mix in combinations_with_replacement(ENDS, size)]


def before() -> list[TaskPlan]:
    """Tasks that end in every way, of each as many as a mix may have."""
    return [
        *(task(f"{state}_{number}") for state in ENDS[:3] for number in range(MOST)),
        *(task(f"upstream_failed_{number}", f"failed_{number}") for number in range(MOST)),
    ]


def named(mix: tuple[TaskState, ...]) -> tuple[str, ...]:
    """Name the tasks that end so."""
    return tuple(f"{state}_{mix[:place].count(state)}" for place, state in enumerate(mix))


@pytest.mark.parametrize("rule", TriggerRule)
async def test_what_a_rule_says_becomes_of_the_task_after_every_mix_of_ends(town: Town, rule: TriggerRule) -> None:
    after = {f"after_{number}": mix for number, mix in enumerate(MIXES)}
    plan = dag(
        "d",
        *before(),
        *(task(name, *named(mix), trigger_rule=rule) for name, mix in after.items()),
        max_active_tasks=1000,
    )
    await town.store(plan)
    await town.launch(plan)
    ends: dict[S, Outcome] = {S.FAILED: Failed("no"), S.SKIPPED: Skipped("no need")}
    await town.play({f"{state}_{number}": end for state, end in ends.items() for number in range(MOST)})
    states = await town.states()
    expected = {name: BECOMES[judge(rule, Upstream.of(mix))] for name, mix in after.items()}
    assert {name: states[name] for name in after} == expected
    assert {name for name in after if expected[name] is S.SUCCESS} == {name for name in town.ran if name in after}
    assert list(await town.run_states()) == ["run"]
