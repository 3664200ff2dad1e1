"""What is lost between the database, a triggerer and its runners is found again; what crosses does no harm."""

from pathlib import Path

import pytest

from bide.store.failpoints import VARIABLE
from tests.process.eventually import eventually
from tests.triggerer.post import KINDS, AtWork, Post

HARD = "tests.triggerer.hard_kinds"
FILE = """
from bide import BaseTrigger, TriggerEvent

class Mine(BaseTrigger):
    async def run(self):
        yield TriggerEvent("mine")
"""


async def acknowledged(post: Post, at_work: AtWork) -> None:
    """Wait until an on_kill is said to have run, long before anybody would give it up."""

    async def there() -> bool:
        at_work.ring()
        return bool(await post.history("acknowledge"))

    await eventually(there, 10, 0.1)
    assert not await post.connection.fetchval("select count(*) from kill")


async def test_2_a_claim_whose_triggerer_stumbles_before_it_runs_anything_is_given_back(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "version_of:before:raise")
    version = await post.version(["task_0"], FILE)
    (number,) = await post.wait("bide_dags.dag_file.Mine", {}, source=FILE, dag_version_id=version)
    async with post.waiting() as at_work:

        async def over() -> bool:
            at_work.ring()
            return bool((await post.row(number))["state"] == "scheduled")

        await eventually(over, 15, 0.1)
        assert await post.ends(number) == ["mine"]
    assert len(await post.history("claim")) == 2


async def test_12_an_on_kill_whose_taking_was_answered_to_nobody_runs_all_the_same(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    (number,) = await post.wait("Leaves", post.leaving, on_kill=True)
    monkeypatch.setenv(VARIABLE, "take_kill:after:lose")
    async with post.waiting() as at_work:
        await eventually(lambda: "run" in post.diary())
        await post.clear(number)
        await acknowledged(post, at_work)
    assert [word for word in post.diary() if "on_kill" in word] == ["on_kill cleared"]


async def test_an_on_kill_that_meets_the_event_of_its_trigger_is_acknowledged(post: Post) -> None:
    (number,) = await post.wait(f"{HARD}.Blocks", post.leaving, on_kill=True)
    async with post.waiting(hold_limit_sec=20, stuck_sec=30) as at_work:
        await eventually(lambda: "run" in post.diary())
        await post.clear(number)
        at_work.ring()

        async def taken() -> bool:
            return bool(await post.history("take_kill"))

        await eventually(taken)
        post.go()
        await acknowledged(post, at_work)
    assert post.diary().count("on_kill cleared") == 1
    assert (await post.row(number))["next_kwargs"] is None


async def test_a_wait_that_is_stopped_while_its_class_is_imported_never_begins(post: Post, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    (tmp_path / "slow_code.py").write_text(
        f"import os, threading\nwhile not os.path.exists({str(gate)!r}):\n    threading.Event().wait(0.01)\n"
        f"from {KINDS} import Leaves\n"
    )
    (number,) = await post.wait("slow_code.Leaves", post.leaving, on_kill=True)
    async with post.waiting({"PYTHONPATH": f"{tmp_path}:{Path.cwd()}"}) as at_work:
        await post.are_held(1)
        await post.clear(number)
        at_work.ring()

        async def taken() -> bool:
            return bool(await post.history("take_kill"))

        await eventually(taken)
        gate.touch()
        await acknowledged(post, at_work)
        await eventually(lambda: not any(runner.held for runner in at_work.service.runners))
    assert post.diary() == ["on_kill cleared", "cleanup"]


@pytest.mark.parametrize(
    ("kind", "why"), [(f"{HARD}.NotThere", "There is no trigger"), (f"{HARD}.NotAgain", "not again")]
)
async def test_20_an_on_kill_that_cannot_run_is_said_in_the_log_and_holds_nobody_up(
    post: Post, kind: str, why: str
) -> None:
    (number,) = await post.wait(kind, post.leaving, on_kill=True)
    post.folder.joinpath("diary").touch()
    await post.clear(number)
    async with post.waiting() as at_work:
        await acknowledged(post, at_work)
        await post.logs(number, "What was going on elsewhere may still go on")
        assert why in await post.log(number)


async def test_24_who_was_put_aside_leaves_nothing_behind_in_his_runner(post: Post) -> None:
    (number,) = await post.wait(f"{HARD}.NotThere", {})
    async with post.waiting() as at_work:

        async def parked() -> bool:
            return bool(await post.history("park"))

        await eventually(parked)
        await eventually(lambda: not any(runner.held for runner in at_work.service.runners))
    assert (await post.row(number))["state"] == "deferred"


async def test_an_on_kill_that_comes_together_with_its_trigger_runs(post: Post) -> None:
    other = {"diary": str(post.folder / "other"), "until": str(post.folder / "go")}
    (known,) = await post.wait("Leaves", {**other, "until": ""})
    async with post.waiting(runners=1, hold_limit_sec=20, stuck_sec=30) as at_work:
        await eventually(lambda: (post.folder / "other").exists())
        await post.wait(f"{HARD}.Blocks", other)
        await eventually(lambda: (post.folder / "other").read_text().count("run") == 2)
        (number,) = await post.wait("Leaves", post.leaving, on_kill=True)
        await post.are_held(3)
        await post.clear(number)
        at_work.ring()

        async def taken() -> bool:
            return bool(await post.history("take_kill"))

        await eventually(taken)
        post.go()
        await acknowledged(post, at_work)
    assert post.diary() == ["on_kill cleared", "cleanup"]
    assert (await post.row(known))["state"] == "deferred"
