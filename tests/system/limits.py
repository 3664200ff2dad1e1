"""Room, as the history tells it: whether more was ever in use than there is. No SQL of the engine is shared."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tests.simulation.ledger import Violation

Row = Mapping[str, Any]
TAKES = {"enqueue"}
GIVES_BACK = {"succeed", "skip", "fail", "reschedule", "defer", "unqueue", "stopped", "rescue"}
# These take a task away. Where a child may still run it, that goes on taking room until it has stopped.
TAKES_AWAY = {"clear", "mark", "stop", "remove"}


class Occupancy:
    """Who is at work, entry by entry, and how many of each kind."""

    def __init__(self, tasks: Iterable[Row], dags: Iterable[Row], pools: Iterable[Row]) -> None:
        self._tasks = {row["id"]: row for row in tasks}
        self._dags = {row["dag_id"]: row for row in dags}
        self._pools = {row["name"]: row for row in pools}
        self._busy: set[int] = set()
        self._used: Counter[tuple[str, ...]] = Counter()
        self.most: Counter[tuple[str, ...]] = Counter()

    def follow(self, entries: Iterable[Row]) -> None:
        """Follow entries in their order; raise where a limit is exceeded."""
        for entry in entries:
            id, verb = entry["task_instance_id"], entry["verb"]
            if id is None:
                self._follow_run(entry)
            elif verb in TAKES:
                self._take(id)
            elif verb in GIVES_BACK or (verb in TAKES_AWAY and entry["from_state"] == "queued"):
                self._give_back(id)

    def _follow_run(self, entry: Row) -> None:
        if entry["dag_run_id"] is None or entry["from_state"] == entry["to_state"]:
            return
        dag = self._dags[entry["dag_id"]]
        kind = ("active runs of", dag["dag_id"])
        if entry["to_state"] == "running":
            self._add(kind, 1, dag["max_active_runs"])
        elif entry["from_state"] == "running":
            self._used[kind] -= 1

    def _take(self, id: int) -> None:
        self._busy.add(id)
        for kind, size, limit in self._room_of(id):
            self._add(kind, size, limit)

    def _give_back(self, id: int) -> None:
        if id in self._busy:
            self._busy.remove(id)
            for kind, size, _ in self._room_of(id):
                self._used[kind] -= size

    def _room_of(self, id: int) -> Iterable[tuple[tuple[str, ...], int, int | None]]:
        task = self._tasks[id]
        dag_id, run, name = task["dag_id"], str(task["dag_run_id"]), task["task_id"]
        yield ("slots of pool", task["pool"]), task["pool_slots"], self._pools[task["pool"]]["slots"]
        yield ("tasks in run", run), 1, self._dags[dag_id]["max_active_tasks"]
        yield ("instances of task", dag_id, name), 1, task["max_active_tis_per_dag"]
        yield ("instances in run of task", run, name), 1, task["max_active_tis_per_dagrun"]

    def _add(self, kind: tuple[str, ...], size: int, limit: int | None) -> None:
        self._used[kind] += size
        self.most[kind] = max(self.most[kind], self._used[kind])
        if limit is not None and self._used[kind] > limit:
            raise Violation("I7", f"{self._used[kind]} {' '.join(kind)} are in use, there may be {limit}")


async def check_limits(hand: Any) -> Counter[tuple[str, ...]]:
    """Read the whole history, and return how much of each kind of room was ever in use at most."""
    tasks = await hand.fetch("select * from task_instance")
    dags = await hand.fetch("select * from dag")
    pools = await hand.fetch("select * from pool")
    occupancy = Occupancy(tasks, dags, pools)
    occupancy.follow(
        await hand.fetch("select h.*, r.dag_id from history h left join dag_run r on r.id = h.dag_run_id order by h.id")
    )
    return occupancy.most
