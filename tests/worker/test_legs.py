"""A leg's way through the worker: from the queue to a child and back as a verb."""

from tests.worker.stage import Stage


async def test_a_task_runs_in_a_child_and_leaves_its_value(stage: Stage) -> None:
    async with stage.working():
        await stage.launch(
            """
            import os

            def hello(leg, port):
                print("hello from the task")
                return {"try": leg.try_number, "parent": os.getppid()}
            """,
            "hello",
        )
        assert await stage.ends("hello") == {"hello": "success"}
    assert '"try": 1' in str(await stage.xcom("hello"))
    assert await stage.log("hello") == "hello from the task\n"
    record = await stage.record("hello")
    assert record.exit is None
    assert record.pid
    assert record.peak_memory_kb
