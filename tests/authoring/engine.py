"""The other side of the socket, in memory: it answers what legs ask, and remembers what they leave."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bide.errors import BideError
from bide.model import questions as m
from bide.model.messages import RunFacts
from bide.model.states import TaskState

At = tuple[str, str, str, int, str]


class Refusal(BideError):
    """The engine does not do what it is asked for."""


@dataclass
class OtherRun:
    """A run of another DAG, as a leg may ask about it."""

    state: str
    logical_date: datetime | None = None
    facts: RunFacts | None = None


@dataclass
class Engine:
    """A port for one run of one DAG. `leg_is_ours` is false once the leg has been taken away."""

    leg: tuple[str, str, str, int] = ("", "", "", -1)
    leg_is_ours: bool = True
    xcoms: dict[At, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    connections: dict[str, str] = field(default_factory=dict)
    runs: dict[tuple[str, str], OtherRun] = field(default_factory=dict)
    dags: dict[str, Sequence[str]] = field(default_factory=dict)
    instances: list[tuple[str, str, datetime | None, TaskState]] = field(default_factory=list)
    launched: list[m.LaunchRun] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)
    previous: RunFacts | None = None
    latest: bool = True
    asked: list[m.Ask] = field(default_factory=list)

    def ask(self, question: m.Ask) -> Any:
        """Answer one question."""
        self.asked.append(question)
        match question:
            case m.GetXCom() | m.GetXComs() | m.PutXCom():
                return self._xcom(question)
            case m.GetVariable(key):
                return self.variables.get(key)
            case m.PutVariable(key, value):
                self.variables[key] = value
                return True
            case m.DeleteVariable(key):
                return self.variables.pop(key, None) is not None
            case m.GetConnection(conn_id):
                return self.connections.get(conn_id)
            case m.GetPreviousRun():
                return self.previous
            case m.IsLatestRun():
                return self.latest
            case _:
                return self._about_runs(question)

    def _xcom(self, question: m.GetXCom | m.GetXComs | m.PutXCom) -> Any:
        match question:
            case m.PutXCom(key=key, value=value):
                if self.leg_is_ours:
                    self.xcoms[*self.leg, key] = value
                return self.leg_is_ours
            case m.GetXCom(dag_id=dag, run_id=run, task_id=task, map_index=index, key=key):
                return self.xcoms.get((dag, run, task, index, key))
            case _:
                wanted = (question.dag_id, question.run_id, question.task_id, question.key)
                found = {at[3]: text for at, text in self.xcoms.items() if (*at[:3], at[4]) == wanted}
                return [found[index] for index in sorted(found)]

    def _about_runs(self, question: m.Ask) -> Any:
        match question:
            case m.LaunchRun(dag_id=dag, run_id=run) if run is not None:
                if dag not in self.dags:
                    raise Refusal(f"There is no DAG {dag!r}.")
                if (dag, run) in self.runs:
                    return None
                self.launched.append(question)
                self.runs[dag, run] = OtherRun("success", question.logical_date)
                return run
            case m.ClearRun(_, run):
                self.cleared.append(run)
                return 1
            case m.GetRun(dag_id=dag, run_id=run, logical_date=date):
                return next(
                    (
                        it.state
                        for (its_dag, its_id), it in self.runs.items()
                        if its_dag == dag and (its_id == run or (date is not None and it.logical_date == date))
                    ),
                    None,
                )
            case m.GetTasks(dag_id=dag, group_id=group):
                tasks = self.dags.get(dag)
                if tasks is None or group is None:
                    return tasks
                return [task for task in tasks if task.startswith(f"{group}.")] or None
            case m.CountTasks(dag_id=dag, states=states, task_ids=tasks, logical_dates=dates):
                return sum(
                    its_dag == dag
                    and state in states
                    and (tasks is None or task in tasks)
                    and (dates is None or date in dates)
                    for its_dag, task, date, state in self.instances
                )
        raise AssertionError(f"nobody has asked this before: {question}")
