"""Asking a server something, on a connection of its own."""

import asyncpg


async def ask(url: str, statement: str) -> object:
    """Run a statement and return the first value of its answer."""
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def somebody_waits_for_a_lock(url: str) -> bool:
    """Say whether a session of this database waits for another one; other tests have databases of their own."""
    waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    return bool(await ask(url, f"select exists ({waiting})"))
