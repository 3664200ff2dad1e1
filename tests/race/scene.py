"""Rows in the states in which verbs meet.

All ids and fences are fixed, and the clock stands still. So two runs of the same verbs leave exactly the same picture,
and a race can be compared with the same verbs said one after the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bide.model.states import TERMINAL

LEG, CLAIM, EPOCH, TURN = 3, 5, 7, 11
DEAD_WORKER, DEAD_TRIGGERER, WORKER, TRIGGERER = 1, 2, 3, 4
VERSION = 77

NOW = "timestamptz '2026-01-01 12:00+00'"
PAST = "timestamptz '2026-01-01 11:00+00'"

Columns = Mapping[str, str]
"""Columns of a row, each with its value as SQL."""


@dataclass(frozen=True)
class Subject:
    """The rows that a verb is about: a task instance, its run, its wait, and a process. Beside it stands a neighbour,
    another task of the same run that is done."""

    task: int
    run: int
    wait: int
    job: int

    @property
    def neighbour(self) -> int:
        return self.task + 1


# The later task has the earlier wait, so that locking each wait right after its task would be noticed.
FIRST = Subject(task=1, run=1, wait=30, job=6)
SECOND = Subject(task=3, run=2, wait=10, job=8)


@dataclass(frozen=True)
class Spot:
    """Where verbs meet: what the subject's rows look like."""

    name: str
    kind: str
    task: Columns = field(default_factory=dict)
    wait: Columns | None = None
    run: Columns = field(default_factory=dict)
    kill: Columns | None = None
    job: Columns | None = None
    call: Columns | None = None

    def __str__(self) -> str:
        return self.name


Scene = Sequence[tuple[Spot, Subject]]

_BEGUN = {"start_date": PAST, "try_number": "1"}
_CHILD = {"worker_id": str(DEAD_WORKER), "child_leg": str(LEG)}
_TAKEN_AWAY = {**_BEGUN, **_CHILD, "leg": str(LEG + 1)}
_DONE = {"state": "'success'", "end_date": PAST}
_RESUMES = {"next_method": "'go_on'", "next_kwargs": """'{"a": 1}'"""}

RUNNING = {**_BEGUN, **_CHILD, "state": "'running'"}
DEFERRED = {**_BEGUN, **_RESUMES, "state": "'deferred'", "trigger_id": "{wait}", "trigger_timeout": PAST}
HELD = {"triggerer_id": str(DEAD_TRIGGERER)}
FREE: Columns = {}
_CALLED = {"state": "'running'", "worker_id": str(DEAD_WORKER)}
PARKED = {"parked_until": PAST, "parked_why": "'no code'"}
TIMER = {"due_at": PAST, "event": "'1'", "on_kill": "false"}

SPOTS = (
    Spot("none", "task", {"state": "'none'"}),
    Spot("restarting", "task", {"state": "'restarting'"}),
    Spot("restarting, child not gone", "task", {**_TAKEN_AWAY, "state": "'restarting'", "start_date": "null"}),
    Spot("scheduled", "task", {"state": "'scheduled'"}),
    Spot("scheduled to go on", "task", {**_BEGUN, **_RESUMES, "state": "'scheduled'"}),
    Spot("scheduled to fail", "task", {**_BEGUN, "state": "'scheduled'", "next_method": "'__fail__'"}),
    Spot("queued", "task", {"state": "'queued'"}),
    Spot("running", "task", RUNNING),
    Spot("deferred, held", "task", DEFERRED, HELD),
    Spot("deferred, free", "task", DEFERRED, FREE),
    Spot("deferred, parked", "task", DEFERRED, PARKED),
    Spot("deferred, timer", "task", DEFERRED, TIMER),
    Spot("deferred, timer that ends", "task", DEFERRED, {**TIMER, "ends": "true"}),
    Spot("up for retry", "task", {**_BEGUN, "state": "'up_for_retry'", "wake_at": PAST}),
    Spot("up for reschedule", "task", {**_BEGUN, "state": "'up_for_reschedule'", "wake_at": PAST}),
    Spot("shutdown", "task", {**_BEGUN, **_CHILD, "state": "'shutdown'"}),
    *(
        Spot(f"{state}, child not gone", "task", {**_TAKEN_AWAY, "state": f"'{state}'", "end_date": PAST})
        for state in sorted(TERMINAL)
    ),
    Spot("forsaken, held", "wait", _DONE, HELD),
    Spot("forsaken, free", "wait", _DONE, FREE),
    Spot("forsaken, parked", "wait", _DONE, PARKED),
    Spot("none, a neighbour is rewritten", "epoch", {"state": "'none'"}),
    Spot("restarting, a neighbour is rewritten", "epoch", {"state": "'restarting'"}),
    Spot("kill", "kill", {"state": "'none'"}, kill={}),
    Spot("callback, pending", "callback", _DONE, call={}),
    Spot("callback, running", "callback", _DONE, call={**_CALLED, "deadline": PAST}),
    Spot("run waits", "run", _DONE, run={"state": "'queued'", "start_date": "null"}),
    Spot("run is done", "run", _DONE),
    Spot("run is late", "run", _DONE, run={"timeout_at": PAST}),
    Spot("silent process", "job", _DONE, job={}),
)

ONCE = f"""
update clock set frozen_at = {NOW};
insert into dag (dag_id) values ('d');
insert into dag_version (id, dag_id, number, plan, created_at) overriding system value
    values ({VERSION}, 'd', 1, '{{}}', {PAST});
insert into job (id, job_type, state, hostname, start_date, latest_heartbeat, end_date, heartbeat_sec)
overriding system value values
    ({DEAD_WORKER}, 'WorkerJob', 'failed', 'h', {PAST}, {PAST}, {PAST}, 5),
    ({DEAD_TRIGGERER}, 'TriggererJob', 'failed', 'h', {PAST}, {PAST}, {PAST}, 5),
    ({WORKER}, 'WorkerJob', 'running', 'h', {PAST}, {NOW}, null, 5),
    ({TRIGGERER}, 'TriggererJob', 'running', 'h', {PAST}, {NOW}, null, 5);
"""

_EMPTY = f"""
delete from history; delete from kill; delete from callback; delete from look; delete from xcom;
delete from task_instance; delete from trigger;
delete from dag_run; delete from job where id > {TRIGGERER}; update turn set number = {TURN};
"""


def script(scene: Scene) -> str:
    """Return the SQL that leaves nothing in the database but this scene."""
    return _EMPTY + "".join(_rows(spot, subject) for spot, subject in scene)


def _rows(spot: Spot, s: Subject) -> str:
    run = {"dag_id": "'d'", "run_id": f"'r{s.run}'"}
    task = {**run, "dag_run_id": str(s.run), "callbacks": "'{success,failure,retry,skipped}'", "retries": "1"}
    rows = _insert(
        "dag_run",
        {"id": str(s.run), **run, "state": "'running'", "epoch": str(EPOCH), "queued_at": PAST, "start_date": PAST},
        spot.run,
    )
    if spot.wait is not None:
        wait = {"id": "{wait}", "classpath": "'a.T'", "kwargs": "'sealed'", "created_date": PAST}
        rows += _insert("trigger", {**wait, "claim": str(CLAIM), "on_kill": "true"}, spot.wait)
    rows += _insert("task_instance", {**task, "id": str(s.task), "task_id": "'t{task}'", "leg": str(LEG)}, spot.task)
    rows += _insert("task_instance", {**task, "id": str(s.neighbour), "task_id": "'n{task}'"}, _DONE)
    if spot.kill is not None:
        kill = {"trigger_id": "{wait}", "task_instance_id": str(s.task), "classpath": "'a.T'", "kwargs": "'sealed'"}
        asked = {"reason": "'cleared'", "asked_at": PAST, "deadline": PAST}
        rows += _insert("kill", {**kill, **asked, **HELD, "claim": str(CLAIM), "taken": "true"}, spot.kill)
    if spot.call is not None:
        call = {"id": "{wait}", "task_instance_id": str(s.task), "callback_type": "'failure'", "created_at": PAST}
        rows += _insert("callback", {**call, "claim": str(CLAIM)}, spot.call)
    if spot.job is not None:
        job = {"id": str(s.job), "job_type": "'WorkerJob'", "hostname": "'h'", "heartbeat_sec": "5"}
        alive = {"start_date": PAST, "latest_heartbeat": PAST, "holds_lock": "true"}
        rows += _insert("job", {**job, **alive}, spot.job)
    return rows.replace("{wait}", str(s.wait)).replace("{task}", str(s.task))


def _insert(table: str, usual: Columns, special: Columns) -> str:
    columns = {**usual, **special}
    return (
        f"insert into {table} ({', '.join(columns)}) overriding system value values ({', '.join(columns.values())})"
        " on conflict do nothing;\n"
    )
