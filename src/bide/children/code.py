"""Where the children find the code that turns a file into DAGs and plans, and runs a leg of them.

A module with these functions is named on the command line of `bide.children.warm` and `bide.children.parser`; this is
the one that is used.
"""

import logging
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import import_module

from bide.authoring import DAG
from bide.authoring.collect import Collected, collect
from bide.authoring.plan import to_plan
from bide.authoring.port import answering
from bide.children import run
from bide.children.callbacks import run_callback
from bide.children.log import LEVEL
from bide.children.port import SocketPort
from bide.children.rehearsal import rehearse_legs
from bide.model.messages import RunCallback, RunFacts, RunLeg
from bide.model.outcome import Outcome

__all__ = ["Collected", "answering", "collect", "load", "prepare", "rehearse", "run_leg", "to_plan"]

WHAT_FILES_IMPORT = ("bide.taskflow", "bide.operators", "bide.sensors")
SAMPLE = """
from datetime import UTC, datetime
from bide import DAG, task
from bide.operators.bash import BashOperator
from bide.operators.empty import EmptyOperator

with DAG("sample", schedule="@daily", start_date=datetime(2024, 1, 1, tzinfo=UTC)) as dag:
    @task
    def one():
        return 1

    [one(), BashOperator(task_id="two", bash_command="true")] >> EmptyOperator(task_id="three")
"""
SAMPLE_LEG = RunLeg(
    id=1,
    leg=1,
    task_id="one",
    map_index=-1,
    try_number=1,
    max_tries=0,
    run=RunFacts(dag_id="sample", run_id="run", run_type="manual", logical_date=datetime(2024, 1, 1, tzinfo=UTC)),
    now=datetime(2024, 1, 1, tzinfo=UTC),
)
SAMPLE_FOLDER = os.path.join(os.sep, "no", "folder", "of", "anybody")
TIMES = 20


def prepare() -> None:
    """Import what most files need, and do once what each of them does, before processes are forked.

    What runs for the first time is slow, and what it changes in memory is copied for each process that runs it.
    """
    for module in WHAT_FILES_IMPORT:
        import_module(module)
    for _ in range(TIMES):
        for dag in collect(os.path.join(SAMPLE_FOLDER, "sample.py"), SAMPLE_FOLDER, SAMPLE).dags.values():
            to_plan(dag)
    sys.path[:] = [path for path in sys.path if path != SAMPLE_FOLDER]


def rehearse() -> None:
    """Do once what each file and each leg does, before it is known which file and which legs those are."""
    for module in WHAT_FILES_IMPORT:
        import_module(module)
    # A change of it makes every logger forget what it knows.
    logging.getLogger().setLevel(LEVEL)
    dags = load(os.path.join(SAMPLE_FOLDER, "sample.py"), SAMPLE_FOLDER, SAMPLE)
    rehearse_legs(SAMPLE_LEG, dags, run_leg, TIMES)
    sys.path[:] = [path for path in sys.path if path != SAMPLE_FOLDER]


def run_leg(order: RunLeg | RunCallback, dag: DAG, port: SocketPort) -> Outcome:
    """Run a leg of a task, or call what is to be called after one."""
    return run_callback(order, dag, port) if isinstance(order, RunCallback) else run.run_leg(order, dag, port)


def load(path: str, root: str, source: str) -> Mapping[str, DAG]:
    """Import a DAG file from its source and return its DAGs by id."""
    dags = collect(path, root, source).dags
    for dag in dags.values():
        # Made now, not anew in each child.
        _ = dag.templates
    return dags
