"""Variables and connections as templates reach them: `var.value.name`, `var.json.name`, `conn.name`."""

from __future__ import annotations

from typing import Any

from bide.authoring.connection import Connection
from bide.authoring.variable import Variable
from bide.exceptions import NotFound


class ValueAccessor:
    """Variables by name, as texts or read as JSON."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Variable.get(name, deserialize_json=self._as_json)

    def __getitem__(self, name: str) -> Any:
        return Variable.get(name, deserialize_json=self._as_json)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a variable, or the default if there is none."""
        return Variable.get(name, default, deserialize_json=self._as_json)


class VariableAccessor:
    """Variables: `value` has them as texts, `json` reads them."""

    def __init__(self) -> None:
        self.value = ValueAccessor(as_json=False)
        self.json = ValueAccessor(as_json=True)


class ConnectionAccessor:
    """Connections by id."""

    def __getattr__(self, conn_id: str) -> Connection:
        if conn_id.startswith("__"):
            raise AttributeError(conn_id)
        return Connection.get(conn_id)

    def __getitem__(self, conn_id: str) -> Connection:
        return Connection.get(conn_id)

    def get(self, conn_id: str, default: Any = None) -> Any:
        """Return a connection, or the default if there is none."""
        try:
            return Connection.get(conn_id)
        except NotFound:
            return default
