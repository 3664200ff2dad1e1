"""Whatever a trigger's code does, its own task is told, and nobody else notices (reliability 20 to 24)."""

from pathlib import Path

import pytest

from tests.process.eventually import eventually
from tests.triggerer.post import KINDS, Post

BAD = {
    "raises": "ValueError: no such luck",
    "exits": "SystemExit: 3",
    "interrupts": "KeyboardInterrupt",
    "cancels": "CancelledError",
    "gives_up": "GeneratorExit",
    "recurses": "RecursionError: maximum recursion depth",
    "a_task_exits": "may not end its process",
    "ends_silently": "has ended without yielding an event",
    "yields_no_event": "has yielded a str, which is no TriggerEvent",
    "yields_unstorable": "payload of the event['f']",
    "yields_too_much": "more than 1,000,000 bytes",
}
GOOD = {
    "yields_twice": "first",
    "cleanup_raises": "fine",
    "prints": "printed",
    "forks": "parent",
    "starts_threads": "threads",
    "changes_folder": "there",
    "begins_tasks": [0, 1, 2, 3, 4],
}


async def test_d5_only_the_task_whose_trigger_does_it_fails_and_its_traceback_is_told(post: Post) -> None:
    (waits,) = await post.wait("Leaves", post.leaving)
    numbers = await post.wait("Does", *({"what": name} for name in (*BAD, *GOOD)))
    made = await post.wait("Kept", {"error": "not to be made"})
    async with post.waiting(hold_limit_sec=5, stuck_sec=30):
        ends = dict(zip((*BAD, *GOOD), await post.ends(*numbers), strict=True))
        (refused,) = await post.ends(*made)
        await eventually(lambda: "run" in post.diary())
        post.go()
        (pid,) = await post.ends(waits)
    assert {name: ends[name] for name in GOOD} == GOOD
    for name, error in BAD.items():
        assert error in ends[name]["error"], name
        assert (await post.row(numbers[list(BAD).index(name)]))["next_method"] == "__fail__"
    assert "in raises" in ends["raises"]["traceback"]
    assert "in raises" in await post.log(numbers[0])
    assert "Cleaning up has failed" in await post.log(numbers[[*BAD, *GOOD].index("cleanup_raises")])
    assert refused["error"] == "ValueError: not to be made"
    assert "in __init__" in refused["traceback"]
    # What the neighbour waited for was not disturbed.
    assert isinstance(pid, int)
    assert set(post.diary()) == {"run", "cleanup"}
    assert len(await post.history("claim")) == len(numbers) + 2


@pytest.mark.parametrize("way", ["moved", "signature", "value"])
async def test_24_code_that_is_not_there_is_waited_for_and_heals(post: Post, tmp_path: Path, way: str) -> None:
    package = tmp_path / "packages"
    package.mkdir()
    (number,) = await post.wait("late_code.Late", {"word": "hello"})

    def write(source: str) -> None:
        (package / "late_code.py").write_text(
            f"from bide import BaseTrigger, TriggerEvent\n{source}"
            "    async def run(self):\n        yield TriggerEvent(self.word)\n"
        )

    good = "class Late(BaseTrigger):\n    def __init__(self, word):\n        super().__init__(word=word)\n"
    if way == "signature":
        write(good.replace("word)", "other)", 1).replace("word=word", "word=other"))
    elif way == "value":
        write(good.replace("Late", "Elsewhere"))

    async def parked() -> bool:
        why = await post.connection.fetchval("select parked_why from trigger where parked_until is not null")
        return str(why).startswith("code unavailable: ")

    async with post.waiting({"PYTHONPATH": str(package)}) as at_work:
        await eventually(parked)
        write(good)
        await post.connection.execute("update trigger set parked_until = null")
        at_work.ring()
        assert await post.ends(number) == ["hello"]


async def test_a_slow_import_delays_nobody_else(post: Post, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    (tmp_path / "slow_code.py").write_text(
        f"import os, threading\nwhile not os.path.exists({str(gate)!r}):\n    threading.Event().wait(0.01)\n"
        f"from {KINDS} import Sleeps\n"
    )
    (slow,) = await post.wait("slow_code.Sleeps", {"seconds": 0})
    async with post.waiting({"PYTHONPATH": f"{tmp_path}:{Path.cwd()}"}):
        (fast,) = await post.wait("Sleeps", {"seconds": 0})
        await post.ends(fast)
        gate.touch()
        await post.ends(slow)


async def test_23_who_will_not_go_is_abandoned_and_his_runner_replaced_when_there_are_too_many(post: Post) -> None:
    number = 24
    ids = await post.wait("Leaves", *[post.leaving | {"hangs": True}] * number)
    async with post.waiting() as at_work:
        await post.are_held(number)
        await eventually(lambda: post.diary().count("run") == number)
        for id in ids:
            await post.clear(id)
        await post.connection.execute("delete from kill")
        at_work.ring()
        (after,) = await post.wait("Sleeps", {"seconds": 0})
        assert await post.ends(after) == [{"slept": 0}]
        runners = at_work.service.runners
        await eventually(lambda: all(runner.is_over for runner in runners if runner.abandoned), 20)
