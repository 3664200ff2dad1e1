"""A sensor for what a web server answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Unpack

import httpx

from bide.authoring import BaseHook, BaseSensorOperator, Connection, Context, SensorArguments, call_with_context
from bide.exceptions import TaskError

_PATIENCE_SEC = 60


class HttpSensor(BaseSensorOperator):
    """Waits until a request is answered well and `response_check`, if there is one, says yes to the answer.

    The endpoint is an address, or a path on the host of the connection. Status codes in
    `response_error_codes_allowlist` mean "not there yet"; other errors fail the task.
    """

    template_fields: Collection[str] = ("endpoint", "request_params", "headers")
    ui_color = "#7D90B2"

    def __init__(
        self,
        *,
        endpoint: str,
        http_conn_id: str = "http_default",
        method: str = "GET",
        request_params: dict[str, Any] | None = None,
        request_kwargs: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        response_error_codes_allowlist: Collection[str] = ("404",),
        response_check: Callable[..., object] | None = None,
        extra_options: Mapping[str, Any] | None = None,
        **kwargs: Unpack[SensorArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.endpoint = endpoint
        self.http_conn_id = http_conn_id
        self.method = method
        self.request_params = request_params or {}
        self.request_kwargs = request_kwargs or {}
        self.headers = headers or {}
        self.response_error_codes_allowlist = {str(code) for code in response_error_codes_allowlist}
        self.response_check = response_check
        self.extra_options = extra_options or {}

    def poke(self, context: Context) -> bool:
        """Ask the server once."""
        url, login, headers = self._target()
        self.log.info("Asking %s", url)
        # Airflow sends params in the body of a POST, and in the address otherwise.
        where = "params" if self.method.upper() in ("GET", "HEAD") else "data"
        try:
            with httpx.Client(
                auth=login,
                headers={**headers, **self.headers},
                timeout=self.extra_options.get("timeout", _PATIENCE_SEC),
                verify=self.extra_options.get("verify", True),
                follow_redirects=self.extra_options.get("allow_redirects", True),
            ) as client:
                arguments = {**({where: self.request_params} if self.request_params else {}), **self.request_kwargs}
                response = client.request(self.method.upper(), url, **arguments)
        except httpx.HTTPError as error:
            raise TaskError(f"{url} gives no answer: {error}.") from error
        if str(response.status_code) in self.response_error_codes_allowlist:
            self.log.info("Answered with status %s: not there yet.", response.status_code)
            return False
        if response.is_error:
            raise TaskError(f"{url} has answered with status {response.status_code}.")
        return self.response_check is None or bool(call_with_context(self.response_check, (response,), {}, context))

    def _target(self) -> tuple[str, tuple[str, str] | None, dict[str, str]]:
        if "://" in self.endpoint:
            return self.endpoint, None, {}
        connection = BaseHook.get_connection(self.http_conn_id)
        login = (connection.login, connection.password or "") if connection.login else None
        headers = {name: str(value) for name, value in connection.extra_dejson.items()}
        return f"{_base(connection)}/{self.endpoint.lstrip('/')}", login, headers


def _base(connection: Connection) -> str:
    host = connection.host or ""
    if "://" in host:
        base = host.rstrip("/")
    else:
        scheme = connection.schema or ("https" if connection.conn_type == "https" else "http")
        base = f"{scheme}://{host}"
    return base if connection.port is None else f"{base}:{connection.port}"
