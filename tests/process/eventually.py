"""Waiting for something to become true, as the house has no sleeps."""

import asyncio
import inspect
import time
from collections.abc import Callable
from threading import Event


async def eventually(condition: Callable[[], object], within_sec: float = 10, every_sec: float = 0.005) -> None:
    """Wait until a condition holds; it may be a coroutine function."""
    deadline = time.monotonic() + within_sec
    while True:
        result = condition()
        if await result if inspect.isawaitable(result) else result:
            return
        assert time.monotonic() < deadline, f"not so after {within_sec} s"
        await asyncio.sleep(every_sec)


def eventually_now(condition: Callable[[], object], within_sec: float = 10) -> None:
    """Wait until a condition holds where there is no event loop."""
    deadline = time.monotonic() + within_sec
    never = Event()
    while not condition():
        assert time.monotonic() < deadline, f"not so after {within_sec} s"
        never.wait(0.005)
