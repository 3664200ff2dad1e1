"""What a doctor looks at: this machine first, then the database. Each check tells what it found and what to do."""

import asyncio
import os
import shutil
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from bide import embedded, keys, sealing
from bide.cli import words
from bide.cli.db import Place
from bide.control.stuck import stuck_services, stuck_waits
from bide.errors import BideError, SealingError
from bide.settings import Settings, explain
from bide.store import migrations, situation
from bide.store.database import Database, connected
from bide.store.situation import ServerFacts
from bide.store.wake import Channel, Hints, listening

PATIENCE_SEC = 5.0
HEARD_WITHIN_SEC = 2.0
SAMPLES = 100
LITTLE_SPACE, TOO_LITTLE_SPACE = 1_000_000_000, 100_000_000
MUCH_SKEW_SEC = 2.0
NEARLY_ALL = 0.9


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(Struct, frozen=True):
    """What a check has found, and what to do about it."""

    check: str
    level: Level
    found: str
    advice: str = ""


def ok(check: str, found: str) -> Finding:
    """Say that all is well."""
    return Finding(check, Level.OK, found)


def warn(check: str, found: str, advice: str) -> Finding:
    """Say that this is better mended before it does harm."""
    return Finding(check, Level.WARN, found, advice)


def fail(check: str, found: str, advice: str) -> Finding:
    """Say that this has to be mended."""
    return Finding(check, Level.FAIL, found, advice)


def of_machine(settings: Settings, overrides: dict[str, str]) -> Iterator[Finding]:
    """Examine this machine."""
    own = sum(setting.source != "default" for setting in explain(overrides=overrides))
    yield ok("settings", f"{words.count(own, 'setting')} made, see `bide config`")
    yield of_disk(settings.core.data_dir)
    yield of_dags(settings.core.dags_dir)
    yield of_key(settings)


def of_disk(folder: Path) -> Finding:
    """Look whether what Bide keeps on this machine has room."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return judged_disk(folder, shutil.disk_usage(there).free)


def judged_disk(folder: Path, free: int) -> Finding:
    """Tell whether so many free bytes are enough."""
    found = f"{words.size(free)} free for {folder}"
    advice = "make room, or set core.data_dir to a folder on another disk"
    if free < TOO_LITTLE_SPACE:
        return fail("disk", found, advice)
    return warn("disk", found, advice) if free < LITTLE_SPACE else ok("disk", found)


def of_dags(folder: Path) -> Finding:
    """Look whether the DAG files can be read."""
    if not folder.exists():
        return warn("DAG files", f"there is no folder {folder}", "make it, or set core.dags_dir to the one you have")
    if not folder.is_dir():
        return fail("DAG files", f"{folder} is no folder", "set core.dags_dir to the folder with your DAG files")
    if not os.access(folder, os.R_OK | os.X_OK):
        return fail("DAG files", f"{folder} cannot be read", "let the user of Bide read it")
    return ok("DAG files", f"{folder} can be read")


def of_key(settings: Settings) -> Finding:
    """Look whether there is a key, and whether it is kept well."""
    path = keys.place(settings)
    if not settings.security.keys and not path.exists():
        return ok("key", "none yet; it is made when the first secret is stored")
    try:
        number = len(keys.keys(settings))
    except SealingError as error:
        return fail("key", str(error), "without it nothing that is stored encrypted can be read")
    if settings.security.keys:
        return ok("key", f"{words.count(number, 'key')} in security.keys")
    if path.stat().st_mode & 0o077:
        return warn("key", f"others may read {path}", f"chmod 600 {path}")
    if settings.database.url:
        return warn("key", f"it is kept in {path}", "put it into security.keys where other machines use this database")
    return ok("key", f"it is kept in {path}")


def must_be_made(settings: Settings) -> Finding | None:
    """Say so where there is no database to examine."""
    if settings.database.url or embedded.is_made(settings.core.data_dir / "postgres"):
        return None
    return warn("database", "there is none yet", "`bide up` makes one here; or set database.url")


async def of_database(settings: Settings, database: Place) -> list[Finding]:
    """Examine the database."""
    async with migrations.opened(database.url) as connection:
        version = connection.get_server_version()
        found = [ok("database", f"{database.name} answers; PostgreSQL {version.major}.{version.minor}")]
        missing = await migrations.missing(connection, migrations.known())
    if missing:
        names = ", ".join(str(migration) for migration in missing)
        return [*found, fail("migrations", f"it lacks {names}", "run `bide db migrate`")]
    found.append(ok("migrations", "it has the shape that this Bide needs"))
    given = settings.database
    async with connected(database.url, pool_size=2, pooler=given.pooler, patience_sec=PATIENCE_SEC) as db:
        before = time.time()
        facts = await situation.examine_server(db)
        skew_sec = facts.clock.timestamp() - (before + time.time()) / 2
        found += [of_clock(facts, skew_sec), of_room(facts), of_commits(facts)]
        found.append(await of_sessions(db, database.url, given.pooler))
        found.append(await of_secrets(db, settings))
        found.append(await of_services(db))
        found.append(await of_waits(db))
    return found


def of_clock(facts: ServerFacts, skew_sec: float) -> Finding:
    """Compare the clocks. The engine knows only that of the database; people and tasks know that of their machine."""
    if facts.clock_is_moved:
        return fail("clock", "the engine's clock was moved, as tests do", "use another database, or set it right")
    found = f"this machine's clock is {abs(skew_sec):.1f} s {'behind' if skew_sec > 0 else 'ahead of'} the database's"
    if abs(skew_sec) > MUCH_SKEW_SEC:
        return warn("clock", found, "let both follow a time server (NTP)")
    return ok("clock", found)


def of_room(facts: ServerFacts) -> Finding:
    """Look whether others find a free connection."""
    found = f"{facts.connections} of {facts.max_connections} connections are taken"
    if facts.connections > NEARLY_ALL * facts.max_connections:
        return warn("connections", found, "raise max_connections, lower database.pool_size, or use a pooler")
    return ok("connections", found)


def of_commits(facts: ServerFacts) -> Finding:
    """Look whether the server keeps what it has committed."""
    if not facts.keeps_commits:
        return warn("durability", "fsync is off: a crash may destroy the database", "switch fsync on")
    return ok("durability", f"commits are kept; the database has {words.size(facts.size)}")


async def of_sessions(db: Database, url: str, pooler: bool) -> Finding:
    """Look whether sessions are what the setting says: behind a transaction pooler a hint is not heard."""
    if pooler:
        return ok("pooler", "database.pooler is set: no session locks, no hints, a look every so often instead")
    if await hears_hints(db, url):
        return ok("pooler", "there is none, or one that keeps sessions: hints are heard")
    return fail("pooler", "hints are not heard: most likely a transaction pooler is in between", "set database.pooler")


async def hears_hints(db: Database, url: str) -> bool:
    """Send a hint, and tell whether it is heard."""
    ready, heard = asyncio.Event(), asyncio.Event()

    def woken(_channel: Channel) -> None:
        (heard if ready.is_set() else ready).set()

    try:
        async with asyncio.timeout(PATIENCE_SEC), listening(url, [Channel.WEB], woken):
            await ready.wait()
            hints = Hints(db)
            hints.hint(Channel.WEB)
            await hints.flushed()
            async with asyncio.timeout(HEARD_WITHIN_SEC):
                await heard.wait()
    except TimeoutError:
        return False
    return True


async def of_services(db: Database) -> Finding:
    """Look whether somebody is at work."""
    services = await situation.list_services(db)
    alive = sum(one.is_alive for one in services)
    found = f"{words.count(alive, 'service')} at work" if alive else "nobody is at work"
    if missing := stuck_services(services):
        return warn("services", f"{found}; {' '.join(missing)}", "`bide up` starts all of them; see `bide status`")
    return ok("services", found)


async def of_waits(db: Database) -> Finding:
    """Look whether whatever tasks wait for is watched."""
    counts = await situation.count_waits(db)
    stuck = stuck_waits(counts, await situation.free_waits(db), await situation.parked_waits(db))
    found = f"{words.count(counts.tasks, 'task waits', 'tasks wait')}" if counts.tasks else "no task waits"
    if not stuck:
        return ok("waits", f"{found}; nothing is stuck")
    return warn("waits", f"{found}; {' '.join(stuck)}", "see `bide waits list`; `bide why` tells of one task")


async def of_secrets(db: Database, settings: Settings) -> Finding:
    """Try the keys on what is stored."""
    samples = await situation.sealed_samples(db, SAMPLES)
    if not samples:
        return ok("secrets", "none are stored")
    if not settings.security.keys and not keys.place(settings).exists():
        return fail("secrets", "some are stored, but there is no key here", "put theirs into security.keys")
    places = {"variable": sealing.variable, "connection": sealing.connection}
    sealer, locked = keys.sealer(settings), []
    for one in samples:
        try:
            sealer.open(one.sealed, places[one.kind](one.name))
        except BideError as error:
            locked.append(f"{one.kind} {one.name}: {error}")
    if locked:
        found = f"{len(locked)} of {len(samples)} tried cannot be opened, such as the {locked[0]}"
        return fail("secrets", found, "add the key that sealed them to security.keys, or store them anew")
    return ok("secrets", f"the key opens them ({len(samples)} tried)")
