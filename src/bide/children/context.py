"""Building the context of a leg from what the worker has said about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

# Made once for all legs: what is made in each child changes memory that is then copied for it.
_LATER: Mapping[str, Callable[[RuntimeTaskInstance], Any]] = {
    "data_interval_end": lambda ti: ti.dag_run.data_interval_end,
    "data_interval_start": lambda ti: ti.dag_run.data_interval_start,
    "logical_date": lambda ti: ti.dag_run.logical_date,
    "start_date": lambda ti: ti.start_date,
    "prev_data_interval_end_success": lambda ti: getattr(ti.last_success, "data_interval_end", None),
    "prev_data_interval_start_success": lambda ti: getattr(ti.last_success, "data_interval_start", None),
    "prev_end_date_success": lambda ti: getattr(ti.last_success, "end_date", None),
    "prev_start_date_success": lambda ti: getattr(ti.last_success, "start_date", None),
}
_LATER_WITH_DATE: Mapping[str, Callable[[RuntimeTaskInstance], Any]] = {
    **_LATER,
    "ds": lambda ti: _date(ti).strftime("%Y-%m-%d"),
    "ds_nodash": lambda ti: _date(ti).strftime("%Y%m%d"),
    "ts": lambda ti: _date(ti).isoformat(),
    "ts_nodash": lambda ti: _date(ti).strftime("%Y%m%dT%H%M%S"),
    "ts_nodash_with_tz": lambda ti: _date(ti).isoformat().replace("-", "").replace(":", ""),
}


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
    later = _LATER_WITH_DATE if dag_run.has_logical_date else _LATER
    context = cast(Context, LazyContext(known, later, ti))
    ti.context = context
    return context


def params_of(task: Node, conf: dict[str, Any]) -> ParamsDict:
    """Gather the params of the DAG, those of the task, and what somebody has said about this run."""
    params = ParamsDict(task.dag.params)
    params.update(ParamsDict(task.params).params())
    params.update(conf)
    return params


def _date(ti: RuntimeTaskInstance) -> DateTime:
    return cast(DateTime, ti.dag_run.logical_date)
