"""A trigger for what a web server answers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import httpx

from bide.authoring import BaseHook, Connection, PollingTrigger
from bide.exceptions import TaskError

PATIENCE_SEC = 60


class HttpTrigger(PollingTrigger):
    """Waits until a request is answered well, and yields the status code and the text of the answer.

    The endpoint is an address, or a path on the host of the connection. Status codes in
    `response_error_codes_allowlist` mean "not there yet"; other errors fail the task.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        http_conn_id: str | None = None,
        method: str = "GET",
        request_params: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        response_error_codes_allowlist: Collection[str] = ("404",),
        extra_options: dict[str, Any] | None = None,
        poke_interval: float = 60,
        end_from_trigger: bool = False,
    ) -> None:
        super().__init__()
        self.endpoint = endpoint
        self.http_conn_id = http_conn_id
        self.method = method
        self.request_params = request_params
        self.headers = headers
        self.response_error_codes_allowlist = sorted(str(code) for code in response_error_codes_allowlist)
        self.extra_options = extra_options
        self.poke_interval = poke_interval
        self.end_from_trigger = end_from_trigger

    async def look(self) -> Any:
        """Ask the server once."""
        named = "://" not in self.endpoint and self.http_conn_id is not None
        connection = await BaseHook.aget_connection(str(self.http_conn_id)) if named else None
        url, login, headers = target(self.endpoint, connection)
        try:
            async with httpx.AsyncClient(
                auth=login, headers={**headers, **(self.headers or {})}, **client_options(self.extra_options or {})
            ) as client:
                where = {params_in(self.method): self.request_params} if self.request_params else {}
                response = await client.request(self.method.upper(), url, **where)  # type: ignore[arg-type]
        except httpx.HTTPError as error:
            raise TaskError(f"{url} gives no answer: {error}.") from error
        if not is_good(response, self.response_error_codes_allowlist):
            self.log.info("%s has answered with status %s: not there yet.", url, response.status_code)
            return None
        return {"status_code": response.status_code, "text": response.text}


def target(endpoint: str, connection: Connection | None) -> tuple[str, tuple[str, str] | None, dict[str, str]]:
    """Put together an address, a login and headers."""
    if "://" in endpoint or connection is None:
        return endpoint, None, {}
    login = (connection.login, connection.password or "") if connection.login else None
    headers = {name: str(value) for name, value in connection.extra_dejson.items()}
    return f"{_base(connection)}/{endpoint.lstrip('/')}", login, headers


def client_options(given: dict[str, Any]) -> dict[str, Any]:
    """Name the options of requests as httpx does."""
    return {
        "timeout": given.get("timeout", PATIENCE_SEC),
        "verify": given.get("verify", True),
        "follow_redirects": given.get("allow_redirects", True),
    }


def params_in(method: str) -> str:
    """Airflow sends params in the body of a POST, and in the address otherwise."""
    return "params" if method.upper() in ("GET", "HEAD") else "data"


def is_good(response: httpx.Response, not_there_yet: Collection[str]) -> bool:
    """Tell whether it is there, or not yet; raise if it never will be."""
    if str(response.status_code) in not_there_yet:
        return False
    if response.is_error:
        raise TaskError(f"{response.url} has answered with status {response.status_code}.")
    return True


def _base(connection: Connection) -> str:
    host = connection.host or ""
    if "://" in host:
        base = host.rstrip("/")
    else:
        scheme = connection.schema or ("https" if connection.conn_type == "https" else "http")
        base = f"{scheme}://{host}"
    return base if connection.port is None else f"{base}:{connection.port}"
