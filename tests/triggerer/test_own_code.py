"""Triggers from DAG files run in the state of the file that their task ran in (T8)."""

import pytest

from tests.process.eventually import eventually
from tests.triggerer.post import Post

FILE = """
import asyncio
import os
from bide import BaseTrigger, TriggerEvent

class Mine(BaseTrigger):
    def __init__(self, go):
        super().__init__(go=go)

    async def run(self):
        while not os.path.exists(self.go):
            await asyncio.sleep(0.02)
        yield TriggerEvent({word!r})
"""
MINE = "bide_dags.dag_file.Mine"


async def test_t8_changed_code_is_used_by_new_waits_and_old_ones_end_in_the_code_they_began_with(post: Post) -> None:
    go = {"go": str(post.folder / "go")}
    source = FILE.format(word="old")
    version = await post.version(["task_0"], source)
    old = await post.wait(MINE, go, go, source=source, dag_version_id=version)
    async with post.waiting() as at_work:
        await eventually(lambda: len(at_work.service.runners) == 2)
        source = FILE.format(word="new")
        version = await post.version(["task_0"], source)
        new = await post.wait(MINE, go, source=source, dag_version_id=version)
        await eventually(lambda: len(at_work.service.runners) == 3)
        assert len({runner.pid for runner in at_work.service.runners}) == 3
        post.go()
        assert await post.ends(*old, *new) == ["old", "old", "new"]
    assert len(await post.history("claim")) == 3


async def test_t8_a_file_that_cannot_be_imported_puts_its_waits_aside(post: Post) -> None:
    version = await post.version(["task_0"], "import no_such_module")
    await post.wait(MINE, {"go": ""}, dag_version_id=version)

    async def parked() -> bool:
        why = await post.connection.fetchval("select parked_why from trigger where parked_until is not null")
        return "no_such_module" in str(why)

    async with post.waiting():
        await eventually(parked)


async def test_a_runner_of_a_file_ends_when_nobody_needs_it_any_more(post: Post) -> None:
    go = {"go": str(post.folder / "go")}
    version = await post.version(["task_0"], FILE.format(word="old"))
    numbers = await post.wait(MINE, go, dag_version_id=version)
    async with post.waiting(unused_sec=0.2) as at_work:
        await eventually(lambda: len(at_work.service.runners) == 2)
        post.go()
        await post.ends(*numbers)
        await eventually(lambda: len(at_work.service.runners) == 1)


READS_AT_THE_TOP = """
from bide import BaseHook, BaseTrigger, TriggerEvent, Variable

TOKEN = Variable.get("api_token")
HOST = BaseHook.get_connection("shop").host
NOBODY = Variable.get("nobody", default="nothing")

class Mine(BaseTrigger):
    def __init__(self, go):
        super().__init__(go=go)

    async def run(self):
        self.log.info("it is %s at %s", TOKEN, HOST)
        yield TriggerEvent([HOST, NOBODY])
"""


async def test_a_file_that_reads_variables_at_its_top_has_them_where_its_triggers_run(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIDE_VAR_API_TOKEN", "open-sesame")
    monkeypatch.setenv("BIDE_CONN_SHOP", "http://shop.test/")
    version = await post.version(["task_0"], READS_AT_THE_TOP)
    numbers = await post.wait(MINE, {"go": ""}, source=READS_AT_THE_TOP, dag_version_id=version)
    async with post.waiting():
        assert await post.ends(*numbers) == [["shop.test", "nothing"]]
    written = "".join(row["text"] for row in await post.connection.fetch("select text from log_chunk order by number"))
    assert "it is *** at shop.test" in written
