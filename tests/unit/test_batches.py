"""How much is said in one statement."""

import pytest

from bide.hosting.batches import MOST_TEXT_AT_ONCE, some_of

HALF = MOST_TEXT_AT_ONCE // 2


@pytest.mark.parametrize(
    ("lengths", "number"),
    [([], 0), ([1] * 9, 5), ([HALF] * 5, 2), ([9 * HALF, 1], 1), ([1, 9 * HALF, 1], 1), ([HALF, HALF, 0], 3)],
)
def test_as_many_are_said_at_once_as_fit_but_one_at_least(lengths: list[int], number: int) -> None:
    assert some_of(lengths, 5, lambda length: length) == lengths[:number]
