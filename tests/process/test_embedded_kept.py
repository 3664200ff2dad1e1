"""A server that a long-running command needs is started again when it has ended, whoever ended it."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from bide import embedded
from bide.embedded.keeping import kept
from tests.process.alive import LINUX, postmaster, processes_of
from tests.process.ask import ask
from tests.process.eventually import eventually
from tests.process.owner import owner


async def is_another(folder: Path, first: int) -> bool:
    """Say whether there is a server that answers, and not the first one."""
    server = embedded.found(folder)
    return server is not None and postmaster(folder) != first


async def test_a_server_that_was_ended_comes_back_at_its_address_and_goes_at_the_end(folder: Path) -> None:
    with embedded.running(folder) as server, kept(folder):
        for number in (signal.SIGKILL, signal.SIGINT):
            ended = postmaster(folder)
            os.kill(ended, number)
            await eventually(partial(is_another, folder, ended), 30)
            assert await ask(server.url, "select 1") == 1


@pytest.mark.skipif(not LINUX, reason="only Linux tells a child that its parent is gone")
async def test_a_server_that_was_found_is_taken_over_when_its_owner_leaves(folder: Path) -> None:
    with owner(folder) as other:
        _, url = other.answer()
        first = postmaster(folder)
        with embedded.running(folder) as server, kept(folder):
            assert (server.url, server.owned) == (url, False)
            other.leave()
            await eventually(partial(is_another, folder, first), 30)
            assert await ask(url, "select 1") == 1
    assert processes_of(folder) == []
