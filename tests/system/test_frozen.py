"""Services stand still beyond their leases and wake up as stale owners: they do no harm, and begin anew."""

import signal
from functools import partial

from tests.system.site import QUEUES, Service, Site, patiently
from tests.system.verdict import check_all

STALE = ("ready:before", "enqueue:before", "conclude:before")


async def given_up(here: Site, *services: Service) -> None:
    """Wait until the others have given these up."""
    pids = [service.pid for service in services]

    async def are() -> bool:
        number = await here.hand.fetchval(
            "select count(distinct pid) from job where pid = any ($1) and state = 'failed'", pids
        )
        return bool(number == len(pids))

    await patiently(are)


async def registered_anew(here: Site, *services: Service) -> None:
    """Wait until these are at work under another number than at first."""
    for service in services:
        await patiently(partial(service.said, "was given up by the others"))
    await here.registered(*services)


async def test_a_worker_that_was_frozen_is_refused_and_registers_anew(here: Site) -> None:
    here.start("scheduler")
    frozen = here.start("worker", worker__queues="a")
    await here.launch("queues", "run", do={"a": "wait"})
    await here.noted("begin", "a")
    frozen.send(signal.SIGSTOP)
    # Its child goes on and ends: what the worker finds when it wakes up is the outcome of a leg that was given away.
    (here.folder / "go").touch()
    await here.noted("end", "a")
    await given_up(here, frozen)
    other = here.start("worker", worker__queues=",".join(QUEUES))
    await here.all_end()
    frozen.send(signal.SIGCONT)
    await registered_anew(here, frozen)
    other.send(signal.SIGTERM)
    await other.ended()
    await here.launch("queues", "again", do={})
    await here.noted("end", "a")
    story = await here.story("run", "a")
    assert story[1:4] == ["enqueue 1", "start 1", "rescue 2"]
    assert story[-2:] == ["start 3", "succeed 3"]
    here.start("worker", worker__queues=",".join(QUEUES[1:]))
    await here.all_end()
    assert (await here.story("again", "a"))[-1] == "succeed 1"
    await check_all(here.hand, here.notes())


async def test_schedulers_that_were_frozen_before_a_word_do_no_harm_when_they_say_it(here: Site) -> None:
    frozen = [here.start("scheduler", fail_points=f"{point}:freeze") for point in STALE]
    worker = here.start("worker")
    runs = 0

    async def all_stand_still() -> bool:
        nonlocal runs
        if runs - (await here.run_states())["success"] < len(STALE):
            runs += 1
            await here.launch("errand", f"run {runs}")
        return all(scheduler.stands_still for scheduler in frozen)

    await patiently(all_stand_still)
    here.start("scheduler")
    await given_up(here, *frozen)
    await here.all_end()
    for scheduler in frozen:
        scheduler.send(signal.SIGCONT)
    await registered_anew(here, *frozen)
    assert worker.is_alive
    await here.launch("errand", "after")
    await here.all_end()
    assert (await here.run_states()) == {"success": runs + 1}
    await check_all(here.hand, here.notes())
