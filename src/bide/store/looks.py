"""What a scheduler looks at after something has changed; the statements are in sql/looks.sql."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from msgspec import Struct

from bide.model.states import TaskState
from bide.store.database import Database
from bide.store.rows import columns
from bide.store.runs import Unstarted


class Look(Struct, frozen=True):
    """Something that has changed: one task of a run, or with no task the run itself."""

    id: int
    dag_run_id: int
    task_id: str | None


class OpenRun(Struct, frozen=True):
    """A running run, at this epoch."""

    id: int
    dag_id: str
    run_id: str
    epoch: int
    dag_version_id: int | None
    logical_date: datetime | None


class TaskOfRun(Struct, frozen=True):
    """A task of a run, by the names under which its instances are found."""

    dag_run_id: int
    dag_id: str
    run_id: str
    task_id: str


class Tally(Struct, frozen=True):
    """How many instances of a task are in a state; `ids` and `map_indexes` are of those that may be readied."""

    dag_run_id: int
    task_id: str
    state: TaskState
    number: int
    ids: tuple[int, ...]
    map_indexes: tuple[int, ...]


class Source(Struct, frozen=True):
    """An XCom that a task is mapped over."""

    dag_run_id: int
    dag_id: str
    run_id: str
    task_id: str
    key: str


class DatedTask(Struct, frozen=True):
    """A task of a run that looks back at the run before."""

    dag_run_id: int
    dag_id: str
    logical_date: datetime
    task_id: str


class Unfinished(Struct):
    """Tasks of a run of which some instance is unfinished; perhaps not all there are."""

    task_ids: set[str]
    is_all: bool


class Ending(Struct, frozen=True):
    """A running run in which nothing is unfinished, and one of the ways in which its tasks have ended."""

    id: int
    epoch: int
    state: TaskState | None
    is_leaf: bool | None


async def looks(db: Database, shares: int, share: int, limit: int) -> list[Look]:
    """List what is to be looked at, by the one who has this share of the runs."""
    return [Look(**row) for row in await db.rows("looks", shares, share, limit)]


async def look_at(db: Database, run_ids: Sequence[int], task_ids: Sequence[str]) -> None:
    """Have these tasks of these runs looked at."""
    await db.rows("look_at", run_ids, task_ids)


async def looked_at(db: Database, ids: Sequence[int]) -> None:
    """Their consequences are committed."""
    await db.rows("looked_at", ids)


async def open_runs(db: Database, ids: Sequence[int]) -> list[OpenRun]:
    """Find the running ones."""
    return [OpenRun(**row) for row in await db.rows("open_runs", ids)]


async def tallies(db: Database, tasks: Sequence[TaskOfRun]) -> list[Tally]:
    """Count the instances of tasks by their states."""
    rows = await db.rows("tallies", *columns(TaskOfRun, tasks))
    return [
        Tally(
            row["dag_run_id"],
            row["task_id"],
            TaskState(row["state"]),
            row["number"],
            tuple(row["ids"] or ()),
            tuple(row["map_indexes"] or ()),
        )
        for row in rows
    ]


async def some_unfinished(db: Database, run_ids: Sequence[int], of_each_state: int) -> dict[int, Unfinished]:
    """Name a few unfinished tasks of each run."""
    found = {run_id: Unfinished(set(), True) for run_id in run_ids}
    rows = await db.rows("some_unfinished", run_ids, of_each_state)
    for (run_id, _), of_one_state in groupby(rows, key=lambda row: (row["dag_run_id"], row["state"])):
        names = [row["task_id"] for row in of_one_state]
        found[run_id].task_ids.update(names)
        found[run_id].is_all = found[run_id].is_all and len(names) < of_each_state
    return found


async def is_unfinished(db: Database, run_id: int, task_ids: Sequence[str]) -> bool:
    """Tell whether one of many tasks is unfinished."""
    return bool(await db.rows("is_unfinished", run_id, task_ids))


async def skip_lists(db: Database, tasks: Sequence[TaskOfRun], key: str) -> dict[tuple[int, str], str]:
    """Read what branching tasks have left out: the stored text by run and task."""
    rows = await db.rows("skip_lists", *columns(TaskOfRun, tasks), key)
    return {(row["dag_run_id"], row["task_id"]): row["value"] for row in rows}


async def lengths(db: Database, sources: Sequence[Source]) -> dict[tuple[int, str, str], int | None]:
    """Count the elements of XComs; None for a value that has none."""
    rows = await db.rows("lengths", *columns(Source, sources))
    return {(row["dag_run_id"], row["task_id"], row["key"]): row["number"] for row in rows}


async def past(db: Database, tasks: Sequence[DatedTask]) -> dict[tuple[int, str], set[TaskState]]:
    """Tell in which states the same tasks are in the run before; tasks of a first run are missing."""
    found: dict[tuple[int, str], set[TaskState]] = {}
    for row in await db.rows("past", *columns(DatedTask, tasks)):
        found.setdefault((row["dag_run_id"], row["task_id"]), set()).add(TaskState(row["state"]))
    return found


async def next_runs(db: Database, runs: Sequence[OpenRun]) -> dict[int, int]:
    """Map runs to the running ones that come right after them."""
    dates = [run.logical_date for run in runs]
    rows = await db.rows("next_runs", [run.id for run in runs], [run.dag_id for run in runs], dates)
    return {row["dag_run_id"]: row["id"] for row in rows}


async def done_runs(db: Database, ids: Sequence[int]) -> list[Ending]:
    """Find the runs in which nothing is unfinished."""
    rows = await db.rows("done_runs", ids)
    return [Ending(row["id"], row["epoch"], _state(row["state"]), row["is_leaf"]) for row in rows]


async def unfinished(db: Database, run_ids: Sequence[int], limit: int) -> list[Unstarted]:
    """List what is to be stopped in these runs."""
    return [Unstarted(**row) for row in await db.rows("unfinished", run_ids, limit)]


def _state(name: str | None) -> TaskState | None:
    return None if name is None else TaskState(name)
