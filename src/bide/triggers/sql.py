"""A trigger for what stands in a database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from typing import Any

from bide.authoring import BaseHook, Connection, PollingTrigger
from bide.exceptions import TaskFailed

Parameters = Sequence[Any] | Mapping[str, Any]


class SqlTrigger(PollingTrigger):
    """Asks a query until the first cell of its answer counts as true, and yields that cell.

    As everywhere, 0, an empty text and NULL count as false. The query runs in a thread, through the driver for the
    type of the connection, on a connection of its own each time.
    """

    def __init__(
        self,
        conn_id: str,
        sql: str,
        *,
        parameters: Parameters | None = None,
        poke_interval: float = 60,
        end_from_trigger: bool = False,
    ) -> None:
        super().__init__()
        self.conn_id = conn_id
        self.sql = sql
        self.parameters = parameters
        self.poke_interval = poke_interval
        self.end_from_trigger = end_from_trigger

    async def look(self) -> Any:
        """Ask once."""
        connection = await BaseHook.aget_connection(self.conn_id)
        cell = await asyncio.to_thread(first_cell, connection, self.sql, self.parameters)
        return cell if cell and str(cell) != "0" else None


def first_cell(connection: Connection, sql: str, parameters: Parameters | None = None) -> Any:
    """Ask a database, and return the first cell of the answer; None if there is no row."""
    with closing(connect(connection)) as opened, closing(opened.cursor()) as cursor:
        cursor.execute(sql, *([] if parameters is None else [parameters]))
        row = cursor.fetchone()
    return row[0] if row else None


def connect(connection: Connection) -> Any:
    """Open a connection by the driver for its type."""
    drivers = DRIVERS.get(connection.conn_type or "")
    if drivers is None:
        raise TaskFailed(
            f"Nobody knows how to ask a {connection.conn_type!r} database; {', '.join(DRIVERS)} are known."
        )
    for name, arguments in drivers.items():
        try:
            driver = import_module(name)
        except ModuleNotFoundError:
            continue
        return driver.connect(**arguments(connection))
    raise TaskFailed(f"To ask a {connection.conn_type} database, install {' or '.join(drivers)} where triggers run.")


def _postgres(given: Connection) -> dict[str, Any]:
    return _present(host=given.host, port=given.port, user=given.login, password=given.password, dbname=given.schema)


def _mysql(given: Connection) -> dict[str, Any]:
    return _present(host=given.host, port=given.port, user=given.login, password=given.password, database=given.schema)


def _sqlite(given: Connection) -> dict[str, Any]:
    # A path in a URI loses its first slash: sqlite:///tmp/x.db means /tmp/x.db.
    return {"database": given.host or f"/{given.schema}"}


def _present(**given: Any) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


DRIVERS: Mapping[str, Mapping[str, Callable[[Connection], dict[str, Any]]]] = {
    "postgres": {"psycopg": _postgres, "psycopg2": _postgres},
    "mysql": {"pymysql": _mysql, "MySQLdb": _mysql},
    "sqlite": {"sqlite3": _sqlite},
}
