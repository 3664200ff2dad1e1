"""Building the context of a leg from what the worker has said about it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

from pendulum import DateTime

from bide.authoring import macros
from bide.authoring.accessors import ConnectionAccessor, VariableAccessor
from bide.authoring.context import Context, LazyContext
from bide.authoring.instance import DagRun, RuntimeTaskInstance
from bide.authoring.node import Node
from bide.authoring.operator import BaseOperator
from bide.authoring.params import ParamsDict
from bide.model.messages import RunLeg
from bide.model.states import RunState


def build_context(order: RunLeg, task: Node, dag_run: DagRun, params: ParamsDict) -> Context:
    """Gather what a task may know. What takes time is made, or asked of the engine, when somebody wants it."""
    ti = RuntimeTaskInstance(order, cast(BaseOperator, task), dag_run)
    known: dict[str, Any] = {
        "conn": ConnectionAccessor(),
        "dag": task.dag,
        "dag_run": dag_run,
        "inlets": list(task.inlets or ()),
        "macros": macros,
        "map_index_template": task.map_index_template,
        "outlets": list(task.outlets or ()),
        "params": params.dump(),
        "run_id": dag_run.run_id,
        "task": task,
        "task_instance": ti,
        "task_instance_key_str": ti.key,
        "templates_dict": None,
        "ti": ti,
        "try_number": ti.try_number,
        "var": VariableAccessor(),
    }
    later: dict[str, Callable[[], Any]] = {
        "data_interval_end": lambda: dag_run.data_interval_end,
        "data_interval_start": lambda: dag_run.data_interval_start,
        "logical_date": lambda: dag_run.logical_date,
        "start_date": lambda: ti.start_date,
        **_of_previous_run(ti),
    }
    if dag_run.has_logical_date:
        later |= _of_date(dag_run)
    context = cast(Context, LazyContext(known, later))
    ti.context = context
    return context


def params_of(task: Node, conf: dict[str, Any]) -> ParamsDict:
    """Gather the params of the DAG, those of the task, and what somebody has said about this run."""
    params = ParamsDict(task.dag.params)
    params.update(ParamsDict(task.params).params())
    params.update(conf)
    return params


def _of_date(dag_run: DagRun) -> dict[str, Callable[[], str]]:
    def date() -> DateTime:
        return cast(DateTime, dag_run.logical_date)

    return {
        "ds": lambda: date().strftime("%Y-%m-%d"),
        "ds_nodash": lambda: date().strftime("%Y%m%d"),
        "ts": lambda: date().isoformat(),
        "ts_nodash": lambda: date().strftime("%Y%m%dT%H%M%S"),
        "ts_nodash_with_tz": lambda: date().isoformat().replace("-", "").replace(":", ""),
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
