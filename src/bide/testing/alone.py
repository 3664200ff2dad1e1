"""One trigger run alone, with somebody looking on: its events, its steps, and for how long each kept the event loop.

The clock is the real one: whoever tries a trigger out wants to see it wait. What is shown is shown between two steps,
so that showing it does not count as the trigger's own time.
"""

import asyncio
import inspect
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from bide.authoring.imports import DAG_FILES
from bide.authoring.trigger import BaseTrigger, TriggerEvent
from bide.authoring.values import VALUES
from bide.children.driving import CodeUnavailable, crash_of, find_trigger, worded
from bide.children.log import task_log
from bide.children.making import takes
from bide.children.steps import Account, Measured
from bide.errors import BideError, Refusal
from bide.model.wait_over import Crashes, Ends, Fires, WaitOver
from bide.testing.files import load

NANO = 1_000_000_000
LONG_SEC = 0.1
"""A step that takes longer is looked at while it lasts: it would hold up all other triggers."""
LOOK_EVERY_SEC = 0.02


@dataclass(frozen=True)
class Step:
    """From one `await` to the next; `where` says at which line of code a long one was found."""

    number: int
    at_sec: float
    took_sec: float
    where: str = ""


@dataclass(frozen=True)
class Happened:
    """An event, or another turn of the trigger's life, in words."""

    at_sec: float
    what: str


Show = Callable[[Step | Happened], object]


@dataclass(frozen=True)
class Ran:
    """How a trigger has ended, and what all of its steps took; `over` is None where somebody has stopped it."""

    over: WaitOver | None
    steps: int
    busy_sec: float
    longest_sec: float


def run_alone(
    classpath: str, kwargs: str, folder: Path, show: Show, every_event: bool = False, within_sec: float | None = None
) -> Ran:
    """Run a trigger to its first event, or on from there. `kwargs` is what the codec has written, such as JSON."""
    kind = _find(classpath, folder)
    arguments = _arguments(kind, kwargs)
    alone = _Alone(show)
    with task_log(), asyncio.Runner() as runner:
        over = runner.run(alone.run(kind, arguments, every_event, within_sec))
    account = alone.account
    return Ran(over, account.steps, account.busy_ns / NANO, account.longest_ns / NANO)


def _find(classpath: str, folder: Path) -> type[BaseTrigger]:
    """Find a class, in an installed package or in a DAG file."""
    package, *names = classpath.split(".")
    if package == DAG_FILES:
        for split in range(len(names) - 1, 0, -1):
            file = folder.joinpath(*names[:split]).with_suffix(".py")
            if file.is_file():
                load(str(file), str(folder))
                break
    try:
        return find_trigger(classpath)
    except CodeUnavailable as error:
        hint = f" Of a DAG file in {folder} it begins with {DAG_FILES}, as in {DAG_FILES}.sales.MyTrigger."
        raise Refusal(f"{error}{'' if package == DAG_FILES else hint}") from None


def _arguments(kind: type[BaseTrigger], kwargs: str) -> Mapping[str, Any]:
    arguments = VALUES.decode(kwargs)
    if not isinstance(arguments, Mapping):
        raise Refusal('The arguments of a trigger are a JSON object, such as {"path": "data.csv"}.')
    if not takes(kind, arguments):
        raise Refusal(f"{kind.__name__} does not take these arguments; it takes {inspect.signature(kind)}.")
    return arguments


class _Alone:
    """An event loop with one trigger on it."""

    def __init__(self, show: Show) -> None:
        self.account = Account(1)
        self._show = show
        self._began = monotonic()
        self._watch = _Watch(self.account)

    async def run(
        self, kind: type[BaseTrigger], arguments: Mapping[str, Any], every_event: bool, within_sec: float | None
    ) -> WaitOver | None:
        """Run it; whatever it does, it cleans up."""
        loop = asyncio.get_running_loop()
        loop.set_task_factory(self._measured)
        self._began = monotonic()
        with self._watch:
            driving = loop.create_task(self._drive(kind, arguments, every_event))
            try:
                async with asyncio.timeout(within_sec):
                    over = await asyncio.shield(driving)
            except (TimeoutError, asyncio.CancelledError):
                driving.cancel()
                with suppress(asyncio.CancelledError):
                    await driving
                over = None
            finally:
                # What ends the loop is no step of the trigger.
                loop.set_task_factory(None)
        # What is still to be shown stands behind this on the loop.
        await asyncio.sleep(0)
        return over

    async def _drive(self, kind: type[BaseTrigger], arguments: Mapping[str, Any], every_event: bool) -> WaitOver | None:
        trigger: BaseTrigger | None = None
        over: WaitOver | None = None
        try:
            trigger = kind(**arguments)
            self._tell(f"{kind.__name__} was made")
            if timer := trigger.timer():
                self._tell(f"it is a timer, due {timer.due}: for a task no process would ever run it")
            async for event in _events(trigger):
                now = worded(event)
                over = over or now
                self._tell(f"event: {_said(now)}")
                if not every_event:
                    break
            if over is None:
                over = Crashes(f"{kind.__name__}.run() has ended without yielding an event.")
                self._tell(_said(over))
        except Exception as error:
            over = over or crash_of(error)
            self._tell(_said(crash_of(error)))
        finally:
            if trigger is not None:
                await trigger.cleanup()
                self._tell("it has cleaned up")
        return over

    def _measured(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **more: Any) -> "asyncio.Task[Any]":
        return asyncio.Task(_Timed(coroutine, self.account, self._stepped), loop=loop, **more)

    def _stepped(self, took_ns: int) -> None:
        step = Step(self.account.steps, self._now() - took_ns / NANO, took_ns / NANO, self._watch.found())
        asyncio.get_running_loop().call_soon(self._show, step)

    def _tell(self, what: str) -> None:
        asyncio.get_running_loop().call_soon(self._show, Happened(self._now(), what))

    def _now(self) -> float:
        return monotonic() - self._began


async def _events(trigger: BaseTrigger) -> AsyncIterator[TriggerEvent]:
    events: Any = trigger.run()
    if not hasattr(events, "__anext__"):
        raise BideError(f"{type(trigger).__name__}.run() must be `async def` and yield an event.")
    async with aclosing(events):
        async for event in events:
            yield event if isinstance(event, TriggerEvent) else TriggerEvent(event)


def _said(over: WaitOver) -> str:
    match over:
        case Fires(event=event):
            return f"{event}; the task goes on with it"
        case Ends(state=state, reason=reason):
            return f"the task ends as {state}{f': {reason}' if reason else ''}"
        case Crashes(error=error, traceback=trace):
            return f"it has failed: {error}" + (f"\n{trace}" if trace else "")


class _Timed(Measured):
    """A measured coroutine that tells of each of its steps."""

    __slots__ = ("_told",)

    def __init__(self, inner: Any, account: Account, told: Callable[[int], object]) -> None:
        super().__init__(inner, account)
        self._told = told

    def _step(self, go: Callable[..., Any], *arguments: Any) -> Any:
        before = self._account.busy_ns
        try:
            return super()._step(go, *arguments)
        finally:
            self._told(self._account.busy_ns - before)


class _Watch:
    """Looks from another thread at where a step is that takes long."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._watched = threading.get_ident()
        self._over = threading.Event()
        self._where = ""
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def found(self) -> str:
        """Return where the step was that has just ended, if it took long, and forget it."""
        where, self._where = self._where, ""
        return where

    def _look(self) -> None:
        seen, since = -1, monotonic()
        while not self._over.wait(LOOK_EVERY_SEC):
            frame = sys._current_frames().get(self._watched)
            if frame is None or not _is_in_step(frame):
                seen = -1
            elif seen != self._account.steps:
                seen, since = self._account.steps, monotonic()
            elif monotonic() - since > LONG_SEC:
                self._where = _line_of(frame)


def _is_in_step(frame: Any) -> bool:
    return any(one.f_code is Measured._step.__code__ for one, _ in traceback.walk_stack(frame))


def _line_of(frame: Any) -> str:
    """Name the line of code that is not a library's, or the innermost one if there is none."""
    lines = [(one.f_code.co_filename, number, one.f_code.co_name) for one, number in traceback.walk_stack(frame)]
    libraries = (sys.base_prefix, sys.prefix, str(Path(__file__).parents[1]))
    own = [line for line in lines if not line[0].startswith((*libraries, "<"))]
    file, number, name = (own or lines)[0]
    return f"{file}:{number} in {name}"
