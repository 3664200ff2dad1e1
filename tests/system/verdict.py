"""After all has ended: what must be true of the tables, the history, and of what tasks have written down themselves."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.simulation.checker import check_history, check_waits
from tests.simulation.ledger import Violation
from tests.system.limits import check_limits

LEFT = {
    "runs that have not ended": "select id from dag_run where state in ('queued', 'running')",
    "tasks that have not ended": """select id from task_instance
        where state not in ('success', 'failed', 'skipped', 'upstream_failed', 'removed')""",
    "tasks that a worker still has": "select id from task_instance where worker_id is not null",
    "waits": "select id from trigger",
    "calls of on_kill": "select trigger_id as id from kill",
    "changes that nobody has looked at": "select id from look",
    "callbacks": "select id from callback where state in ('pending', 'queued', 'running')",
}


async def check_all(hand: Any, notes: Iterable[tuple[str, ...]]) -> None:
    """Raise a Violation if anything is wrong."""
    for what, query in LEFT.items():
        if left := [row["id"] for row in await hand.fetch(query)]:
            raise Violation("I1", f"{what} are left: {left}")
    check_waits(await hand.fetch("select * from task_instance"), await hand.fetch("select * from trigger"), set())
    await check_history(hand)
    await check_limits(hand)
    await check_notes(hand, notes)


async def check_notes(hand: Any, notes: Iterable[tuple[str, ...]]) -> None:
    """A leg runs at most once, and a task that wrote nothing down has not succeeded."""
    begun: Counter[tuple[str, ...]] = Counter()
    ended: Counter[tuple[str, ...]] = Counter()
    calls = 0
    for word, dag_id, run_id, task_id, map_index, _try, _pid in notes:
        place = (dag_id, run_id, task_id, map_index)
        calls += word == "called"
        if word == "wrong":
            raise Violation("I2", f"{place} went on with the event of another wait")
        (ended if word == "end" else begun)[place] += word in ("begin", "end")
    made = await hand.fetchval("select count(*) from callback where state = 'success'")
    if calls < made:
        raise Violation("I2", f"{made} callbacks count as made, and {calls} were called")
    rows = await hand.fetch(
        "select t.dag_id, t.run_id, t.task_id, t.map_index::text, t.state, t.operator,"
        " (select count(*) from history h where h.task_instance_id = t.id and h.verb = 'start') as starts,"
        " exists (select from history h where h.task_instance_id = t.id and h.verb = 'succeed') as has_said_so"
        " from task_instance t"
    )
    for row in rows:
        place = (row["dag_id"], row["run_id"], row["task_id"], row["map_index"])
        if begun[place] > row["starts"]:
            raise Violation("I2", f"{place} was started {row['starts']} times and has run {begun[place]} times")
        if begun[place] and row["has_said_so"] and not ended[place]:
            raise Violation("I2", f"{place} has succeeded, and has not come to its end")
