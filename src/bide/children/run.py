"""Running one leg of a task: a pipeline of small steps from the worker's order to the outcome."""

from __future__ import annotations

import logging
from typing import Any, cast

from bide.authoring.context import Context, set_current
from bide.authoring.dag import DAG
from bide.authoring.deferring import AGAIN
from bide.authoring.instance import DagRun
from bide.authoring.mapping import MappedOperator
from bide.authoring.node import Node
from bide.authoring.operator import BaseOperator
from bide.authoring.plan import CALLBACKS
from bide.authoring.port import Port, answering
from bide.authoring.starting import start_in_trigger
from bide.authoring.traces import told, trace_of
from bide.authoring.values import VALUES
from bide.children.context import build_context, params_of
from bide.children.limits import limited
from bide.children.log import task_log
from bide.children.outcomes import outcome_of, success
from bide.exceptions import TaskFailed, TaskTerminated, TaskTimeout
from bide.model.messages import RunLeg
from bide.model.outcome import Outcome, Skipped
from bide.model.plan import Callback

log = logging.getLogger("bide.task")


def run_leg(order: RunLeg, dag: DAG, port: Port) -> Outcome:
    """Run one leg, whatever the author's code does, and tell how it ended. Saving that is the worker's part."""
    with task_log(), answering(port):
        try:
            with limited(order.try_time_left):
                outcome = _run(order, dag)
        except BaseException as error:
            outcome = outcome_of(error)
        finally:
            set_current(None)
        if isinstance(outcome, Skipped):
            log.info("Skipped: %s", outcome.reason)
        return outcome


def _run(order: RunLeg, dag: DAG) -> Outcome:
    task, context = prepare(order, dag)
    try:
        if order.next_method is None:
            call_back(task, Callback.EXECUTE, context)
        returned = go(task, order, context)
        return success(task, context["ti"], returned)
    except (TaskTimeout, TaskTerminated, KeyboardInterrupt):
        _on_kill(task)
        raise


def prepare(order: RunLeg, dag: DAG) -> tuple[BaseOperator, Context]:
    """Make the operator of this leg, with the values of this run in its arguments."""
    found, dag_run = find_task(order, dag), DagRun(order.run)
    params = params_of(found, dag_run.conf)
    context = build_context(order, found, dag_run, params)
    set_current(context)
    task = instance_of(found, order, context)
    context["task"] = context["ti"].task = task
    params.validate()
    task.render_template_fields(context)
    return task, context


def find_task(order: RunLeg, dag: DAG) -> Node:
    """Find the task in the DAG as it is now."""
    if not dag.has_task(order.task_id):
        raise TaskFailed(f"DAG {dag.dag_id!r} has no task {order.task_id!r} any more.")
    return dag.get_task(order.task_id)


def instance_of(found: Node, order: RunLeg, context: Context) -> BaseOperator:
    """Make an operator that this leg may change: a copy, or one instance of a mapped task."""
    if isinstance(found, MappedOperator):
        return found.unmap(context, order.map_index)
    return cast(BaseOperator, found).for_one_leg()


def go(task: BaseOperator, order: RunLeg, context: Context) -> Any:
    """Execute the task, or go on in the method that an earlier leg has named."""
    given = {} if order.next_kwargs is None else VALUES.decode(order.next_kwargs)
    context["event"] = given.get("event")
    if order.next_method is None or order.next_method == AGAIN:
        task.pre_execute(context)
    if order.next_method is None and task.start_from_trigger:
        start_in_trigger(task, context)
    if order.next_method is None:
        returned = task.execute(context)
    else:
        returned = task.resume_execution(order.next_method, given, context)
    task.post_execute(context, returned)
    return returned


def _on_kill(task: BaseOperator) -> None:
    try:
        task.on_kill()
    except Exception as error:
        task.log.error("on_kill has failed too:\n%s", trace_of(error))


def call_back(task: BaseOperator | Node | DAG, kind: Callback, context: Context) -> list[str]:
    """Call the functions that somebody wants to be called at this moment. Their failures are logged, and returned."""
    failures = []
    for function in getattr(task, CALLBACKS[kind], None) or ():
        try:
            function(context)
        except Exception as error:
            log.error("%s has failed:\n%s", CALLBACKS[kind], trace_of(error) or told(error))
            failures.append(told(error))
    return failures
