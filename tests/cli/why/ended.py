"""Tasks that have ended."""

from datetime import timedelta
from typing import Any

from bide.model.outcome import Failed, Skipped, Succeeded
from bide.model.plan import SKIPS_KEY
from bide.model.states import TaskState
from bide.model.trigger_rules import TriggerRule
from bide.store import by_hand, deferral, people, runs
from bide.store.by_hand import SeenWait
from bide.store.deferral import Ended
from tests.cli.waits import begin, claimed
from tests.cli.why.cases import MINUTE, S, case, launched, waiting
from tests.scheduler.town import PATIENCE, WHO, Town, task


@case(S.SUCCESS, "succeeded", "It succeeded at 2030-01-01 12:00:00Z in its try 1 of 1.")
async def _(town: Town) -> str:
    await launched(town, task("a"))
    await town.play()
    return "a"


async def marked(town: Town, state: TaskState) -> str:
    await launched(town, task("a"))
    await people.mark(town.db, "ada", PATIENCE, await town.ids("a"), state, "known better")
    return "a"


for _state in (S.SUCCESS, S.FAILED, S.SKIPPED):
    case(_state, "marked", f"ada has marked it as {_state} at 2030-01-01 12:00:00Z: known better.")(
        lambda town, state=_state: marked(town, state)  # type: ignore[misc]
    )


async def cancelled(town: Town, state: TaskState) -> str:
    number = await waiting(town)
    await by_hand.cancel(town.db, "ada", PATIENCE, [SeenWait((await town.ids("a"))[0], number)], state)
    return "a"


for _state in (S.SUCCESS, S.FAILED, S.SKIPPED):
    case(_state, "cancelled", f"ada has cancelled its wait at 2030-01-01 12:00:00Z, as {_state}.")(
        lambda town, state=_state: cancelled(town, state)  # type: ignore[misc]
    )


async def taken_away(town: Town, state: TaskState) -> str:
    await launched(town, task("a"))
    await begin(town)
    if state is S.REMOVED:
        await people.remove(town.db, "ada", PATIENCE, await town.ids("a"))
    else:
        await people.mark(town.db, "ada", PATIENCE, await town.ids("a"), state)
    return "a"


for _state in (S.SUCCESS, S.FAILED, S.SKIPPED, S.REMOVED):
    _said = f"It is {_state} by ada at 2030-01-01 12:00:00Z; the worker N on town has not yet said that its process is"
    case(_state, "ended, still stopping", _said)(
        lambda town, state=_state: taken_away(town, state)  # type: ignore[misc]
    )


@case(S.SUCCESS, "nothing to do", "It had nothing to do, and succeeded at 2030-01-01 12:00:00Z without a worker.")
async def _(town: Town) -> str:
    await launched(town, task("a", is_empty=True))
    await town.play()
    return "a"


async def ended(town: Town, to_state: Any) -> str:
    number = await waiting(town)
    await claimed(town)
    await deferral.end(town.db, WHO, [Ended(number, 1, to_state, None, "the job says so")])
    return "a"


@case(
    S.SUCCESS,
    "ended by its trigger",
    "What it waited for ended it as a success at 2030-01-01 12:00:00Z, without a worker.",
)
async def _(town: Town) -> str:
    return await ended(town, "success")


@case(
    S.SKIPPED,
    "skipped by its trigger",
    "What it waited for ended it as skipped at 2030-01-01 12:00:00Z: the job says so.",
)
async def _(town: Town) -> str:
    return await ended(town, "skipped")


@case(S.SUCCESS, "date came", "The date that it waited for came, and that was all at 2030-01-01 12:00:00Z.")
async def _(town: Town) -> str:
    await waiting(town, due_in=timedelta(0), ends=True)
    await deferral.fire_due(town.db, WHO, 9)
    return "a"


@case(S.SUCCESS, "fired by hand", "ada has fired the timer that was all it did at 2030-01-01 12:00:00Z: it is time.")
async def _(town: Town) -> str:
    number = await waiting(town, due_in=MINUTE, ends=True)
    await by_hand.fire_by_hand(town.db, "ada", [SeenWait((await town.ids("a"))[0], number)], None, "it is time")
    return "a"


@case(
    S.FAILED,
    "failed",
    "It failed at 2030-01-01 12:00:00Z in its try 1 of 1: the source is gone. `bide tasks clear d run a` lets it",
)
async def _(town: Town) -> str:
    await launched(town, task("a"))
    await town.play({"a": Failed("the\nsource is\x1b gone")})
    return "a"


@case(S.SKIPPED, "skipped itself", "Its code skipped it at 2030-01-01 12:00:00Z: nothing today.")
async def _(town: Town) -> str:
    await launched(town, task("a"))
    await town.play({"a": Skipped("nothing today")})
    return "a"


@case(S.SKIPPED, "left out", "It was skipped at 2030-01-01 12:00:00Z, because choose before it went elsewhere.")
async def _(town: Town) -> str:
    await launched(town, task("choose", branches=True), task("a", "choose"), task("b", "choose"))
    await town.play({"choose": Succeeded({SKIPS_KEY: '["a"]'})})
    return "a"


@case(S.SKIPPED, "left out", "It was skipped at 2030-01-01 12:00:00Z, because of its rule all_success and a (skipped).")
async def _(town: Town) -> str:
    await launched(town, task("a"), task("b", "a"))
    await town.play({"a": Skipped("no")})
    return "b"


@case(S.SKIPPED, "stopped with its run", "It was stopped at 2030-01-01 12:00:00Z, because its run took longer than")
async def _(town: Town) -> str:
    await launched(town, task("a"))
    await town.rounds.go()
    items = [runs.Unstarted((await town.ids("a"))[0], 0)]
    await people.stop(town.db, WHO, PATIENCE, items, "run_timed_out")
    return "a"


@case(S.UPSTREAM_FAILED, "upstream failed", "It never began, because of a (failed) before it and its rule all_success.")
async def _(town: Town) -> str:
    await launched(town, task("a"), task("b", "a", trigger_rule=TriggerRule.ALL_SUCCESS))
    await town.play({"a": Failed("no")})
    return "b"


@case(S.REMOVED, "removed", "It was taken out of the run at 2030-01-01 12:00:00Z, because it is no longer in the DAG.")
async def _(town: Town) -> str:
    await launched(town, task("a"))
    await people.remove(town.db, WHO, PATIENCE, await town.ids("a"))
    return "a"
