"""What a DAG file is written with. Operators and sensors are written with the names of this page, and no others."""

from bide.authoring import macros
from bide.authoring.arguments import OperatorArguments, TaskArguments
from bide.authoring.asset import Asset
from bide.authoring.branching import BaseBranchOperator, follow
from bide.authoring.calling import call_with_context, seen_from, takes
from bide.authoring.clock import rest, utcnow
from bide.authoring.conf import conf
from bide.authoring.connection import BaseHook, Connection
from bide.authoring.context import Context, get_current_context, get_parsing_context
from bide.authoring.dag import DAG
from bide.authoring.dagflow import dag
from bide.authoring.decorated import TaskFunction
from bide.authoring.deferring import TaskDeferred, defer
from bide.authoring.engine import (
    acount_tasks,
    arun_state,
    atask_ids,
    clear_run,
    count_tasks,
    is_latest_run,
    launch_run,
    run_state,
    task_ids,
)
from bide.authoring.group import TaskGroup, task_group
from bide.authoring.instance import DagRun, RuntimeTaskInstance
from bide.authoring.mapping import MappedOperator
from bide.authoring.notifier import BaseNotifier
from bide.authoring.operator import BaseOperator
from bide.authoring.params import Param, ParamsDict
from bide.authoring.place import mistake, near
from bide.authoring.polling import PokeTrigger, PollingTrigger
from bide.authoring.recipe import Recipe, made_from, needs_dag_files, recipe_of
from bide.authoring.reference import literal
from bide.authoring.relations import Label, chain, chain_linear, cross_downstream
from bide.authoring.schedule import (
    CronDataIntervalTimetable,
    CronTriggerTimetable,
    DeltaDataIntervalTimetable,
    DeltaTriggerTimetable,
    MultipleCronTriggerTimetable,
)
from bide.authoring.sensor import BaseSensorOperator, PokeReturnValue, SensorArguments
from bide.authoring.shell import Shell, environment
from bide.authoring.trigger import (
    BaseTrigger,
    StartTriggerArgs,
    TaskFailedEvent,
    TaskSkippedEvent,
    TaskSuccessEvent,
    Timer,
    TriggerEvent,
)
from bide.authoring.variable import Variable
from bide.authoring.xcomarg import XComArg
from bide.model.plan import WeightRule
from bide.model.states import RunState as DagRunState
from bide.model.states import TaskState as TaskInstanceState
from bide.model.trigger_rules import TriggerRule

__all__ = [
    "DAG",
    "Asset",
    "BaseBranchOperator",
    "BaseHook",
    "BaseNotifier",
    "BaseOperator",
    "BaseSensorOperator",
    "BaseTrigger",
    "Connection",
    "Context",
    "CronDataIntervalTimetable",
    "CronTriggerTimetable",
    "DagRun",
    "DagRunState",
    "DeltaDataIntervalTimetable",
    "DeltaTriggerTimetable",
    "Label",
    "MappedOperator",
    "MultipleCronTriggerTimetable",
    "OperatorArguments",
    "Param",
    "ParamsDict",
    "PokeReturnValue",
    "PokeTrigger",
    "PollingTrigger",
    "Recipe",
    "RuntimeTaskInstance",
    "SensorArguments",
    "Shell",
    "StartTriggerArgs",
    "TaskArguments",
    "TaskDeferred",
    "TaskFailedEvent",
    "TaskFunction",
    "TaskGroup",
    "TaskInstanceState",
    "TaskSkippedEvent",
    "TaskSuccessEvent",
    "Timer",
    "TriggerEvent",
    "TriggerRule",
    "Variable",
    "WeightRule",
    "XComArg",
    "acount_tasks",
    "arun_state",
    "atask_ids",
    "call_with_context",
    "chain",
    "chain_linear",
    "clear_run",
    "conf",
    "count_tasks",
    "cross_downstream",
    "dag",
    "defer",
    "environment",
    "follow",
    "get_current_context",
    "get_parsing_context",
    "is_latest_run",
    "launch_run",
    "literal",
    "macros",
    "made_from",
    "mistake",
    "near",
    "needs_dag_files",
    "recipe_of",
    "rest",
    "run_state",
    "seen_from",
    "takes",
    "task_group",
    "task_ids",
    "utcnow",
]
