"""How a run ends, told from its tasks."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.model.run_outcome import run_outcome
from bide.model.states import TERMINAL, UNFINISHED, RunState, TaskState

S = TaskState
FAILURES = {S.FAILED, S.UPSTREAM_FAILED}
tasks = st.lists(st.tuples(st.sampled_from(TaskState), st.booleans()))


def test_a_run_without_tasks_succeeds() -> None:
    assert run_outcome([]) is RunState.SUCCESS


@pytest.mark.parametrize("state", sorted(UNFINISHED))
def test_while_anything_is_unfinished_nothing_is_decided(state: TaskState) -> None:
    assert run_outcome([(S.FAILED, True), (state, False), (S.FAILED, True)]) is None


@pytest.mark.parametrize(("state", "is_leaf"), list(product(sorted(TERMINAL), (True, False))))
def test_only_a_failed_leaf_fails_the_run(state: TaskState, is_leaf: bool) -> None:
    fails = is_leaf and state in FAILURES
    for others in ([], [(S.SUCCESS, True)], [(S.SKIPPED, False)]):
        ended = run_outcome([*others, (state, is_leaf), *others])
        assert ended is (RunState.FAILED if fails else RunState.SUCCESS)


@given(tasks.flatmap(lambda tasks: st.tuples(st.just(tasks), st.permutations(tasks))))
def test_the_order_of_the_tasks_does_not_matter(both: tuple[list[tuple[S, bool]], list[tuple[S, bool]]]) -> None:
    assert run_outcome(both[0]) is run_outcome(both[1])
