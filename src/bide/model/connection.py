"""What the text of a connection says: a URI, or a JSON object with the same fields."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
from msgspec import Struct

from bide.errors import Refusal

WHOLE_EXTRA = "__extra__"
"""The key in a URI's query that holds everything else as JSON, where it is more than plain texts."""
MASKED = "***"

_SECRET = ("password", "passwd", "secret", "token", "key", "credential", "private", "auth")


class Connection(Struct, frozen=True, kw_only=True):
    """How to reach something and how to log in there. `extra` holds whatever else is needed."""

    conn_type: str = ""
    host: str | None = None
    port: int | None = None
    login: str | None = None
    password: str | None = None
    schema: str | None = None
    extra: dict[str, Any] = {}


def read_connection(text: str) -> Connection:
    """Read a connection from its text, or refuse it; what is refused is never repeated, for it may be a secret."""
    return _from_json(text) if text.lstrip().startswith("{") else _from_uri(text)


def masked(connection: Connection) -> Connection:
    """Hide what is secret in a connection."""
    password = MASKED if connection.password else connection.password
    return msgspec.structs.replace(connection, password=password, extra=_without_secrets(connection.extra))


def _from_uri(text: str) -> Connection:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise Refusal("This is no URI. Write special characters of a password as %40 for @, %3A for :, …") from None
    if not parts.scheme or "://" not in text:
        raise Refusal("A connection is a URI such as postgres://login:password@host:5432/schema, or a JSON object.")
    query: dict[str, Any] = dict(parse_qsl(parts.query, keep_blank_values=True))
    extra = _extra(query[WHOLE_EXTRA]) if WHOLE_EXTRA in query else query
    kind = parts.scheme.replace("-", "_")
    return Connection(
        conn_type="postgres" if kind == "postgresql" else kind,
        host=_unquoted(parts.hostname),
        port=port,
        login=_unquoted(parts.username),
        password=_unquoted(parts.password),
        schema=_unquoted(parts.path.lstrip("/")),
        extra=extra,
    )


def _from_json(text: str) -> Connection:
    try:
        found = msgspec.json.decode(text, type=dict[str, Any])
        extra = found.get("extra") or {}
        found["extra"] = _extra(extra) if isinstance(extra, str) else extra
        if isinstance(found.get("port"), str):
            found["port"] = int(found["port"]) if found["port"] else None
        return msgspec.convert(found, Connection)
    except msgspec.ValidationError as error:
        raise Refusal(f"The connection is no object with the fields of one: {error}.") from None
    except (msgspec.DecodeError, ValueError):
        raise Refusal("The connection begins like a JSON object, but is none.") from None


def _extra(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        raise Refusal("What a connection has as extra must be a JSON object.") from None


def _unquoted(part: str | None) -> str | None:
    return unquote(part) if part else None


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: MASKED if any(word in str(key).lower() for word in _SECRET) else _without_secrets(item)
            for key, item in value.items()
        }
    return [_without_secrets(item) for item in value] if isinstance(value, list) else value
