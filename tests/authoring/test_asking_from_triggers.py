"""What a trigger asks of the engine: each its own port, and never in the way of the others on its loop."""

import asyncio
import threading
from typing import Any

import pytest

from bide import BaseHook, Variable
from bide.authoring import count_tasks, run_state
from bide.authoring.engine import acount_tasks, arun_state, atask_ids
from bide.authoring.port import answering_async
from bide.exceptions import EngineRefused, NotFound
from bide.model.questions import Ask
from bide.model.states import RunState
from tests.authoring.engine import Engine, OtherRun


class Slow:
    """A port whose answers come when somebody lets them."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.open = engine, asyncio.Event()

    async def ask(self, question: Ask) -> Any:
        await self.open.wait()
        return self.engine.ask(question)


def at_once(engine: Engine) -> Slow:
    port = Slow(engine)
    port.open.set()
    return port


async def test_each_trigger_has_a_port_of_its_own_and_none_waits_for_another() -> None:
    slow, quick = Slow(Engine(variables={"x": "slow"})), at_once(Engine(variables={"x": "quick"}))

    async def ask(port: Slow) -> Any:
        with answering_async(port):
            return await Variable.aget("x")

    waiting = asyncio.create_task(ask(slow))
    assert await ask(quick) == "quick"
    slow.open.set()
    assert await waiting == "slow"


async def test_threads_of_a_trigger_ask_as_tasks_do() -> None:
    engine = Engine(connections={"db": "postgres://host/data"}, runs={("d", "r"): OtherRun("running")})
    with answering_async(at_once(engine)):
        connection = await asyncio.to_thread(BaseHook.get_connection, "db")
        assert connection.host == "host"
        assert (await BaseHook.aget_connection("db")) == connection
        assert await asyncio.to_thread(run_state, "d", run_id="r") is RunState.RUNNING
        assert await arun_state("d", run_id="r") is RunState.RUNNING
        assert await acount_tasks("d", states=["success"]) == await asyncio.to_thread(
            lambda: count_tasks("d", states=["success"])
        )
        assert await atask_ids("d") is None
        with pytest.raises(NotFound, match="no variable 'y'"):
            await Variable.aget("y")


async def test_what_would_stop_the_loop_is_refused() -> None:
    with answering_async(at_once(Engine())), pytest.raises(EngineRefused, match="await the answer"):
        Variable.get("x")


async def test_nobody_answers_where_no_trigger_runs() -> None:
    with pytest.raises(EngineRefused, match="no task and no trigger runs"):
        await Variable.aget("x")
    with answering_async(at_once(Engine(variables={"x": "1"}))):
        assert await Variable.aget("x") == "1"
        said: list[BaseException] = []
        thread = threading.Thread(target=_ask, args=(said,))
        thread.start()
        await asyncio.to_thread(thread.join)
    assert "no task and no trigger runs" in str(said[0])


def _ask(said: list[BaseException]) -> None:
    try:
        Variable.get("x")
    except EngineRefused as refused:
        said.append(refused)
