"""Secrets of a trigger: all its arguments are sealed before they are stored. Better still, it asks for a connection."""

import asyncio
from collections.abc import AsyncIterator

import pendulum

from bide import DAG, BaseHook, BaseTrigger, TriggerEvent, defer, task


class SafeTrigger(BaseTrigger):
    """Opens a safe: with a code that it was given, and with the password of a connection that it asks for."""

    def __init__(self, code: str, conn_id: str) -> None:
        super().__init__()
        self.code = code
        self.conn_id = conn_id

    async def run(self) -> AsyncIterator[TriggerEvent]:
        # What is asked of the engine is awaited, as everything is that takes time.
        connection = await BaseHook.aget_connection(self.conn_id)
        await asyncio.sleep(60)
        letters = len(connection.password or "")
        yield TriggerEvent(f"{connection.host} is open: {len(self.code)} digits, {letters} letters")


with DAG("defer_secret", schedule=None, start_date=pendulum.datetime(2026, 1, 1, tz="UTC"), tags=["example"]):

    @task
    def open_safe(event: str | None = None) -> str:
        return event or defer(SafeTrigger("4711", "example_safe"))

    open_safe()
