"""Bide: a workflow engine in which waiting is free.

What DAG files import from here is loaded when it is first asked for: services import parts of this package too,
and none of them may ever load what is there for an author's code.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bide.authoring import (
        DAG,
        Asset,
        BaseBranchOperator,
        BaseHook,
        BaseNotifier,
        BaseOperator,
        BaseSensorOperator,
        BaseTrigger,
        Connection,
        Context,
        CronDataIntervalTimetable,
        CronTriggerTimetable,
        DagRunState,
        DeltaDataIntervalTimetable,
        DeltaTriggerTimetable,
        Label,
        MultipleCronTriggerTimetable,
        Param,
        ParamsDict,
        PokeReturnValue,
        PollingTrigger,
        StartTriggerArgs,
        TaskDeferred,
        TaskFailedEvent,
        TaskGroup,
        TaskInstanceState,
        TaskSkippedEvent,
        TaskSuccessEvent,
        Timer,
        TriggerEvent,
        TriggerRule,
        Variable,
        WeightRule,
        XComArg,
        chain,
        chain_linear,
        conf,
        cross_downstream,
        dag,
        defer,
        get_current_context,
        get_parsing_context,
        literal,
        macros,
        task_group,
        utcnow,
    )
    from bide.taskflow import task

__version__ = "0.1.0"

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
    "DagRunState",
    "DeltaDataIntervalTimetable",
    "DeltaTriggerTimetable",
    "Label",
    "MultipleCronTriggerTimetable",
    "Param",
    "ParamsDict",
    "PokeReturnValue",
    "PollingTrigger",
    "StartTriggerArgs",
    "TaskDeferred",
    "TaskFailedEvent",
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
    "chain",
    "chain_linear",
    "conf",
    "cross_downstream",
    "dag",
    "defer",
    "get_current_context",
    "get_parsing_context",
    "literal",
    "macros",
    "task",
    "task_group",
    "utcnow",
]

_NOT_YET = {
    **dict.fromkeys(("setup", "teardown"), "put tasks in order with >> and give the last trigger_rule='all_done'"),
    **dict.fromkeys(
        ("AssetAlias", "AssetAll", "AssetAny", "AssetOrTimeSchedule", "AssetWatcher", "asset"),
        "launch the other DAG with a TriggerDagRunOperator",
    ),
    "EventsTimetable": "write the schedule as a cron line or a timedelta",
    "BaseOperatorLink": "write addresses into the log of the task",
    **dict.fromkeys(("DeadlineAlert", "DeadlineReference"), "use dagrun_timeout and execution_timeout"),
    "ObjectStoragePath": "use pathlib, or the library of your storage",
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        found = getattr(import_module("bide.taskflow" if name == "task" else "bide.authoring"), name)
        globals()[name] = found
        return found
    if name in _NOT_YET:
        raise ImportError(f"bide has no {name} yet; {_NOT_YET[name]}.")
    raise AttributeError(f"module 'bide' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
