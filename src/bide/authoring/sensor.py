"""What an author derives sensors from: tasks that look again and again until something is there."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, Unpack

from bide.authoring import checks, clock
from bide.authoring.arguments import OperatorArguments
from bide.authoring.checks import Wrong
from bide.authoring.conf import conf
from bide.authoring.operator import BaseOperator
from bide.authoring.polling import PokeTrigger
from bide.authoring.recipe import plain_part, recipe_of
from bide.authoring.trigger import BaseTrigger
from bide.exceptions import SensorTimeout, TaskFailed, TaskRescheduled, TaskSkipped, TaskTimeout

if TYPE_CHECKING:
    from bide.authoring.context import Context

WEEK = 7 * 24 * 60 * 60
_LONGEST = timedelta(days=1)


class PokeReturnValue:
    """What `poke` can return beside True and False: whether it is done, and what the sensor returns then."""

    def __init__(self, is_done: bool, xcom_value: Any = None) -> None:
        self.is_done = is_done
        self.xcom_value = xcom_value

    def __bool__(self) -> bool:
        return self.is_done


class SensorArguments(OperatorArguments, total=False):
    """What can be said of every sensor."""

    poke_interval: timedelta | float
    timeout: timedelta | float
    mode: Literal["poke", "reschedule"]
    soft_fail: bool
    exponential_backoff: bool
    max_wait: timedelta | float | None
    silent_fail: bool
    never_fail: bool
    deferrable: bool | None


class BaseSensorOperator(BaseOperator):
    """Looks every `poke_interval` until `poke` returns something true, for at most `timeout`.

    In mode "poke" it keeps its worker meanwhile, in mode "reschedule" it gives it away between two looks. With
    `deferrable` it needs none: it looks once, and then a trigger looks on by the same `poke`, which may block.
    When it takes too long it fails and is not tried again; with `soft_fail` it counts as skipped instead.
    """

    # It defers without being told to where `operators.default_deferrable` says so.
    has_both_modes: bool = False

    def __init__(
        self,
        *,
        poke_interval: timedelta | float = 60,
        timeout: timedelta | float = WEEK,
        soft_fail: bool = False,
        mode: Literal["poke", "reschedule"] = "poke",
        exponential_backoff: bool = False,
        max_wait: timedelta | float | None = None,
        silent_fail: bool = False,
        never_fail: bool = False,
        deferrable: bool | None = None,
        **kwargs: Unpack[OperatorArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.poke_interval = self._seconds("poke_interval", poke_interval)
        self.timeout = self._seconds("timeout", timeout)
        self.max_wait = None if max_wait is None else self._seconds("max_wait", max_wait)
        self.soft_fail = soft_fail
        self.mode = mode
        self.exponential_backoff = exponential_backoff
        self.silent_fail = silent_fail
        self.never_fail = never_fail
        self.deferrable = self._defers_by_default() if deferrable is None else deferrable
        if mode not in ("poke", "reschedule"):
            raise self.mistake(f"mode {mode!r} is unknown; it is 'poke' or 'reschedule'.")
        if soft_fail and never_fail:
            raise self.mistake("soft_fail and never_fail cannot both be asked for.")

    def _seconds(self, name: str, given: Any) -> float:
        try:
            seconds: float = checks.duration(name, given).total_seconds()
        except Wrong as wrong:
            raise self.mistake(str(wrong)) from None
        if seconds < 0:
            raise self.mistake(f"{name} is {given}; it must not be negative.")
        return seconds

    def _defers_by_default(self) -> bool:
        return self.has_both_modes and conf.getboolean("operators", "default_deferrable")

    @property
    def reschedule(self) -> bool:
        """Whether it gives its worker away between two looks."""
        return self.mode == "reschedule"

    def trigger(self, context: Context) -> BaseTrigger:
        """Make the trigger that waits instead of this sensor. By default one that looks by its `poke`."""
        return PokeTrigger(recipe_of(self), plain_part(context), end_from_trigger=self.ends_in_trigger)

    @property
    def ends_in_trigger(self) -> bool:
        """Whether nothing is left to do for it when its trigger has found what it waits for."""
        kind = type(self)
        goes_on = kind.execute_complete is not BaseSensorOperator.execute_complete
        return not (goes_on or self.post_execute_hook or kind.post_execute is not BaseOperator.post_execute)

    def pauses(self) -> Iterator[float]:
        """Tell how long to rest after each look."""
        return map(self._pause, count())

    def poke(self, context: Context) -> bool | PokeReturnValue:
        """Look once. Something true ends the waiting."""
        raise TaskFailed(f"{type(self).__name__} has no method poke(self, context).")

    def execute(self, context: Context) -> Any:
        """Look until it is done or the time is up."""
        try:
            return self._wait_for_free(context) if self.deferrable else self._wait(context)
        except (SensorTimeout, TaskTimeout, TaskFailed) as error:
            if self.soft_fail or self.never_fail:
                raise TaskSkipped(f"Skipped instead of failing: {error}") from error
            raise
        except (TaskSkipped, TaskRescheduled):
            raise
        except Exception as error:
            if self.never_fail:
                raise TaskSkipped(f"Skipped instead of failing: {error}") from error
            raise

    def _wait_for_free(self, context: Context) -> Any:
        trigger = self.trigger(context)
        # A trigger that knows its date needs nobody to look.
        if trigger.timer() is None and (found := self._look(context)):
            self.log.info("It is there.")
            return found.xcom_value if isinstance(found, PokeReturnValue) else None
        return self.defer(trigger=trigger, method_name="execute_complete")

    def execute_complete(self, context: Context, event: Any = None) -> Any:
        """Go on when the trigger has yielded an event: what it carries is returned."""
        return event

    def _wait(self, context: Context) -> Any:
        left = context["ti"].sensor_time_left
        ends_in = self.timeout if left is None else left.total_seconds()
        begun = clock.now()
        # What earlier legs have waited: a sensor in reschedule mode sees no more of itself than that.
        waited_before = max(0.0, self.timeout - ends_in)
        looked = 0
        while True:
            result = self._look(context)
            if result:
                self.log.info("It is there.")
                return result.xcom_value if isinstance(result, PokeReturnValue) else None
            waited = clock.now() - begun
            if waited >= ends_in:
                raise SensorTimeout(f"It did not come within {timedelta(seconds=self.timeout)}.")
            if self.reschedule:
                pause = self._pause(self._pauses_within(waited_before + waited))
                self.log.info("Not there yet; looking again in %s.", timedelta(seconds=pause))
                raise TaskRescheduled(after=timedelta(seconds=pause))
            pause = min(self._pause(looked), max(0.0, ends_in - waited))
            looked += 1
            clock.rest(pause)

    def _look(self, context: Context) -> bool | PokeReturnValue:
        try:
            return self.poke(context)
        except (TaskSkipped, TaskRescheduled, TaskFailed, SensorTimeout):
            raise
        except Exception:
            if not self.silent_fail:
                raise
            self.log.error("Looking has failed, and counts as not there:\n%s", traceback.format_exc())
            return False

    def _pause(self, number: int) -> float:
        """Tell how long to rest after so many pauses before."""
        if not self.exponential_backoff:
            return self.poke_interval
        longest = _LONGEST.total_seconds() if self.max_wait is None else self.max_wait
        return min(self.poke_interval * 2.0 ** min(number, 60), longest)

    def _pauses_within(self, waited: float) -> int:
        number = 0
        while self.exponential_backoff and waited >= (pause := self._pause(number)) > 0 and number < 60:
            waited -= pause
            number += 1
        return number
