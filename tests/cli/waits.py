"""Tasks that wait, made by the verbs by which they come to wait."""

from datetime import timedelta
from typing import Any

from bide.store import deferral, holding, jobs, legs, views
from bide.store.deferral import NewWait
from bide.store.jobs import JobType, NewJob
from tests.scheduler.town import WHO, Town

TRIGGER = "waits.HttpTrigger"
TIMER: dict[str, Any] = {"due_in": timedelta(hours=3), "event": '{"rang":true}', "classpath": "waits.TimeTrigger"}


async def begin(town: Town) -> dict[str, Any]:
    """Start every task that may start, and leave them running."""
    await town.rounds.go()
    offered = await views.offered(town.db, ["default"], 1000)
    return {one.task_id: one for one in await legs.start(town.db, WHO, town.worker, offered)}


async def defer(town: Town, **waits: dict[str, Any]) -> dict[str, int]:
    """Start every task that may start, and let some of them wait; returns the numbers of their waits."""
    started = await begin(town)
    numbers = await deferral.reserve_trigger_ids(town.db, len(waits))
    new = [
        NewWait(
            **{
                "id": started[task_id].id,
                "leg": started[task_id].leg,
                "trigger_id": number,
                "classpath": TRIGGER,
                "kwargs": "sealed",
                "next_method": "resume",
                **given,
            }
        )
        for number, (task_id, given) in zip(numbers, waits.items(), strict=True)
    ]
    assert len(await deferral.defer(town.db, WHO, new)) == len(waits)
    rows = await town.connection.fetch("select task_id, waits_for from task_instance where waits_for is not null")
    return {row["task_id"]: row["waits_for"] for row in rows if row["task_id"] in waits}


async def triggerer(town: Town, *queues: str, capacity: int | None = 1000, hostname: str = "here") -> int:
    """Let a triggerer begin, with a heartbeat every five seconds."""
    job = NewJob(job_type=JobType.TRIGGERER, hostname=hostname, queues=queues, capacity=capacity)
    return await jobs.register(town.db, "test", job)


async def claimed(town: Town, *queues: str, **settings: Any) -> int:
    """Let a triggerer begin and take what there is."""
    number = await triggerer(town, *queues, **settings)
    await holding.claim(town.db, WHO, number, queues or [""], 9)
    return number
