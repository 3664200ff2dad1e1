"""What follows a failed try: the known delays, their caps, and no overflow anywhere."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import PlanError
from bide.model.retry import LONGEST_DELAY, MOST_RETRIES, GiveUp, Retry, RetryPolicy, after_failure

MINUTE = timedelta(minutes=1)
FOREVER = 2**31 - 1


def delays(policy: RetryPolicy, tries: int, seed: int = 0) -> list[timedelta]:
    found = [after_failure(policy, number, policy.retries, seed=seed) for number in range(1, tries + 1)]
    return [follows.delay for follows in found if isinstance(follows, Retry)]


def test_delays_double_from_the_first_failure_on() -> None:
    policy = RetryPolicy(retries=4, delay=5 * MINUTE, exponential=True)
    assert delays(policy, 4) == [5 * MINUTE, 10 * MINUTE, 20 * MINUTE, 40 * MINUTE]


def test_delays_stay_the_same_unless_they_shall_grow() -> None:
    assert delays(RetryPolicy(retries=3, delay=5 * MINUTE), 3) == [5 * MINUTE] * 3


def test_delays_grow_up_to_the_longest_that_the_author_wants() -> None:
    policy = RetryPolicy(retries=4, delay=5 * MINUTE, exponential=True, max_delay=15 * MINUTE)
    assert delays(policy, 4) == [5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 15 * MINUTE]


def test_the_longest_delay_holds_for_delays_that_do_not_grow() -> None:
    assert delays(RetryPolicy(retries=1, delay=20 * MINUTE, max_delay=15 * MINUTE), 1) == [15 * MINUTE]


def test_a_task_tries_once_more_than_it_has_retries() -> None:
    policy = RetryPolicy(retries=2)
    assert [type(after_failure(policy, number, 2)) for number in (1, 2, 3)] == [Retry, Retry, GiveUp]


def test_who_asks_for_retries_only_gets_the_five_minutes_that_authors_know() -> None:
    assert delays(RetryPolicy(retries=1), 1) == [5 * MINUTE]


def test_without_retries_the_first_failure_counts() -> None:
    assert after_failure(RetryPolicy(), 1, 0) == GiveUp("no retries are set")


def test_it_says_that_the_retries_are_used_up() -> None:
    assert after_failure(RetryPolicy(retries=2), 3, 2) == GiveUp("no retries are left")


def test_a_failure_that_no_retry_can_mend_is_the_last_one() -> None:
    assert isinstance(after_failure(RetryPolicy(retries=9), 1, 9, retryable=False), GiveUp)


def test_a_cleared_task_has_all_its_retries_again_and_its_delays_begin_anew() -> None:
    policy = RetryPolicy(retries=2, delay=MINUTE, exponential=True)
    cleared_after_three = 3 + policy.retries
    found = [after_failure(policy, number, cleared_after_three) for number in (4, 5, 6)]
    assert found == [Retry(MINUTE), Retry(2 * MINUTE), GiveUp("no retries are left")]


def test_the_retries_of_the_launch_count_though_the_dag_has_others_by_now() -> None:
    policy = RetryPolicy(retries=1, delay=MINUTE, exponential=True)
    assert after_failure(policy, 1, 3) == Retry(MINUTE)
    assert isinstance(after_failure(policy, 4, 3), GiveUp)


@pytest.mark.parametrize("number", [0, -1])
def test_tries_count_from_one(number: int) -> None:
    with pytest.raises(ValueError, match="from 1"):
        after_failure(RetryPolicy(retries=1), number, 1)


durations = st.timedeltas(min_value=timedelta(0), max_value=timedelta.max)
policies = st.builds(
    RetryPolicy,
    retries=st.integers(1, MOST_RETRIES),
    delay=durations,
    exponential=st.booleans(),
    max_delay=st.none() | durations,
    jitter=st.booleans(),
)
plain = policies.filter(lambda policy: not policy.jitter)


@given(policies, st.integers(1, FOREVER), st.integers(-FOREVER, FOREVER))
def test_every_delay_leads_to_a_date_and_keeps_its_caps(policy: RetryPolicy, number: int, seed: int) -> None:
    follows = after_failure(policy, number, FOREVER, seed=seed)
    assert isinstance(follows, Retry)
    assert timedelta(0) <= follows.delay <= min(policy.max_delay or LONGEST_DELAY, LONGEST_DELAY)
    assert datetime(2100, 1, 1, tzinfo=UTC) + follows.delay


@given(plain, st.integers(1, 200))
def test_no_delay_is_shorter_than_the_one_before(policy: RetryPolicy, tries: int) -> None:
    found = delays(policy, min(tries, policy.retries))
    assert found == sorted(found)


def test_growth_reaches_the_longest_delay_from_the_smallest_and_stays_there() -> None:
    policy = RetryPolicy(retries=100, delay=timedelta(microseconds=1), exponential=True)
    found = delays(policy, 100)
    assert found[44] == timedelta(microseconds=1 << 44)
    assert set(found[45:]) == {LONGEST_DELAY}


def test_a_delay_that_is_nothing_does_not_grow() -> None:
    assert set(delays(RetryPolicy(retries=99, delay=timedelta(0), exponential=True), 99)) == {timedelta(0)}


def test_jitter_spreads_tasks_that_failed_together_over_the_upper_half() -> None:
    policy = RetryPolicy(retries=1, delay=10 * MINUTE, jitter=True)
    found = [delays(policy, 1, seed)[0] for seed in range(1000)]
    assert all(5 * MINUTE <= delay <= 10 * MINUTE for delay in found)
    assert len(set(found)) == len(found)
    assert min(found) < 5.1 * MINUTE
    assert max(found) > 9.9 * MINUTE
    assert 7.3 * MINUTE < sum(found, timedelta(0)) / len(found) < 7.7 * MINUTE


def test_jitter_differs_from_try_to_try_and_is_the_same_for_whoever_asks_again() -> None:
    policy = RetryPolicy(retries=50, delay=10 * MINUTE, jitter=True)
    assert len(set(delays(policy, 50, seed=7))) == 50
    assert delays(policy, 50, seed=7) == delays(policy, 50, seed=7)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"retries": -1}, "retries is -1"),
        ({"retries": MOST_RETRIES + 1}, "retries is 1000001"),
        ({"delay": -MINUTE}, "retry_delay"),
        ({"max_delay": -MINUTE}, "max_retry_delay"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, int], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        RetryPolicy(**wrong)  # type: ignore[arg-type]


def test_the_edges_of_a_policy_are_accepted() -> None:
    RetryPolicy(retries=MOST_RETRIES, delay=timedelta(0), max_delay=timedelta(0))
