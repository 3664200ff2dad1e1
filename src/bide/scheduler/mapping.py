"""Mapped tasks become as many instances as there are elements, once it is known how many."""

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from bide.model.plan import MapInput, MapPlan
from bide.scheduler.judging import Picture, Verdicts
from bide.scheduler.plans import Version
from bide.store import looks, runs
from bide.store.database import Database
from bide.store.looks import OpenRun, Source
from bide.store.runs import Expansion

Lengths = Mapping[tuple[str, str], int | None]


async def expand(db: Database, who: str, run: OpenRun, version: Version, picture: Picture, verdicts: Verdicts) -> None:
    """Expand the tasks that the verdicts name, and add what is to be said about their instances."""
    mapped = {id: plan for id in verdicts.expand if (plan := version.tasks[id].mapped) is not None}
    lengths = await _lengths(db, run, mapped.values())
    expansions = []
    for task_id, plan in mapped.items():
        waiting = picture.standings[task_id].waiting
        number = number_of_instances(plan, lengths)
        if number is None:
            verdicts.block += waiting
        elif number == 0:
            verdicts.skip += waiting
        else:
            verdicts.ready += [id for id, map_index in waiting.items() if 0 <= map_index < number]
            verdicts.skip += [id for id, map_index in waiting.items() if map_index >= number]
            expansions.append(Expansion(min(waiting), run.epoch, number))
    verdicts.ready += await runs.expand(db, who, expansions)


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


def number_of_instances(plan: MapPlan, lengths: Lengths) -> int | None:
    """Count the elements that a task is mapped over; None if one of its sources has left nothing to count."""
    counted = [_elements(argument, lengths) for argument in plan.inputs]
    known = [number for number in counted if number is not None]
    return prod(known) if len(known) == len(counted) else None


def _elements(argument: MapInput, lengths: Lengths) -> int | None:
    counts = [
        source.length if source.task_id is None else lengths.get((source.task_id, source.key))
        for source in argument.sources
    ]
    return _combined(argument, [count for count in counts if count is not None]) if None not in counts else None


def _combined(argument: MapInput, counts: Sequence[int]) -> int:
    match argument.combine:
        case "concat":
            return sum(counts)
        case "zip_longest":
            return max(counts)
        case _:
            return min(counts)
