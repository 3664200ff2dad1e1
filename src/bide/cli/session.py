"""How a command reaches the engine: settings, a database that is there, keys, and a name for the history.

A command is a program of its own: it opens this, asks and says what it has to, and leaves nothing running behind it.
"""

import asyncio
import getpass
from collections.abc import Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import timedelta
from functools import cached_property
from typing import Any, TypeVar

import typer

from bide import embedded, keys
from bide.cli.db import Place, place
from bide.errors import DatabaseUnavailable
from bide.sealing import Sealer
from bide.settings import Settings, load
from bide.store.database import Database, connected
from bide.store.wake import Channel, Hints

PATIENCE_SEC = 5.0
"""A person would rather hear that there is no answer than wait for one."""
CONNECTIONS = 2

Answer = TypeVar("Answer")


class Session:
    """One command at work."""

    def __init__(self, settings: Settings, database: Place, db: Database, runner: asyncio.Runner) -> None:
        self.settings = settings
        self.place = database
        self.db = db
        self._hints = Hints(db)
        self._runner = runner

    def run(self, act: Coroutine[Any, Any, Answer]) -> Answer:
        """Do something, and wait for it. Between two calls there is time to ask a person."""
        return self._runner.run(act)

    def hint(self, *channels: Channel) -> None:
        """Wake those who have something to do now."""

        async def all_of_them() -> None:
            for channel in channels:
                self._hints.hint(channel)
            await self._hints.flushed()

        self.run(all_of_them())

    @cached_property
    def sealer(self) -> Sealer:
        """What seals and opens the values of variables and connections."""
        return keys.sealer(self.settings)

    @property
    def who(self) -> str:
        """The name of the person at the command line, for the history."""
        return f"{user()} (command line)"

    @property
    def kill_patience(self) -> timedelta:
        """How long the `on_kill` of a wait may take that is stopped."""
        return timedelta(seconds=self.settings.triggerer.kill_deadline_sec)


def user() -> str:
    """Name the user of this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # nobody has given this number a name, as in many containers
        return "somebody"


@contextmanager
def opened(context: typer.Context) -> Iterator[Session]:
    """Open a session for a command."""
    settings = load(overrides=context.obj)
    must_be_there(settings)
    with place(settings) as database, asyncio.Runner() as runner:
        given = settings.database
        connecting = connected(
            database.url,
            pool_size=min(CONNECTIONS, given.pool_size),
            statement_timeout_sec=given.statement_timeout_sec,
            pooler=given.pooler,
            patience_sec=PATIENCE_SEC,
        )
        with entered(runner, connecting) as db:
            yield Session(settings, database, db, runner)


@contextmanager
def entered(runner: asyncio.Runner, block: AbstractAsyncContextManager[Answer]) -> Iterator[Answer]:
    """Hold an asynchronous block open between several runs of a loop."""
    value = runner.run(block.__aenter__())
    try:
        yield value
    finally:
        runner.run(block.__aexit__(None, None, None))


def must_be_there(settings: Settings) -> None:
    """Refuse to make a database where somebody only wants to look: most likely they stand in another folder."""
    folder = settings.core.data_dir / "postgres"
    if not settings.database.url and not embedded.is_made(folder):
        raise DatabaseUnavailable(
            f"There is no database in {settings.core.data_dir} yet. Start Bide here with `bide up`, go to the folder "
            "where you have done so, or set database.url."
        )
