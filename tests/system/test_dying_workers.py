"""A worker is killed, at every commit boundary and in the middle of a task: what it ran ends as it should."""

import signal
from datetime import timedelta
from functools import partial

from tests.system.site import QUEUES, Service, Site, patiently
from tests.system.verdict import check_all
from tests.worker.processes import all_gone, parent_of

BEGINS = ("enqueue 1", "start 1")
RESCUED = (*BEGINS, "rescue 2", "fail 2", "wake 2", "enqueue 3", "start 3", "succeed 3")
# For each queue: where its worker dies, what its task does in its first try, and what has to be said about it.
DEATHS = {
    "a": ("start:before:die", "end", (*BEGINS, "succeed 1")),
    "b": ("start:after:die", "end", RESCUED),
    "c": ("succeed:before:die", "end", RESCUED),
    "d": ("succeed:after:die", "end", (*BEGINS, "succeed 1")),
    "e": ("fail:before:die", "raise", RESCUED),
    "f": ("fail:after:die", "raise", (*BEGINS, "fail 1", "wake 1", "enqueue 2", "start 2", "succeed 2")),
    "g": ("reschedule:after:die", "look", (*BEGINS, "reschedule 1", "wake 1", "enqueue 2", "start 2", "succeed 2")),
    # It is killed while the code of its task runs.
    "h": ("", "wait", RESCUED),
    # It is told to leave, and dies when it has said that the task will run elsewhere: no try is used up.
    "i": ("drain:after:die", "wait", (*BEGINS, "drain 1", "rescue 2", "enqueue 3", "start 3", "succeed 3")),
}
LEASE_SEC = 3.15
FOUND_WITHIN_SEC = 3
BUSY_MACHINE_SEC = 2


async def test_whenever_a_worker_dies_its_leg_ends_as_it_should_and_nothing_is_left_over(here: Site) -> None:
    here.start("scheduler")
    workers = {
        queue: here.start("worker", fail_points=points, worker__queues=queue, worker__job_heartbeat_sec=LEASE_SEC / 2.1)
        for queue, (points, _, _) in DEATHS.items()
    }
    await here.launch("queues", "run", do={queue: does for queue, (_, does, _) in DEATHS.items()})
    for queue, number in (("h", signal.SIGKILL), ("i", signal.SIGTERM)):
        child = await here.noted("begin", queue)
        warm = parent_of(child)
        workers[queue].send(number)
        assert await workers[queue].ended() == -signal.SIGKILL
        await patiently(partial(all_gone, child, warm))
    for worker in workers.values():
        assert await worker.ended() == -signal.SIGKILL
    await patiently(lambda: not here.left_over())
    (here.folder / "go").touch()
    here.start("worker", worker__queues=",".join(QUEUES))
    await here.all_end()
    stories = {queue: tuple((await here.story("run", queue))[1:]) for queue in DEATHS}
    assert stories == {queue: told for queue, (_, _, told) in DEATHS.items()}
    assert set((await here.states("run")).values()) == {"success"}
    await check_all(here.hand, here.notes())


async def test_a_task_whose_worker_is_gone_is_found_within_three_seconds(here: Site) -> None:
    scheduler = here.start("scheduler")
    worker = here.start("worker", worker__queues="a", worker__job_heartbeat_sec=LEASE_SEC / 2.1)
    await here.launch("queues", "run", do={"a": "wait"})
    await here.noted("begin", "a")
    await watches_for(here, scheduler, timedelta(seconds=LEASE_SEC))
    killed_at = await here.hand.fetchval("select now()")
    worker.send(signal.SIGKILL)

    async def is_found() -> bool:
        return bool(await here.hand.fetchval("select count(*) from history where verb = 'rescue'"))

    await patiently(is_found)
    found_at = await here.hand.fetchval("select at from history where verb = 'rescue'")
    why = await here.hand.fetchval("select why from history where verb = 'bury'")
    assert (found_at - killed_at).total_seconds() < FOUND_WITHIN_SEC + BUSY_MACHINE_SEC
    assert why == "its lock was freed and it stayed silent"


async def watches_for(here: Site, scheduler: Service, lease: timedelta) -> None:
    """Wait until a scheduler has been at work for some time."""
    job = await here.job(scheduler)

    async def long_enough() -> bool:
        age = await here.hand.fetchval("select now() - start_date from job where id = $1", job)
        return bool(age > lease + timedelta(seconds=1.5))

    await patiently(long_enough)
