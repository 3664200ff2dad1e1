"""Mapped tasks become as many instances as there are elements, once it is known how many."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from bide.model.instances import known_number
from bide.model.plan import MapPlan, MapSource
from bide.scheduler.judging import Picture, Verdicts
from bide.scheduler.plans import Version
from bide.store import looks, runs
from bide.store.database import Database
from bide.store.looks import OpenRun, Source
from bide.store.runs import Expansion

Lengths = Mapping[tuple[str, str], int | None]


async def expand(db: Database, who: str, run: OpenRun, version: Version, picture: Picture, verdicts: Verdicts) -> bool:
    """Expand the tasks that the verdicts name, and add what is to be said about their instances; false if refused."""
    mapped = {id: plan for id in verdicts.expand if (plan := version.tasks[id].mapped) is not None}
    lengths = await _lengths(db, run, mapped.values())
    expansions = []
    waiting_at: dict[int, int] = {}
    for task_id, plan in mapped.items():
        waiting = picture.standings[task_id].waiting
        waiting_at |= waiting
        number = known_number(measured(plan, lengths))
        if number is None:
            verdicts.block += waiting
        elif number == 0:
            verdicts.skip += waiting
        else:
            verdicts.ready += [id for id, map_index in waiting.items() if 0 <= map_index < number]
            verdicts.skip += [id for id, map_index in waiting.items() if map_index >= number]
            expansions.append(Expansion(min(waiting), run.epoch, number))
    came = await runs.expand(db, who, expansions)
    verdicts.ready += came
    # The instance that stood for all of them comes back as the first one, or somebody came in between.
    stood_for_all = {expansion.id for expansion in expansions if waiting_at[expansion.id] < 0}
    return stood_for_all <= set(came)


async def _lengths(db: Database, run: OpenRun, mapped: Iterable[MapPlan]) -> Lengths:
    wanted = {
        (source.task_id, source.key)
        for plan in mapped
        for argument in plan.inputs
        for source in argument.sources
        if source.task_id is not None
    }
    sources = [Source(run.id, run.dag_id, run.run_id, task_id, key) for task_id, key in sorted(wanted)]
    found = await looks.lengths(db, sources) if sources else {}
    return {(task_id, key): number for (_, task_id, key), number in found.items()}


def measured(plan: MapPlan, lengths: Lengths) -> MapPlan:
    """Put the lengths of what tasks have left into the plan; where one has left nothing to count, none is put in."""
    return replace(
        plan,
        inputs=tuple(
            replace(argument, sources=tuple(_measured(source, lengths) for source in argument.sources))
            for argument in plan.inputs
        ),
    )


def _measured(source: MapSource, lengths: Lengths) -> MapSource:
    if source.task_id is None:
        return source
    return replace(source, length=lengths.get((source.task_id, source.key)))
