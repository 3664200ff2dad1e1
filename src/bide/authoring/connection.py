"""Connections: how to reach something, written as a URI or as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from bide.authoring.port import ask, async_ask
from bide.exceptions import NotFound, TaskError
from bide.model.questions import GetConnection

_WHOLE_EXTRA = "__extra__"
_FIELDS = frozenset({"conn_type", "description", "host", "login", "password", "schema", "port", "extra"})


@dataclass
class Connection:
    """Where something is and how to log in there. `extra` holds JSON with whatever else is needed."""

    conn_id: str
    conn_type: str | None = None
    description: str | None = None
    host: str | None = None
    login: str | None = None
    password: str | None = field(default=None, repr=False)
    schema: str | None = None
    port: int | None = None
    extra: str | None = field(default=None, repr=False)

    @classmethod
    def get(cls, conn_id: str) -> Connection:
        """Return a connection by its id."""
        return cls._from_answer(ask(GetConnection(conn_id)), conn_id)

    @classmethod
    async def aget(cls, conn_id: str) -> Connection:
        """Return a connection by its id, to a trigger."""
        return cls._from_answer(await async_ask(GetConnection(conn_id)), conn_id)

    @classmethod
    def _from_answer(cls, text: str | None, conn_id: str) -> Connection:
        if text is None:
            raise NotFound(f"There is no connection {conn_id!r}. Add it under this id.")
        return cls.from_json(text, conn_id) if text.lstrip().startswith("{") else cls.from_uri(text, conn_id)

    @classmethod
    def from_uri(cls, uri: str, conn_id: str = "") -> Connection:
        """Read a connection such as `postgres://login:password@host:5432/schema?key=value`."""
        try:
            parts = urlsplit(uri)
            port = parts.port
        except ValueError as error:
            raise TaskError(f"Connection {conn_id!r} is no URI: {error}.") from None
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        extra = query.get(_WHOLE_EXTRA) or (json.dumps(query) if query else None)
        kind = parts.scheme.replace("-", "_")
        return cls(
            conn_id=conn_id,
            conn_type="postgres" if kind == "postgresql" else kind,
            host=unquote(parts.hostname) if parts.hostname else None,
            login=unquote(parts.username) if parts.username else None,
            password=unquote(parts.password) if parts.password else None,
            schema=unquote(parts.path.lstrip("/")) or None,
            port=port,
            extra=extra,
        )

    @classmethod
    def from_json(cls, text: str, conn_id: str = "") -> Connection:
        """Read a connection from a JSON object with the fields of this class."""
        try:
            found = json.loads(text)
        except ValueError as error:
            raise TaskError(f"Connection {conn_id!r} is no JSON: {error}.") from None
        if not isinstance(found, dict):
            raise TaskError(f"Connection {conn_id!r} is no JSON object.")
        given = {name: value for name, value in found.items() if name in _FIELDS}
        if given.get("extra") is not None and not isinstance(given["extra"], str):
            given["extra"] = json.dumps(given["extra"])
        try:
            given["port"] = int(given["port"]) if given.get("port") else None
        except (TypeError, ValueError):
            raise TaskError(f"Connection {conn_id!r} has a port that is no number.") from None
        return cls(conn_id=conn_id, **given)

    @property
    def extra_dejson(self) -> dict[str, Any]:
        """What `extra` holds; empty if that is no JSON object."""
        try:
            found = json.loads(self.extra or "{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def get_uri(self) -> str:
        """Write the connection as a URI."""
        login = quote(self.login or "", safe="")
        if self.password is not None:
            login += f":{quote(self.password, safe='')}"
        place = f"{login}@" if login else ""
        place += quote(self.host or "", safe="")
        if self.port is not None:
            place += f":{self.port}"
        path = f"/{quote(self.schema, safe='')}" if self.schema else ""
        return f"{(self.conn_type or '').lower().replace('_', '-')}://{place}{path}{self._query()}"

    def _query(self) -> str:
        if not self.extra:
            return ""
        extra = self.extra_dejson
        plain = extra and all(isinstance(value, str) for value in extra.values())
        return "?" + urlencode(extra if plain else {_WHOLE_EXTRA: self.extra})


class BaseHook:
    """What a class that talks to some other system derives from."""

    @classmethod
    def get_connection(cls, conn_id: str) -> Connection:
        """Return a connection by its id."""
        return Connection.get(conn_id)

    @classmethod
    async def aget_connection(cls, conn_id: str) -> Connection:
        """Return a connection by its id, to a trigger."""
        return await Connection.aget(conn_id)
