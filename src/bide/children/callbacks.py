"""Calling what an author wants to be called after a try or a run: in a child, as all code of the author."""

from __future__ import annotations

import logging

from bide.authoring.context import set_current
from bide.authoring.dag import DAG
from bide.authoring.instance import DagRun
from bide.authoring.plan import CALLBACKS
from bide.authoring.port import Port, answering
from bide.children.context import build_context, params_of
from bide.children.limits import limited
from bide.children.log import task_log
from bide.children.outcomes import outcome_of
from bide.children.run import call_back, find_task
from bide.exceptions import TaskError
from bide.model.messages import RunCallback
from bide.model.outcome import Failed, Outcome, Succeeded
from bide.model.plan import Callback
from bide.model.states import TaskState

log = logging.getLogger("bide.task")

ENDS = {
    Callback.SUCCESS: TaskState.SUCCESS,
    Callback.FAILURE: TaskState.FAILED,
    Callback.RETRY: TaskState.UP_FOR_RETRY,
    Callback.SKIPPED: TaskState.SKIPPED,
}
"""How a try has ended after which somebody wants to be called."""
AFTER_A_FAILURE = frozenset({Callback.FAILURE, Callback.RETRY})


def run_callback(order: RunCallback, dag: DAG, port: Port) -> Outcome:
    """Call the functions, in the context of the try that they are about, and tell how that ended."""
    with task_log(), answering(port):
        try:
            with limited(order.time_left):
                return _call(order, dag)
        except BaseException as error:
            return outcome_of(error)
        finally:
            set_current(None)


def _call(order: RunCallback, dag: DAG) -> Outcome:
    found, dag_run = find_task(order.leg, dag), DagRun(order.run)
    context = build_context(order.leg, found, dag_run, params_of(found, dag_run.conf))
    set_current(context)
    if not order.of_run:
        context["ti"].state = ENDS[order.kind]
    context["reason"] = order.reason
    if order.kind in AFTER_A_FAILURE:
        context["exception"] = TaskError(order.reason or "it failed")
    log.info("Calling %s of %s.", CALLBACKS[order.kind], "the DAG" if order.of_run else "the task")
    failures = call_back(dag if order.of_run else found, order.kind, context)
    return Failed("\n".join(failures), retryable=False) if failures else Succeeded()
