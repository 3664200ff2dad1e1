"""The verb table as a whole: no dead ends, no way around a fence. The matrix tests try each row on the database."""

from collections import Counter
from collections.abc import Iterable

import pytest

from bide.model.states import FINISHED_RUN, TERMINAL, UNFINISHED, RunState, TaskState
from bide.model.transitions import HOLDER_VERBS, RUN_VERBS, TASK_VERBS, VERBS, Fence, State, Transition, Verb

S = TaskState
# Whoever holds a task in these states says so with its leg, or with its claim.
HELD = {S.QUEUED, S.RUNNING, S.SHUTDOWN, S.DEFERRED}
BY_ENGINE = [verb for verb in TASK_VERBS if "person" not in verb.by]
# What the engine does although nothing went wrong with the run as a whole.
DRIVING = [verb for verb in BY_ENGINE if verb.fence is not Fence.STATE]


def reachable(start: State, verbs: Iterable[Transition[State]]) -> set[State]:
    steps = [(before, after) for verb in verbs for before, to in verb.moves.items() for after in to]
    found: set[State] = {start}
    while more := {after for before, after in steps if before in found} - found:
        found |= more
    return found


def leaves(verb: Verb, state: TaskState) -> bool:
    return bool(verb.moves.get(state, frozenset()) - {state})


def test_every_state_is_reached_from_none() -> None:
    assert reachable(S.NONE, TASK_VERBS) == set(TaskState)


def test_a_table_with_an_unreachable_state_would_be_found() -> None:
    assert S.SHUTDOWN not in reachable(S.NONE, [verb for verb in TASK_VERBS if verb.name != "drain"])


def test_without_people_every_state_but_restarting_is_reached() -> None:
    assert reachable(S.NONE, BY_ENGINE) == set(TaskState) - {S.RESTARTING}


@pytest.mark.parametrize("state", sorted(UNFINISHED))
def test_the_engine_alone_brings_every_unfinished_task_to_an_end(state: TaskState) -> None:
    assert reachable(state, DRIVING) & TERMINAL


@pytest.mark.parametrize("state", sorted({S.QUEUED, S.RUNNING, S.DEFERRED, S.SHUTDOWN, S.RESTARTING}))
def test_no_state_depends_on_a_process_that_may_be_gone(state: TaskState) -> None:
    # A queued task is given back by the scheduler that queued it; whoever else holds one is outlived by a sweep.
    survivors = [verb for verb in TASK_VERBS if "scheduler" in verb.by and verb.fence is not Fence.STATE]
    assert any(leaves(verb, state) for verb in survivors)


@pytest.mark.parametrize("verb", BY_ENGINE, ids=lambda verb: verb.name)
def test_the_engine_never_leaves_a_terminal_state(verb: Verb) -> None:
    assert all(verb.moves.get(state, {state}) == {state} for state in TERMINAL)


def test_only_letting_go_of_a_worker_touches_a_terminal_task() -> None:
    assert {verb.name for verb in BY_ENGINE if verb.moves.keys() & TERMINAL} == {"stopped", "rescue"}


@pytest.mark.parametrize("state", sorted(UNFINISHED - {S.NONE, S.RESTARTING}))
def test_a_person_can_clear_every_task_that_is_not_about_to_start_afresh(state: TaskState) -> None:
    assert leaves(VERBS["clear"], state)


@pytest.mark.parametrize("state", sorted(TaskState))
def test_a_person_can_mark_every_task(state: TaskState) -> None:
    assert VERBS["mark"].moves[state] == {S.SUCCESS, S.FAILED, S.SKIPPED} - {state}


@pytest.mark.parametrize("name", ["stop", "remove"])
def test_whatever_is_unfinished_can_be_stopped(name: str) -> None:
    assert VERBS[name].moves.keys() == UNFINISHED


@pytest.mark.parametrize("verb", TASK_VERBS, ids=lambda verb: verb.name)
def test_a_task_is_never_taken_from_its_holder_without_a_new_leg(verb: Verb) -> None:
    # The holder's own word has a fence; the row of a wait that a date or a person ends goes with it.
    by_holder = verb.fence in {Fence.LEG, Fence.CLAIM, Fence.WAIT} or verb.name in {"fire_due", "lapse"}
    takes = any(leaves(verb, state) for state in HELD)
    assert verb.new_leg or by_holder or not takes


@pytest.mark.parametrize("verb", TASK_VERBS, ids=lambda verb: verb.name)
def test_a_task_is_never_handed_out_without_a_new_leg_and_the_turn(verb: Verb) -> None:
    if verb.moves.get(S.SCHEDULED, frozenset()) & HELD:
        assert verb.new_leg
        assert verb.fence is Fence.TURN


@pytest.mark.parametrize("verb", TASK_VERBS, ids=lambda verb: verb.name)
def test_a_holders_word_about_its_own_leg_does_not_count_it_up(verb: Verb) -> None:
    assert not (verb.new_leg and verb.fence in {Fence.LEG, Fence.CLAIM})


@pytest.mark.parametrize("verb", TASK_VERBS, ids=lambda verb: verb.name)
def test_triggerers_end_waits_and_nothing_else(verb: Verb) -> None:
    assert (verb.fence is Fence.CLAIM) == (verb.by == "triggerer")
    if verb.fence is Fence.CLAIM:
        assert verb.moves.keys() == {S.DEFERRED}


def test_a_task_runs_only_after_it_was_queued() -> None:
    assert {before for verb in TASK_VERBS for before, to in verb.moves.items() if S.RUNNING in to} == {S.QUEUED}


def test_a_verb_allows_its_own_steps_and_no_others() -> None:
    start = VERBS["start"]
    steps = [(before, after) for before in TaskState for after in TaskState if start.allows(before, after)]
    assert steps == [(S.QUEUED, S.RUNNING)]


def test_every_verb_leads_somewhere() -> None:
    assert all(verb.moves and all(verb.moves.values()) for verb in TASK_VERBS)
    assert all(verb.moves and all(verb.moves.values()) for verb in RUN_VERBS)


def test_no_two_verbs_have_one_name() -> None:
    names = Counter(name for table in (TASK_VERBS, RUN_VERBS, HOLDER_VERBS) for name in (verb.name for verb in table))
    assert set(names.values()) == {1}


def test_every_run_state_is_reached_and_every_run_comes_to_an_end() -> None:
    assert reachable(RunState.QUEUED, RUN_VERBS) == set(RunState)
    by_engine = [verb for verb in RUN_VERBS if verb.by == "scheduler"]
    for state in (RunState.QUEUED, RunState.RUNNING):
        assert reachable(state, by_engine) >= FINISHED_RUN


def test_only_a_person_opens_a_finished_run() -> None:
    assert [(verb.name, verb.by) for verb in RUN_VERBS if verb.moves.keys() & FINISHED_RUN] == [("reopen", "person")]
