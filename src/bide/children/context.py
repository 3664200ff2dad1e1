"""Building the context of a leg from what the worker has said about it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

from bide.authoring import macros
from bide.authoring.accessors import ConnectionAccessor, VariableAccessor
from bide.authoring.context import Context, LazyContext
from bide.authoring.instance import DagRun, RuntimeTaskInstance
from bide.authoring.node import Node
from bide.authoring.operator import BaseOperator
from bide.authoring.params import ParamsDict
from bide.model.messages import RunLeg
from bide.model.states import RunState


def build_context(order: RunLeg, task: Node) -> Context:
    """Gather what a task may know. What must be fetched from the engine is fetched when it is asked for."""
    dag_run = DagRun(order.run)
    ti = RuntimeTaskInstance(order, cast(BaseOperator, task), dag_run)
    known: dict[str, Any] = {
        "conn": ConnectionAccessor(),
        "dag": task.dag,
        "dag_run": dag_run,
        "data_interval_end": dag_run.data_interval_end,
        "data_interval_start": dag_run.data_interval_start,
        "inlets": list(task.inlets or ()),
        "logical_date": dag_run.logical_date,
        "macros": macros,
        "map_index_template": task.map_index_template,
        "outlets": list(task.outlets or ()),
        "params": params_of(task, dag_run).dump(),
        "run_id": dag_run.run_id,
        "start_date": ti.start_date,
        "task": task,
        "task_instance": ti,
        "task_instance_key_str": ti.key,
        "templates_dict": None,
        "ti": ti,
        "try_number": ti.try_number,
        "var": VariableAccessor(),
        **_dates(dag_run),
    }
    context = cast(Context, LazyContext(known, _of_previous_run(ti)))
    ti.context = context
    return context


def params_of(task: Node, dag_run: DagRun) -> ParamsDict:
    """Gather the params of the DAG, those of the task, and what somebody has said about this run."""
    params = ParamsDict(task.dag.params)
    params.update(ParamsDict(task.params).params())
    params.update(dag_run.conf)
    return params


def _dates(dag_run: DagRun) -> dict[str, Any]:
    date = dag_run.logical_date
    if date is None:
        return {}
    ds, ts = date.strftime("%Y-%m-%d"), date.isoformat()
    return {
        "ds": ds,
        "ds_nodash": ds.replace("-", ""),
        "ts": ts,
        "ts_nodash": date.strftime("%Y%m%dT%H%M%S"),
        "ts_nodash_with_tz": ts.replace("-", "").replace(":", ""),
    }


def _of_previous_run(ti: RuntimeTaskInstance) -> dict[str, Callable[[], Any]]:
    @cache
    def previous() -> DagRun | None:
        return ti.get_previous_dagrun(RunState.SUCCESS)

    def fetch(name: str) -> Callable[[], Any]:
        return lambda: getattr(previous(), name, None)

    return {
        f"prev_{name}_success": fetch(name)
        for name in ("data_interval_start", "data_interval_end", "start_date", "end_date")
    }
