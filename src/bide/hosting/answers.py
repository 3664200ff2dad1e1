"""Answering what an author's code asks: from the database, or for connections and variables from the environment.

What is secret in an answer is known to the log of whoever asks before the answer is given.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

from msgspec.structs import replace

from bide.control import launching
from bide.control.known import version_of
from bide.errors import BideError, Unknown
from bide.model import questions as q
from bide.model.graph import tasks_in_group
from bide.model.messages import Answer, RunFacts
from bide.model.timetable import Interval, next_run
from bide.process.masking import Masker, secrets_of_connection, secrets_of_variable
from bide.process.wakes import Bells
from bide.sealing import Sealer, connection, variable
from bide.store import children, people
from bide.store.database import Database
from bide.store.rows import Leg
from bide.store.wake import Channel


class Refusal(Exception):
    """There is no answer; the text says why to the author of the task."""


class Asker(Protocol):
    """Who asks: a leg of a task, or what a deferred task waits for."""

    @property
    def who(self) -> str:
        """Its name in the history."""

    @property
    def key(self) -> Leg | None:
        """The leg whose XComs it may leave at once, if it is one."""

    @property
    def masker(self) -> Masker:
        """What keeps secrets out of its log."""

    @property
    def logical_date(self) -> datetime | None:
        """The date that its run stands for."""

    @property
    def data_interval(self) -> Interval | None:
        """What its run is about."""


class Answers:
    """Answers questions."""

    def __init__(
        self, db: Database, bells: Bells, sealer: Sealer, environ: Mapping[str, str], kill_patience: timedelta
    ) -> None:
        self._db = db
        self._bells = bells
        self._sealer = sealer
        self._environ = environ
        self._kill_patience = kill_patience
        self._by_kind: Mapping[type, Callable[[Asker, Any], Awaitable[Any]]] = {
            q.GetXCom: self._get_xcom,
            q.GetXComs: self._get_xcoms,
            q.PutXCom: self._put_xcom,
            q.GetVariable: self._get_variable,
            q.PutVariable: self._put_variable,
            q.DeleteVariable: self._delete_variable,
            q.GetConnection: self._get_connection,
            q.LaunchRun: self._launch_run,
            q.ClearRun: self._clear_run,
            q.GetRun: self._get_run,
            q.GetPreviousRun: self._get_previous_run,
            q.CountTasks: self._count_tasks,
            q.IsLatestRun: self._is_latest_run,
            q.GetTasks: self._get_tasks,
        }

    async def answer(self, asker: Asker, question: q.Ask) -> Answer:
        """Answer one question; whatever goes wrong is said to the task, which decides what that means."""
        try:
            return Answer(await self._by_kind[type(question)](asker, question))
        except (BideError, Refusal, LookupError) as error:
            return Answer(refused=asker.masker(str(error)))
        except Exception as error:
            # The database's own words, such as that a text is no JSON.
            return Answer(refused=asker.masker(f"{type(question).__name__} failed: {error}"))

    async def _get_xcom(self, asker: Asker, asked: q.GetXCom) -> str | None:
        until = asker.logical_date
        if asked.include_prior_dates and until is not None:
            return await children.read_latest_xcom(
                self._db, asked.dag_id, until, asked.task_id, asked.map_index, asked.key
            )
        return await children.read_xcom(self._db, asked.dag_id, asked.run_id, asked.task_id, asked.map_index, asked.key)

    async def _get_xcoms(self, asker: Asker, asked: q.GetXComs) -> list[str]:
        return await children.read_xcoms(self._db, asked.dag_id, asked.run_id, asked.task_id, asked.key)

    async def _put_xcom(self, asker: Asker, asked: q.PutXCom) -> bool:
        if asker.key is None:
            raise Refusal("Only a task leaves XComs at once; a trigger leaves them with TaskSuccessEvent(xcoms=…).")
        return await children.push_xcom(self._db, asker.key.id, asker.key.leg, asked.key, asked.value)

    async def _get_variable(self, asker: Asker, asked: q.GetVariable) -> str | None:
        value = self._environ.get(q.VARIABLE_IN_ENVIRONMENT + asked.key.upper())
        if value is None:
            sealed = await children.read_variable(self._db, asked.key)
            value = None if sealed is None else self._sealer.open(sealed, variable(asked.key))
        if value is not None:
            asker.masker.learn(*secrets_of_variable(asked.key, value))
        return value

    async def _put_variable(self, asker: Asker, asked: q.PutVariable) -> bool:
        asker.masker.learn(*secrets_of_variable(asked.key, asked.value))
        sealed = self._sealer.seal(asked.value, variable(asked.key))
        await children.write_variable(self._db, asked.key, sealed, asked.description)
        return True

    async def _delete_variable(self, asker: Asker, asked: q.DeleteVariable) -> bool:
        return await children.delete_variable(self._db, asked.key)

    async def _get_connection(self, asker: Asker, asked: q.GetConnection) -> str | None:
        text = self._environ.get(q.CONNECTION_IN_ENVIRONMENT + asked.conn_id.upper())
        if text is None:
            sealed = await children.read_connection(self._db, asked.conn_id)
            text = None if sealed is None else self._sealer.open(sealed, connection(asked.conn_id))
        if text is not None:
            asker.masker.learn(*secrets_of_connection(text))
        return text

    async def _launch_run(self, asker: Asker, asked: q.LaunchRun) -> str | None:
        launched = await launching.launch(
            self._db,
            asker.who,
            asked.dag_id,
            run_id=asked.run_id,
            logical_date=asked.logical_date,
            conf=asked.conf,
        )
        if launched is None:
            return None
        self._bells.ring(Channel.SCHEDULER)
        return launched.run_id

    async def _clear_run(self, asker: Asker, asked: q.ClearRun) -> int:
        tasks = await children.tasks_of_run(self._db, asked.dag_id, asked.run_id)
        if not tasks:
            raise Refusal(f"DAG {asked.dag_id!r} has no run {asked.run_id!r} that could be cleared.")
        cleared = await people.clear(self._db, asker.who, self._kill_patience, tasks, "a task has cleared its run")
        self._bells.ring(Channel.SCHEDULER)
        self._bells.ring(Channel.WORKER)
        self._bells.ring(Channel.TRIGGERER)
        return len(cleared)

    async def _get_run(self, asker: Asker, asked: q.GetRun) -> str | None:
        if asked.run_id is None and asked.logical_date is None:
            raise Refusal("A run is known by its run_id or its logical_date; give one of them.")
        return await children.run_state(self._db, asked.dag_id, asked.run_id, asked.logical_date)

    async def _get_previous_run(self, asker: Asker, asked: q.GetPreviousRun) -> RunFacts | None:
        return await children.previous_run(self._db, asked.dag_id, asked.before, asked.state)

    async def _count_tasks(self, asker: Asker, asked: q.CountTasks) -> int:
        return await children.count_tasks(
            self._db, asked.dag_id, asked.states, asked.task_ids, asked.run_ids, asked.logical_dates
        )

    async def _is_latest_run(self, asker: Asker, asked: q.IsLatestRun) -> bool:
        """A run is the latest until the one after it is due by the schedule."""
        version, plan = await version_of(self._db, asked.dag_id)
        if asker.data_interval is None:
            return True
        following = next_run(replace(plan, catchup=True), asker.data_interval, version.now)
        return following is None or following.due_at > version.now

    async def _get_tasks(self, asker: Asker, asked: q.GetTasks) -> list[str] | None:
        try:
            _, plan = await version_of(self._db, asked.dag_id)
        except Unknown:
            return None
        if asked.group_id is None:
            return [task.task_id for task in plan.tasks]
        return tasks_in_group(plan, asked.group_id)
