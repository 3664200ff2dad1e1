"""What is hard to pass on from a trigger is its own affair: its task is told, and nobody else loses a word."""

from tests.triggerer.post import Post

SAYS = "tests.triggerer.hard_kinds.Says"


async def test_20_what_cannot_be_written_costs_nobody_else_his_event(post: Post) -> None:
    hard = ["unpaired error", "unpaired line"]
    easy = ["easy"] * 6
    numbers = await post.wait(SAYS, *({"what": what} for what in (*easy[:3], *hard, *easy[3:])))
    async with post.waiting():
        ends = await post.ends(*numbers)
    assert ends[:3] + ends[5:] == easy
    assert "half a character" in ends[3]["error"]
    assert ends[4] == "printed"
    assert "half a character" in await post.log(numbers[4])


async def test_21_an_end_that_is_too_long_for_a_message_is_an_error_and_nobody_else_loses_his(post: Post) -> None:
    numbers = await post.wait(SAYS, {"what": "too many XComs"}, {"what": "easy"})
    async with post.waiting(hold_limit_sec=5, stuck_sec=30):
        bad, good = await post.ends(*numbers)
    assert good == "easy"
    assert "too long" in bad["error"]
