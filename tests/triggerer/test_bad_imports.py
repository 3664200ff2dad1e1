"""Code that ends or holds its process while it is imported: its own waits bear that, and the neighbours go on."""

from pathlib import Path

import pytest

from tests.process.eventually import eventually
from tests.triggerer.post import Post

HOLDS = "import re\nre.match('(a+)+b', 'a' * 60)\n"
"""One call that never comes back and never lets another thread run."""


@pytest.mark.parametrize(("source", "how"), [("import os\nos._exit(9)\n", "exit code 9"), (HOLDS, "SIGKILL")])
async def test_22_who_ends_his_process_while_he_is_imported_is_failed_in_the_end_and_others_go_on(
    post: Post, tmp_path: Path, source: str, how: str
) -> None:
    (tmp_path / "deadly_code.py").write_text(source)
    (waits,) = await post.wait("Leaves", post.leaving)
    (deadly,) = await post.wait("deadly_code.Never", {})
    async with post.waiting({"PYTHONPATH": f"{tmp_path}:{Path.cwd()}"}):
        (end,) = await post.ends(deadly, within_sec=30)
        assert how in end["traceback"]
        post.go()
        await post.ends(waits)
    assert len(await post.history("fire")) == 1


async def test_26_waits_of_a_file_that_ends_its_process_are_put_aside(post: Post) -> None:
    source = "import os\nos._exit(9)\n"
    version = await post.version(["task_0"], source)
    await post.wait("bide_dags.dag_file.Mine", {}, source=source, dag_version_id=version)
    async with post.waiting():

        async def parked() -> bool:
            why = await post.connection.fetchval("select parked_why from trigger where parked_until is not null")
            return "exit code 9" in str(why)

        await eventually(parked)
