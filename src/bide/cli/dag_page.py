"""All about one DAG."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from bide.cli import output, words
from bide.cli.output import Cell, Column, Output
from bide.model.graph import topological
from bide.model.plan import DagPlan, MapPlan, ParamPlan, TaskPlan, decode_plan
from bide.model.trigger_rules import TriggerRule
from bide.store.reports import DagFacts, RunLine

TASK_COLUMNS = (
    Column[TaskPlan]("task", lambda task: task.task_id),
    Column[TaskPlan]("operator", lambda task: task.operator),
    Column[TaskPlan]("comes after", lambda task: ", ".join(task.upstream)),
    Column[TaskPlan]("starts on", lambda task: rule(task.trigger_rule)),
    Column[TaskPlan]("mapped over", lambda task: mapped(task.mapped)),
    Column[TaskPlan]("retries", lambda task: str(task.retry.retries or ""), right=True),
    Column[TaskPlan]("pool", lambda task: "" if task.pool == "default_pool" else task.pool),
    Column[TaskPlan]("queue", lambda task: "" if task.queue == "default" else task.queue),
)
PARAM_COLUMNS = (
    Column[tuple[str, ParamPlan]]("param", lambda param: param[0]),
    Column[tuple[str, ParamPlan]]("default", lambda param: default(param[1])),
    Column[tuple[str, ParamPlan]]("type", lambda param: words.shortened(str(param[1].schema.get("type", "")))),
    Column[tuple[str, ParamPlan]]("what it is for", lambda param: words.plain(param[1].description)),
)


def show_dag(dag: DagFacts, runs: Sequence[RunLine], columns: Sequence[Column[RunLine]], output_as: Output) -> None:
    """Show a DAG, its tasks, and its latest runs."""
    plan = decode_plan(dag.plan)
    everything: dict[str, Any] = {**msgspec.structs.asdict(dag), "plan": plan, "latest_runs": runs}
    if not output.show_facts(everything, facts(dag, plan), output_as):
        return
    if plan.params:
        output.heading("Params")
        output.print_wide(output.table(plan.params.items(), PARAM_COLUMNS))
    output.heading("Tasks")
    output.print_wide(output.table(in_order(plan), TASK_COLUMNS))
    if runs:
        output.heading("Latest runs")
        output.print_wide(output.table(runs, columns))


def facts(dag: DagFacts, plan: DagPlan) -> Iterator[tuple[str, Cell]]:
    """Tell what is known of a DAG."""
    yield "DAG", dag.dag_id
    yield "is", "gone: it is in no file any more" if dag.gone_at else "paused" if dag.is_paused else "active"
    if dag.is_broken:
        yield "broken", "its file has an error, so this is how it was before; see `bide dags errors`"
    yield "description", words.plain(dag.description)
    yield "schedule", f"{dag.schedule} ({dag.timetable_description})" if dag.schedule else dag.timetable_description
    yield "next run", words.moment(dag.next_run_at)
    yield "catches up", words.yes(plan.catchup)
    yield "file", dag.fileloc or ""
    yield "version", f"{dag.version}, since {words.moment(dag.version_at)}"
    yield "owner", words.plain(dag.owners)
    yield "tags", ", ".join(dag.tags)
    yield "at most", f"{words.count(dag.max_active_runs, 'run')} at a time, with {dag.max_active_tasks} tasks each"
    yield "time limit", words.duration(plan.dagrun_timeout)
    yield "fails fast", words.yes(True) if plan.fail_fast else ""


def in_order(plan: DagPlan) -> list[TaskPlan]:
    """List tasks so that each comes after those that it waits for."""
    tasks = {task.task_id: task for task in plan.tasks}
    return [tasks[task_id] for task_id in topological(plan)]


def rule(trigger_rule: TriggerRule) -> str:
    """Name a trigger rule that is not the usual one."""
    return "" if trigger_rule is TriggerRule.ALL_SUCCESS else trigger_rule.value


def mapped(plan: MapPlan | None) -> str:
    """Say what a task is mapped over."""
    return ", ".join(given.name for given in plan.inputs) if plan else ""


def default(param: ParamPlan) -> str:
    """Write the default of a param."""
    return "must be given" if param.required else words.shortened(msgspec.json.encode(param.default).decode())
