"""Asking a server something, on a connection of its own."""

import asyncpg


async def ask(url: str, statement: str) -> object:
    """Run a statement and return the first value of its answer."""
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()
