"""Whatever a trigger's code does, one thing comes out of it, and its cleanup has run."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from types import ModuleType
from typing import Any

import pytest

from bide import BaseTrigger, TaskFailedEvent, TaskSkippedEvent, TaskSuccessEvent, TriggerEvent
from bide.authoring.values import VALUES
from bide.children.driving import CodeUnavailable, drive, find_trigger, make_trigger
from bide.exceptions import TaskFailed, TaskSkipped
from bide.model.wait_over import Crashes, Ends, Fires, WaitOver


class Yields(BaseTrigger):
    """Yields some things, and raises what is to be raised."""

    def __init__(self, *things: Any) -> None:
        super().__init__()
        self.things, self.cleaned, self.left = things, 0, False

    async def run(self) -> AsyncIterator[TriggerEvent]:
        try:
            for thing in self.things:
                if isinstance(thing, BaseException):
                    raise thing
                yield thing
        finally:
            self.left = True

    async def cleanup(self) -> None:
        self.cleaned += 1

    class Inner(BaseTrigger):
        def __init__(self, number: int = 0) -> None:
            super().__init__(number=number)


class Hangs(Yields):
    async def run(self) -> AsyncIterator[TriggerEvent]:
        try:
            await asyncio.Event().wait()
            yield TriggerEvent()
        finally:
            self.left = True


async def outcome(trigger: Yields) -> WaitOver:
    said: list[WaitOver] = []
    await asyncio.create_task(drive(trigger, said.append))
    assert trigger.left
    assert trigger.cleaned == 1
    assert len(said) == 1
    return said[0]


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        ((TriggerEvent({"a": 1}),), Fires('{"a":1}')),
        ((TriggerEvent(1), TriggerEvent(2)), Fires("1")),
        ((TaskSuccessEvent(xcoms={"return_value": 3}),), Ends("success", {"return_value": "3"})),
        ((TaskFailedEvent(reason="no"),), Ends("failed", reason="no")),
        ((TaskSkippedEvent(),), Ends("skipped")),
        ((TaskSkipped("no need"),), Ends("skipped", reason="no need")),
    ],
)
async def test_the_first_event_counts(things: tuple[Any, ...], expected: WaitOver) -> None:
    assert await outcome(Yields(*things)) == expected


@pytest.mark.parametrize(
    ("thing", "error", "retryable"),
    [
        (ValueError("no"), "ValueError: no", True),
        (TaskFailed("never"), "never", False),
        (SystemExit(3), "SystemExit: 3", True),
        (KeyboardInterrupt(), "KeyboardInterrupt", True),
        (asyncio.CancelledError(), "asyncio.exceptions.CancelledError", True),
        (GeneratorExit(), "GeneratorExit", True),
        (RecursionError("deep"), "RecursionError: deep", True),
        ("event", "Yields.run() has yielded a str, which is no TriggerEvent.", True),
    ],
)
async def test_whatever_it_raises_is_told_and_nothing_else_happens(thing: Any, error: str, retryable: bool) -> None:
    over = await outcome(Yields(thing))
    assert isinstance(over, Crashes)
    assert (over.error, over.retryable) == (error, retryable)


async def test_an_end_without_an_event_is_an_error() -> None:
    assert await outcome(Yields()) == Crashes("Yields.run() has ended without yielding an event.", ANY_TRACE)


class _Any(str):
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str)


ANY_TRACE = _Any()


async def test_an_event_that_cannot_be_stored_names_what_is_wrong_in_it() -> None:
    over = await outcome(Yields(TriggerEvent({"f": print})))
    assert isinstance(over, Crashes)
    assert "payload of the event['f']" in over.error


class Returns(Yields):
    async def run(self) -> Any:  # type: ignore[override]
        self.left = True
        return TriggerEvent()


class Sync(Yields):
    def run(self) -> Any:
        self.left = True
        return [TriggerEvent()]


class Nothing(Yields):
    left = True
    run = BaseTrigger.run


@pytest.mark.parametrize(
    ("kind", "part"),
    [(Returns, "this one yields nothing"), (Sync, "this one yields nothing"), (Nothing, "has no method run(self)")],
)
async def test_a_run_that_is_none_is_an_error(kind: type[Yields], part: str) -> None:
    trigger = kind()
    trigger.left = True
    over = await outcome(trigger)
    assert isinstance(over, Crashes)
    assert part in over.error


async def test_a_trigger_that_is_let_go_says_nothing_but_cleans_up() -> None:
    trigger, said = Hangs(), list[WaitOver]()
    task = asyncio.create_task(drive(trigger, said.append))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (said, trigger.left, trigger.cleaned) == ([], True, 1)


async def test_the_event_is_said_before_a_slow_cleanup() -> None:
    said: asyncio.Queue[WaitOver] = asyncio.Queue()
    open = asyncio.Event()

    class Slow(Yields):
        async def cleanup(self) -> None:
            await open.wait()

    task = asyncio.create_task(drive(Slow(TriggerEvent()), said.put_nowait))
    assert await said.get() == Fires("null")
    assert not task.done()
    open.set()
    await task


async def test_what_cleaning_up_raises_harms_nobody() -> None:
    class Dirty(Yields):
        async def cleanup(self) -> None:
            await super().cleanup()
            raise SystemExit

    assert await outcome(Dirty(TriggerEvent())) == Fires("null")


def test_a_class_is_found_by_its_path_also_within_another() -> None:
    assert find_trigger(f"{__name__}.Yields") is Yields
    assert find_trigger(f"{__name__}.Yields.Inner") is Yields.Inner
    assert vars(make_trigger(Yields.Inner, VALUES.encode({"number": 3}))) == {"number": 3}


@pytest.mark.parametrize("path", ["no_such.Thing", f"{__name__}.Gone", f"{__name__}.VALUES", "asyncio.Event"])
def test_a_class_that_is_not_there_is_told_by_its_path(path: str) -> None:
    with pytest.raises(CodeUnavailable, match="There is no trigger"):
        find_trigger(path)


def test_what_a_module_lacks_is_not_taken_for_the_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "needs_more.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        find_trigger("needs_more.Trigger")
    assert "needs_more" not in sys.modules


def test_a_package_that_is_only_a_name_is_no_class() -> None:
    sys.modules["only_a_name"] = ModuleType("only_a_name")
    make: Callable[[str], object] = find_trigger
    with pytest.raises(CodeUnavailable):
        make("only_a_name.Trigger")
    del sys.modules["only_a_name"]
