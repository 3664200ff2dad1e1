"""Hints arrive soon, together, and again after whatever befell the connection; nothing in them is believed."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import asyncpg
import pytest

from bide import embedded
from bide.store.database import Database, connected
from bide.store.wake import Channel, Hints, listening
from tests.process.eventually import eventually
from tests.process.proxy import wire

SCHEDULER, WORKER = Channel.SCHEDULER, Channel.WORKER
BOTH = [SCHEDULER, WORKER]


@pytest.fixture
async def other(database: str) -> AsyncIterator[Any]:
    """A connection of somebody else."""
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


@asynccontextmanager
async def heard(
    url: str, alive_every_sec: float = 5, channels: list[Channel] = BOTH
) -> AsyncIterator[Counter[Channel]]:
    """Count what a listener is woken for, from its first look on."""
    counts: Counter[Channel] = Counter()

    def woken(channel: Channel) -> None:
        counts[channel] += 1

    async with listening(url, channels, woken, alive_every_sec):
        await eventually(lambda: len(counts) == len(channels))
        counts.clear()
        yield counts


async def drop_listeners(other: Any) -> None:
    await other.execute(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity "
        "where application_name = 'bide hints' and datname = current_database()"
    )


async def test_a_hint_wakes_those_who_listen_to_its_channel_and_no_others(database: str, db: Database) -> None:
    async with heard(database) as counts:
        hints = Hints(db)
        hints.hint(SCHEDULER)
        await eventually(lambda: counts[SCHEDULER])
        assert counts == {SCHEDULER: 1}


async def test_hints_that_come_while_one_is_sent_are_sent_as_one(database: str, db: Database, other: Any) -> None:
    async with heard(database) as counts:
        hints = Hints(db)
        for _ in range(100_000):
            hints.hint(SCHEDULER)
            hints.hint(WORKER)
        await eventually(lambda: counts == {SCHEDULER: 1, WORKER: 1})
        hints.hint(WORKER)
        await hints.flushed()
        await other.execute("select pg_notify('bide_scheduler', '')")
        await eventually(lambda: counts[SCHEDULER] == 2 and counts[WORKER] == 2)


async def test_a_flood_of_hints_is_heard_as_few(database: str, other: Any) -> None:
    async with heard(database) as counts:
        # One payload for each: PostgreSQL itself puts equal ones of a transaction together.
        await other.execute("select pg_notify('bide_worker', number::text) from generate_series(1, 100000) as number")
        await other.execute("select pg_notify('bide_scheduler', 'the last')")
        await eventually(lambda: counts[SCHEDULER])
        assert 1 <= counts[WORKER] < 1000


async def test_nothing_in_a_hint_is_read_and_other_channels_are_not_heard(database: str, other: Any) -> None:
    async with heard(database, channels=[WORKER]) as counts:
        for payload in ("'; drop table job; --", '{"channel": "bide_scheduler"}', "\N{SNOWMAN}" * 2000, "\x1b[2J"):
            await other.execute("select pg_notify('bide_worker', $1)", payload)
        await other.execute(
            "select pg_notify('bide_scheduler', ''), pg_notify('bide_unheard_of', ''), pg_notify('x', '')"
        )
        await other.execute("select pg_notify('bide_worker', '')")
        await eventually(lambda: counts[WORKER])
        assert set(counts) == {WORKER}


async def test_a_listener_looks_at_once_after_its_connection_was_terminated(database: str, other: Any) -> None:
    async with heard(database) as counts:
        await drop_listeners(other)
        await eventually(lambda: counts == {SCHEDULER: 1, WORKER: 1}, within_sec=3)
        await other.execute("select pg_notify('bide_worker', '')")
        await eventually(lambda: counts[WORKER] == 2)


async def test_what_changes_during_the_first_look_is_heard(database: str) -> None:
    """A listener that looked first and listened then would miss it."""
    looks: list[Channel] = []

    async def notify() -> None:
        connection = await asyncpg.connect(database)
        await connection.execute("select pg_notify('bide_worker', '')")
        await connection.close()

    def look(channel: Channel) -> None:
        looks.append(channel)
        if len(looks) == 1:
            # In a thread, so that the listener cannot do anything in the meantime.
            change = Thread(target=asyncio.run, args=(notify(),))
            change.start()
            change.join()

    async with listening(database, [WORKER], look):
        await eventually(lambda: len(looks) == 2)


async def test_a_connection_that_nobody_answers_on_is_replaced(database: str, other: Any) -> None:
    async with wire(database) as (line, address), heard(address, alive_every_sec=0.1) as counts:
        line.freeze()
        await other.execute("select pg_notify('bide_worker', '')")
        await eventually(lambda: counts == {SCHEDULER: 1, WORKER: 1}, within_sec=3)
        await other.execute("select pg_notify('bide_worker', '')")
        await eventually(lambda: counts[WORKER] == 2)


async def test_a_silent_connection_that_answers_is_kept(database: str) -> None:
    async with wire(database) as (line, address), heard(address, alive_every_sec=0.1) as counts:
        seen = line.answers
        await eventually(lambda: line.answers > seen + 3)
        assert (line.carried, counts) == (1, {})


async def test_a_listener_survives_the_restart_of_its_server(folder: Path) -> None:
    with embedded.running(folder) as server:
        listener = heard(server.url)
        counts = await listener.__aenter__()
    await eventually(lambda: not counts)
    with embedded.running(folder) as server:
        await eventually(lambda: counts == {SCHEDULER: 1, WORKER: 1})
        async with connected(server.url) as db:
            Hints(db).hint(WORKER)
            await eventually(lambda: counts[WORKER] == 2)
        await listener.__aexit__(None, None, None)


async def test_a_listener_waits_for_a_server_that_comes_later(folder: Path) -> None:
    with embedded.running(folder) as server:
        url = server.url
    woken: list[Channel] = []
    async with listening(url, BOTH, woken.append):
        assert woken == []
        with embedded.running(folder):
            await eventually(lambda: sorted(woken) == BOTH)


@pytest.mark.parametrize("raised", [RuntimeError("bad"), OSError("bad"), TimeoutError()])
async def test_whoever_raises_when_woken_is_woken_again(
    database: str, other: Any, raised: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[Channel] = []

    def woken(channel: Channel) -> None:
        calls.append(channel)
        raise raised

    with caplog.at_level(logging.ERROR):
        async with wire(database) as (line, address), listening(address, BOTH, woken):
            await eventually(lambda: sorted(calls) == BOTH)
            await other.execute("select pg_notify('bide_worker', '')")
            await eventually(lambda: len(calls) == 3)
            assert line.carried == 1
    assert "the next hint is heard all the same" in caplog.text


async def test_hints_that_cannot_be_sent_are_given_up_without_harm(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(database.replace("bide_test", "no_such"), patience_sec=0.1) as db:
        hints = Hints(db)
        hints.hint(WORKER)
        await hints.flushed()
    assert "Hints were lost" in caplog.text
