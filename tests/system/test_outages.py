"""PostgreSQL goes away and comes back: no service ends, nothing is lost, and nobody is given up for it."""

import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bide.process.program import AT_ONCE_WITHIN_SEC
from tests.process.conftest import copy_folder
from tests.process.eventually import eventually
from tests.system.power import Power, power
from tests.system.site import QUEUES, Site, patiently, site
from tests.system.verdict import check_all

RUNS = 4
LEASE_SEC = 3.15
BUSY_MACHINE_SEC = 10


@pytest.fixture
async def powered(knowing_server: Path, tmp_path: Path) -> AsyncIterator[tuple[Site, Power]]:
    """A site on a server of its own."""
    copy_folder(knowing_server, tmp_path / "server")
    with power(tmp_path / "server") as switch:
        async with site(switch.on(), tmp_path) as here:
            yield here, switch


async def test_a_server_that_is_killed_under_load_costs_time_and_nothing_else(powered: tuple[Site, Power]) -> None:
    here, switch = powered
    services = [here.start(kind) for kind in ("scheduler", "worker", "dag-processor")]
    await here.registered(*services)
    for number in range(RUNS):
        await here.launch("errand", f"run {number}")
    for how in (signal.SIGQUIT, signal.SIGINT, signal.SIGQUIT):
        await more_notes(here, 3)
        switch.off(how)
        switch.on()
        await here.reconnect()
    await here.all_end()
    assert await here.run_states() == {"success": RUNS}
    assert all(service.is_alive for service in services)
    await check_all(here.hand, here.notes())


async def test_after_an_outage_of_more_than_a_lease_whoever_comes_back_first_gives_nobody_up(
    powered: tuple[Site, Power],
) -> None:
    here, switch = powered
    heartbeat_sec = LEASE_SEC / 2.1
    scheduler = here.start("scheduler", scheduler__job_heartbeat_sec=heartbeat_sec)
    worker = here.start("worker", worker__job_heartbeat_sec=heartbeat_sec, worker__queues=",".join(QUEUES))
    await here.launch("queues", "run", do={"a": "wait"})
    await here.noted("begin", "a")
    switch.off()
    # So it is not the worker that comes back first.
    worker.send(signal.SIGSTOP)
    await passes(LEASE_SEC + 0.2)
    switch.on()
    await here.reconnect()

    async def is_back() -> bool:
        since = "select latest_heartbeat > pg_postmaster_start_time() from job where id = $1"
        return bool(await here.hand.fetchval(since, await here.job(scheduler)))

    await patiently(is_back)
    await passes(1.2)
    worker.send(signal.SIGCONT)
    (here.folder / "go").touch()
    await here.all_end()
    assert (await here.story("run", "a"))[1:] == ["enqueue 1", "start 1", "succeed 1"]
    assert await here.hand.fetchval("select count(*) from job") == 2
    await check_all(here.hand, here.notes())


async def test_who_is_told_twice_to_end_while_the_server_is_away_ends_soon_and_leaves_nothing(
    powered: tuple[Site, Power],
) -> None:
    here, switch = powered
    services = [here.start(kind) for kind in ("scheduler", "triggerer", "dag-processor")]
    services.append(here.start("worker", worker__queues=",".join(QUEUES)))
    await here.registered(*services)
    await here.launch("queues", "run", do={"a": "wait"})
    await here.noted("begin", "a")
    switch.off()
    for _ in range(2):
        for service in services:
            service.send(signal.SIGTERM)
        await passes(0.3)
    for service in services:
        assert await service.ended(AT_ONCE_WITHIN_SEC + BUSY_MACHINE_SEC) == 0, service.log.read_text()
    await patiently(lambda: not here.left_over())
    # A leg of which nobody could say a word is not lost.
    switch.on()
    await here.reconnect()
    (here.folder / "go").touch()
    here.start("scheduler")
    here.start("worker", worker__queues=",".join(QUEUES))
    await here.all_end()
    assert await here.run_states() == {"success": 1}


async def more_notes(here: Site, number: int) -> None:
    """Wait until tasks have written so much more."""
    wanted = len(here.notes()) + number
    await patiently(lambda: len(here.notes()) >= wanted)


async def passes(seconds: float) -> None:
    """Let time pass."""
    end = time.monotonic() + seconds
    await eventually(lambda: time.monotonic() > end, seconds + 1)
