"""The whole database as a set of rows, so that a test can say exactly what a statement changed and what it did not."""

import json
from dataclasses import dataclass
from typing import Any

import asyncpg

Picture = frozenset[tuple[str, str]]
"""Every row of every table, as (table, the row as JSON text)."""

_TABLES = "select tablename from pg_tables where schemaname = 'public' order by tablename"


@dataclass(frozen=True)
class Difference:
    """Rows that are only in the later picture, or only in the earlier one; a changed row is in both lists."""

    table: str
    row: dict[str, Any]
    later: bool


async def picture(connection: "asyncpg.Connection[asyncpg.Record]") -> Picture:
    """Read every row of every table."""
    rows: list[tuple[str, str]] = []
    for (table,) in await connection.fetch(_TABLES):
        found = await connection.fetch(f"select to_jsonb(t)::text as row from {table} t")
        rows += [(table, record["row"]) for record in found]
    return frozenset(rows)


def differences(before: Picture, after: Picture) -> list[Difference]:
    """Tell what one picture has and the other has not."""
    gone = [Difference(table, json.loads(row), later=False) for table, row in before - after]
    come = [Difference(table, json.loads(row), later=True) for table, row in after - before]
    return gone + come
