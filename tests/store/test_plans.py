"""No kept plan reads whole tables, even if it was made when reading everything was the cheapest way.

PostgreSQL keeps the plan of a prepared statement. One that was made in a quiet hour, with hardly a row there, is still
used in the rush that follows, until somebody collects statistics again.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import asyncpg

from bide.sql import Statement, statement_files, statements
from bide.store.database import session_settings

# Scratch databases never grow.
ASIDE = {"migrations.sql", "scratch.sql"}
EVERY = [found for file in statement_files() if file not in ASIDE for found in statements(file).values()]
GROWING = {"task_instance", "trigger", "dag_run", "history", "xcom", "callback"}
SCANS = {"Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan"}
# They read an index from its beginning because they ask for everything, or for the first few, that is in it.
BY_DESIGN = {"orphan", "busy", "failing", "legs_of", "rescue", "agenda", "beginnable", "outdated_runs", "free_callback"}
# A person asks for them, seldom, and they count what there is.
FOR_PEOPLE = {
    "callback_loads",
    "count_runs_by_state",
    "count_tasks_by_state",
    "count_waits",
    "delete_pool",
    "describe_task",
    "free_waits",
    "impossible_pools",
    "list_runs",
    "parked_waits",
    "pools",
    "queue_loads",
    "tasks_by_end",
}
ONE_OF_EACH = """
    insert into dag (dag_id) values ('dag');
    insert into dag_run (dag_id, run_id, queued_at) values ('dag', 'run', now());
    insert into trigger (classpath, kwargs, created_date) values ('a.B', '', now());
    insert into task_instance (dag_run_id, dag_id, run_id, task_id, state, trigger_id)
        select r.id, r.dag_id, r.run_id, 'task', 'deferred', w.id from dag_run r, trigger w;
    insert into xcom select dag_id, run_id, task_id, map_index, 'key', '1', now() from task_instance;
    insert into callback (task_instance_id, callback_type, created_at) select id, 'success', now() from task_instance;
    insert into history (at, verb, task_instance_id, who) select now(), 'ready', id, 'test' from task_instance
"""


async def kept_plan(connection: "asyncpg.Connection[asyncpg.Record]", found: Statement) -> dict[str, Any]:
    """Return the plan that a connection keeps for a statement."""
    places = {int(number) for number in re.findall(r"\$(\d+)", found.text)}
    arguments = f"({', '.join('null' for _ in range(max(places)))})" if places else ""
    await connection.execute(f"prepare plan_{found.name} as {found.text}")
    plan: str = await connection.fetchval(f"explain (format json) execute plan_{found.name}{arguments}")
    whole: dict[str, Any] = json.loads(plan)[0]["Plan"]
    return whole


def read_wholly(plan: dict[str, Any]) -> Iterator[str]:
    """Find the growing tables that a plan reads from one end to the other."""
    bounded = "Index Cond" in plan or "Recheck Cond" in plan
    if plan["Node Type"] in SCANS and not bounded and plan["Relation Name"] in GROWING:
        yield f"{plan['Node Type']} on {plan['Relation Name']}"
    for part in plan.get("Plans", ()):
        yield from read_wholly(part)


async def everything_read_wholly(database: str, settings: dict[str, str]) -> dict[str, list[str]]:
    """Plan every statement when there is one row in each table."""
    connection = await asyncpg.connect(database, server_settings=settings)
    try:
        await connection.execute(ONE_OF_EACH)
        await connection.execute("vacuum analyze")
        await connection.execute("set plan_cache_mode = force_generic_plan")
        return {found.name: list(read_wholly(await kept_plan(connection, found))) for found in EVERY}
    finally:
        await connection.close()


async def test_no_kept_plan_reads_a_whole_table(database: str) -> None:
    read = await everything_read_wholly(database, session_settings(10))
    assert {name: scans for name, scans in read.items() if scans and name not in BY_DESIGN | FOR_PEOPLE} == {}


async def test_a_plan_that_reads_a_whole_table_is_found(database: str) -> None:
    read = await everything_read_wholly(database, {})
    assert "Seq Scan on trigger" in read["fire"]
