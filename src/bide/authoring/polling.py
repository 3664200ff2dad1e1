"""Triggers that look again and again, and the one that looks by the `poke` of a sensor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

from bide.authoring.recipe import Recipe, made_from, needs_dag_files
from bide.authoring.trigger import BaseTrigger, TaskSkippedEvent, TaskSuccessEvent, TriggerEvent
from bide.authoring.xcomarg import RETURN_KEY
from bide.exceptions import SensorTimeout, TaskFailed, TaskRescheduled, TaskSkipped

LONGEST_PAUSE_SEC = 24 * 60 * 60


class PollingTrigger(BaseTrigger):
    """Looks every `poke_interval` seconds until `look` returns something that is not None, and yields that.

    With `end_from_trigger` the task has succeeded then, and returns nothing.
    """

    poke_interval: float = 60
    end_from_trigger: bool = False

    async def look(self) -> Any:
        """Look once, without blocking. What is returned ends the waiting, unless it is None."""
        raise TaskFailed(f"{type(self).__name__} has no method `async def look(self)`.")

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look until it is there."""
        for pause in self.pauses():
            found = await self.look()
            if found is not None:
                yield TaskSuccessEvent() if self.end_from_trigger else TriggerEvent(found)
                return
            await asyncio.sleep(pause)

    def pauses(self) -> Iterator[float]:
        """Tell how long to rest after each look."""
        while True:
            yield self.poke_interval


class PokeTrigger(PollingTrigger):
    """Looks by the `poke` of a sensor, in a thread, so that it may block. The sensor is made again from its recipe."""

    def __init__(
        self, sensor: Recipe, context: dict[str, Any] | None = None, *, end_from_trigger: bool = False
    ) -> None:
        super().__init__()
        self.sensor = sensor
        self.context = context or {}
        self.end_from_trigger = end_from_trigger
        self._made: Any = None

    def needs_dag_files(self) -> bool:
        """Tell whether the sensor stands there."""
        return needs_dag_files(self.sensor)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look until it is there, or until the sensor wants it otherwise."""
        self._made = await asyncio.to_thread(made_from, self.sensor)
        context = {**self.context, "ti": self.task_instance, "task_instance": self.task_instance, "task": self._made}
        for pause in self._made.pauses():
            found = await self._look(context)
            if isinstance(found, TriggerEvent):
                yield found
                return
            await asyncio.sleep(pause)

    async def _look(self, context: dict[str, Any]) -> TriggerEvent | None:
        sensor = self._made
        try:
            found = await asyncio.to_thread(sensor.poke, context)
        except (TaskSkipped, TaskRescheduled):
            raise
        except Exception as error:
            if sensor.never_fail:
                return TaskSkippedEvent(reason=f"Skipped instead of failing: {error}")
            if not sensor.silent_fail or isinstance(error, TaskFailed | SensorTimeout):
                raise
            self.log.exception("Looking has failed, and counts as not there")
            return None
        if not found:
            return None
        value = getattr(found, "xcom_value", None)
        if not self.end_from_trigger:
            return TriggerEvent(value)
        return TaskSuccessEvent(xcoms={} if value is None else {RETURN_KEY: value})

    async def cleanup(self) -> None:
        """Stop what a look has started: a thread cannot be stopped by itself."""
        if self._made is not None:
            with suppress(Exception):
                await asyncio.to_thread(self._made.on_kill)
