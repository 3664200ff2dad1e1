"""A sensor for what a web server answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Unpack

import httpx

from bide.authoring import (
    BaseHook,
    BaseSensorOperator,
    BaseTrigger,
    Connection,
    Context,
    SensorArguments,
    call_with_context,
)
from bide.exceptions import TaskError
from bide.triggers.http import HttpTrigger, client_options, is_good, params_in, target


class HttpSensor(BaseSensorOperator):
    """Waits until a request is answered well and `response_check`, if there is one, says yes to the answer.

    The endpoint is an address, or a path on the host of the connection. Status codes in
    `response_error_codes_allowlist` mean "not there yet"; other errors fail the task.
    """

    template_fields: Collection[str] = ("endpoint", "request_params", "headers")
    ui_color = "#7D90B2"
    has_both_modes = True

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
        url, login, headers = target(self.endpoint, self._connection())
        self.log.info("Asking %s", url)
        try:
            with httpx.Client(
                auth=login, headers={**headers, **self.headers}, **client_options(dict(self.extra_options))
            ) as client:
                where = {params_in(self.method): self.request_params} if self.request_params else {}
                response = client.request(self.method.upper(), url, **{**where, **self.request_kwargs})
        except httpx.HTTPError as error:
            raise TaskError(f"{url} gives no answer: {error}.") from error
        if not is_good(response, self.response_error_codes_allowlist):
            self.log.info("Answered with status %s: not there yet.", response.status_code)
            return False
        return self.response_check is None or bool(call_with_context(self.response_check, (response,), {}, context))

    def trigger(self, context: Context) -> BaseTrigger:
        """Ask from the event loop; what only a function can tell is asked in a thread."""
        if self.response_check is not None or self.request_kwargs:
            return super().trigger(context)
        return HttpTrigger(
            self.endpoint,
            http_conn_id=self.http_conn_id,
            method=self.method,
            request_params=self.request_params,
            headers=self.headers,
            response_error_codes_allowlist=self.response_error_codes_allowlist,
            extra_options=dict(self.extra_options),
            poke_interval=self.poke_interval,
            end_from_trigger=self.ends_in_trigger,
        )

    def _connection(self) -> Connection | None:
        return None if "://" in self.endpoint else BaseHook.get_connection(self.http_conn_id)
