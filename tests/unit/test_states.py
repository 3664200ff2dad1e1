"""The families of states that rules speak about."""

from bide.model.states import FINISHED_RUN, TERMINAL, UNFINISHED, RunState, TaskState


def test_every_task_state_is_either_terminal_or_unfinished() -> None:
    assert set(TaskState) == TERMINAL | UNFINISHED
    assert not TERMINAL & UNFINISHED


def test_the_terminal_states_are_the_five_that_operators_know() -> None:
    assert {state.value for state in TERMINAL} == {"success", "failed", "skipped", "upstream_failed", "removed"}


def test_states_are_the_words_that_stand_in_the_database() -> None:
    assert f"{TaskState.UP_FOR_RETRY}" == "up_for_retry"
    assert all(state.value == state.name.lower() for state in (*TaskState, *RunState))


def test_a_run_is_finished_when_it_succeeded_or_failed() -> None:
    assert {RunState.SUCCESS, RunState.FAILED} == FINISHED_RUN
