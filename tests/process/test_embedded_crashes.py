"""Whatever of the embedded server was killed, and when: the next start has what was acknowledged, and one server."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import asyncpg
import pytest

from bide import embedded
from bide.embedded.folder import Folder
from bide.errors import EmbeddedServerError
from tests.process.alive import LINUX, cut_power, postmaster, postmasters, processes_of
from tests.process.ask import ask
from tests.process.conftest import copy_folder
from tests.process.eventually import eventually_now
from tests.process.owner import owner

# Who is alive is looked up in /proc, and only Linux tells a child that its parent is gone.
pytestmark = pytest.mark.skipif(not LINUX, reason="needs Linux")

NEVER_ENDS = "do $$ begin loop end loop; end $$"


async def check_it_works(folder: Path) -> None:
    """Start it again, and see that it is one server that can be written to and has what was kept."""
    with embedded.running(folder) as server:
        assert server.owned
        assert len(postmasters(folder)) == 1
        await ask(server.url, "create table if not exists kept as select 7 as number")
        assert await ask(server.url, "select number from kept") == 7
    assert processes_of(folder) == []


async def keep(url: str) -> None:
    await ask(url, "create table kept as select 7 as number")


@pytest.mark.parametrize("new", [False, True], ids=["made", "new"])
async def test_of_many_starters_at_the_same_moment_one_starts_it_and_all_have_it(
    folder: Path, tmp_path: Path, new: bool
) -> None:
    place = tmp_path / "new" if new else folder
    with ExitStack() as stack:
        starters = [stack.enter_context(owner(place)) for _ in range(3)]
        answers = [starter.answer() for starter in starters]
        assert sorted(word for word, _ in answers) == ["found", "found", "started"]
        assert len({url for _, url in answers}) == 1
        assert len(postmasters(place)) == 1
        assert await ask(answers[0][1], "select 1") == 1
        for (word, _), starter in sorted(zip(answers, starters, strict=True), key=lambda pair: pair[0]):
            assert processes_of(place) != []
            starter.leave()
            assert (processes_of(place) == []) is (word == "started")


async def test_a_server_whose_owner_was_killed_goes_away(folder: Path) -> None:
    with owner(folder) as killed:
        _, url = killed.answer()
        await keep(url)
        killed.process.kill()
    eventually_now(lambda: processes_of(folder) == [], 30)
    await check_it_works(folder)


MOMENTS = ["data.new/base/4", "data", "data/postmaster.pid"]


@pytest.mark.parametrize("moment", MOMENTS)
async def test_an_owner_that_is_killed_while_it_makes_and_starts_the_server_leaves_nothing_in_the_way(
    tmp_path: Path, moment: str
) -> None:
    folder = tmp_path / "server"
    with owner(folder) as killed:
        eventually_now((folder / moment).exists, 30)
        killed.process.kill()
    # The next one does not wait until the last process has gone.
    await check_it_works(folder)


async def test_a_server_whose_power_was_cut_has_what_was_acknowledged(folder: Path) -> None:
    with embedded.running(folder) as server:
        await keep(server.url)
        cut_power(folder)
    assert (folder / "data" / "postmaster.pid").exists()
    await check_it_works(folder)


async def test_a_killed_postmaster_with_idle_backends_is_replaced(folder: Path) -> None:
    with embedded.running(folder) as server:
        await keep(server.url)
        connection = await asyncpg.connect(server.url)
        killed = postmaster(folder)
        os.kill(killed, signal.SIGKILL)
        eventually_now(lambda: killed not in processes_of(folder))
        await check_it_works(folder)
        connection.terminate()


async def test_a_killed_postmaster_is_not_replaced_while_a_backend_is_at_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "ORPHAN_PATIENCE", 0.3)
    with embedded.running(folder) as server:
        connection = await asyncpg.connect(server.url)
        backend = connection.get_server_pid()
        connection.execute(NEVER_ENDS).send(None)  # sends it, and does not wait
        first = postmaster(folder)
        os.kill(first, signal.SIGKILL)
        eventually_now(lambda: processes_of(folder) == [backend])
        with (
            pytest.raises(EmbeddedServerError, match="some of its processes are still at work"),
            embedded.running(folder),
        ):
            pass
        assert processes_of(folder) == [backend]
        connection.terminate()
        os.kill(backend, signal.SIGKILL)
        await check_it_works(folder)


@pytest.mark.parametrize("whose", ["a process", "another server", "garbage", "empty"])
async def test_a_stale_pid_file_is_seen_through_whoever_has_the_pid_now(
    folder: Path, tmp_path: Path, whose: str
) -> None:
    with embedded.running(folder):
        content = (folder / "data" / "postmaster.pid").read_text()
        dead = str(postmaster(folder))
    pid_file = folder / "data" / "postmaster.pid"
    with ExitStack() as stack:
        pid = str(os.getpid())
        if whose == "another server":
            copy_folder(folder, tmp_path / "another")
            stack.enter_context(embedded.running(tmp_path / "another"))
            pid = str(postmaster(tmp_path / "another"))
        pid_file.write_text({"garbage": "\0\ud7ff\n" * 9, "empty": ""}.get(whose, content.replace(dead, pid, 1)))
        await check_it_works(folder)


def test_a_server_that_somebody_started_by_hand_is_neither_doubled_nor_harmed(folder: Path) -> None:
    settings = embedded.arguments({"port": str(embedded.free_port()), **embedded.SETTINGS})
    by_hand = Folder(folder).launch("postgres", *settings, data=folder / "data", keep_open=()).process
    try:
        assert embedded.wait_until_ready(Folder(folder), by_hand)
        before = (folder / "data" / "postmaster.pid").read_text()
        refusal = f"Bide has not started, process {by_hand.pid}: stop it"
        with pytest.raises(EmbeddedServerError, match=refusal), embedded.running(folder):
            pass
        assert (folder / "data" / "postmaster.pid").read_text() == before
        assert by_hand.poll() is None
        assert postmasters(folder) == [by_hand.pid]
    finally:
        embedded.stop(by_hand)


def test_a_server_whose_password_is_gone_is_not_left_running(folder: Path) -> None:
    (folder / "password").unlink()
    with pytest.raises(EmbeddedServerError, match="password"), embedded.running(folder):
        pass
    assert processes_of(folder) == []
