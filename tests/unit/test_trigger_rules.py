"""Every trigger rule over every mix of upstream states, beside the rules said once more in another way.

Here a rule is said about upstreams that have all ended, as conditions on the list of their states. What it says before
that follows from the two principles of the module, not from a second set of conditions.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.model.states import TERMINAL, UNFINISHED, TaskState
from bide.model.trigger_rules import TriggerRule, Upstream, Verdict, judge

S, R, V = TaskState, TriggerRule, Verdict
States = Sequence[TaskState]
One = tuple[TaskState, bool]  # the state of an upstream task instance, and whether it is a setup

# Any unfinished state stands for all of them here; that they are alike is tested, too.
SOME_UNFINISHED = S.RUNNING
# These need no more than one upstream to start; all others start when everything has ended.
EAGER = {R.ONE_SUCCESS, R.ONE_FAILED, R.ONE_DONE, R.ALWAYS}
# These decide nothing at all before everything has ended.
PATIENT = {R.ALL_DONE, R.ALL_DONE_SETUP_SUCCESS}


def some(*wanted: TaskState) -> Callable[[States], bool]:
    return lambda states: bool(set(wanted) & set(states))


def only(*wanted: TaskState) -> Callable[[States], bool]:
    return lambda states: set(states) <= set(wanted)


def anything(states: States) -> bool:
    return True


BAD = (S.FAILED, S.UPSTREAM_FAILED)
# What is neither ready nor blocked when everything has ended is skipped. Blocked comes first.
READY: dict[TriggerRule, Callable[[States], bool]] = {
    R.ALL_SUCCESS: only(S.SUCCESS),
    R.ALL_FAILED: only(*BAD),
    R.ALL_DONE: anything,
    R.ALL_SKIPPED: only(S.SKIPPED),
    R.ONE_SUCCESS: some(S.SUCCESS),
    R.ONE_FAILED: some(*BAD),
    R.ONE_DONE: some(S.SUCCESS, S.FAILED),
    R.NONE_FAILED: only(S.SUCCESS, S.SKIPPED),
    R.NONE_FAILED_MIN_ONE_SUCCESS: some(S.SUCCESS),
    R.NONE_SKIPPED: only(S.SUCCESS, *BAD),
    R.ALWAYS: anything,
}
BLOCKED: dict[TriggerRule, Callable[[States], bool]] = {
    R.ALL_SUCCESS: some(*BAD),
    R.ONE_SUCCESS: lambda states: some(*BAD)(states) and not some(S.SUCCESS)(states),
    R.NONE_FAILED: some(*BAD),
    R.NONE_FAILED_MIN_ONE_SUCCESS: some(*BAD),
}


def at_the_end(rule: TriggerRule, upstreams: Iterable[One]) -> Verdict:
    present = [(state, is_setup) for state, is_setup in upstreams if state is not S.REMOVED]
    states = [state for state, _ in present]
    if not states:
        return V.READY
    if rule is R.ALL_DONE_SETUP_SUCCESS:
        setups = [state for state, is_setup in present if is_setup]
        if not setups or S.SUCCESS in setups:
            return V.READY
        return V.SKIP if set(setups) == {S.SKIPPED} else V.UPSTREAM_FAILED
    if rule in BLOCKED and BLOCKED[rule](states):
        return V.UPSTREAM_FAILED
    return V.READY if READY[rule](states) else V.SKIP


@cache
def expected(rule: TriggerRule, upstreams: tuple[One, ...]) -> Verdict:
    ends = [[(state, is_setup)] if state in TERMINAL else endings(is_setup) for state, is_setup in upstreams]
    verdicts = {at_the_end(rule, end) for end in product(*ends)}
    over = all(state in TERMINAL for state, _ in upstreams)
    if (not over and rule in PATIENT) or len(verdicts) > 1:
        return V.WAIT
    (verdict,) = verdicts
    return V.WAIT if verdict is V.READY and not over and rule not in EAGER else verdict


def endings(is_setup: bool) -> list[One]:
    return [(state, is_setup) for state in sorted(TERMINAL)]


def counted(upstreams: Iterable[One]) -> Upstream:
    upstreams = list(upstreams)
    return Upstream.of(
        (state for state, is_setup in upstreams if not is_setup), (state for state, is_setup in upstreams if is_setup)
    )


def mixes(states: Iterable[TaskState], most: int) -> list[tuple[One, ...]]:
    kinds = [(state, is_setup) for state in sorted(states) for is_setup in (False, True)]
    return [mix for size in range(most + 1) for mix in combinations_with_replacement(kinds, size)]


@pytest.mark.parametrize("rule", TriggerRule)
def test_a_rule_says_what_is_expected_of_every_mix_of_up_to_four_upstreams(rule: TriggerRule) -> None:
    wrong = [
        (mix, judge(rule, counted(mix)), expected(rule, mix))
        for mix in mixes({*TERMINAL, SOME_UNFINISHED}, most=4)
        if judge(rule, counted(mix)) is not expected(rule, mix)
    ]
    assert wrong == []


@pytest.mark.parametrize("rule", TriggerRule)
def test_every_unfinished_state_counts_alike(rule: TriggerRule) -> None:
    for mix in mixes(TaskState, most=3):
        alike = tuple((SOME_UNFINISHED if state in UNFINISHED else state, is_setup) for state, is_setup in mix)
        assert judge(rule, counted(mix)) is judge(rule, counted(alike)), mix


@pytest.mark.parametrize("rule", TriggerRule)
def test_without_upstreams_a_task_is_ready(rule: TriggerRule) -> None:
    assert judge(rule, Upstream.of([])) is V.READY
    assert judge(rule, Upstream.of([S.REMOVED], [S.REMOVED])) is V.READY


upstreams = st.lists(st.tuples(st.sampled_from(sorted(TERMINAL)), st.booleans()), min_size=1, max_size=7)


@given(st.sampled_from(TriggerRule), upstreams.flatmap(lambda ends: st.tuples(st.just(ends), st.permutations(ends))))
def test_a_verdict_is_final_in_whatever_order_the_upstreams_end(
    rule: TriggerRule, both: tuple[list[One], list[One]]
) -> None:
    final = {judge(rule, counted(both[0]))}
    for order in both:
        ended_so_far = [
            order[:number] + [(S.NONE, is_setup) for _, is_setup in order[number:]] for number in range(len(order) + 1)
        ]
        said = [judge(rule, counted(picture)) for picture in ended_so_far]
        assert set(said) - {V.WAIT} == final
        first = next(number for number, verdict in enumerate(said) if verdict is not V.WAIT)
        assert set(said[first:]) == final


@given(st.sampled_from(TriggerRule), upstreams, upstreams)
def test_a_verdict_outlives_the_expansion_of_a_mapped_upstream(
    rule: TriggerRule, before: list[One], mapped: list[One]
) -> None:
    said = judge(rule, counted([*before, (S.NONE, False)]))
    if said is not V.WAIT:
        assert judge(rule, counted(before + [(state, False) for state, _ in mapped])) is said


@given(st.sampled_from(TriggerRule), upstreams)
def test_what_was_removed_is_not_there(rule: TriggerRule, ends: list[One]) -> None:
    there = [one for one in ends if one[0] is not S.REMOVED]
    assert judge(rule, counted(ends)) is judge(rule, counted(there))


@pytest.mark.parametrize(
    ("rule", "states", "verdict"),
    [
        (R.ALL_SUCCESS, [S.SKIPPED, S.RUNNING], V.WAIT),  # a failure may still come, and would outrank the skipping
        (R.ALL_SUCCESS, [S.FAILED, S.RUNNING], V.UPSTREAM_FAILED),
        (R.ONE_SUCCESS, [S.SUCCESS, S.DEFERRED], V.READY),
        (R.ONE_DONE, [S.UPSTREAM_FAILED], V.SKIP),  # such a task never ran
        (R.NONE_FAILED_MIN_ONE_SUCCESS, [S.SUCCESS, S.SKIPPED], V.READY),
        (R.ALL_DONE, [S.FAILED, S.SKIPPED, S.UPSTREAM_FAILED], V.READY),
        (R.ALWAYS, [S.NONE], V.READY),
    ],
)
def test_some_cases_that_authors_ask_about(rule: TriggerRule, states: list[TaskState], verdict: Verdict) -> None:
    assert judge(rule, Upstream.of(states)) is verdict
