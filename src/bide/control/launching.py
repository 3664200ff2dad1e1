"""A run, because somebody wants it: a person, another task, or a test."""

from datetime import datetime
from typing import Any

import jsonschema
import msgspec

from bide.control.known import version_of
from bide.errors import Refusal
from bide.model.instances import new_tasks
from bide.model.plan import DagPlan
from bide.model.timetable import manual_interval, run_id_for
from bide.model.wait import is_name
from bide.store import runs
from bide.store.database import Database
from bide.store.runs import NewRun


async def launch(
    db: Database,
    who: str,
    dag_id: str,
    *,
    run_id: str | None = None,
    logical_date: datetime | None = None,
    conf: dict[str, Any] | None = None,
) -> str | None:
    """Launch a run of the latest version; gives its name, or None if there is one of that name or date already."""
    version, plan = await version_of(db, dag_id)
    if version.is_gone:
        raise Refusal(f"DAG {dag_id!r} is in no file any more, so it cannot be launched; bring its file back first.")
    check_params(plan, conf or {})
    moment = logical_date or version.now
    name = run_id or run_id_for("manual", moment)
    if not is_name(name):
        raise Refusal(f"The run id {name[:100]!r} must be printable and have 1 to 250 bytes.")
    interval = manual_interval(plan, moment)
    run = NewRun(name, moment, interval.start, interval.end, msgspec.json.encode(conf).decode() if conf else None)
    made = await runs.launch(db, who, dag_id, version.id, "manual", plan.dagrun_timeout, [run], new_tasks(plan))
    return name if made else None


def check_params(plan: DagPlan, conf: dict[str, Any]) -> None:
    """Refuse what the DAG's params do not allow, in one sentence for each."""
    problems = []
    for name, param in plan.params.items():
        if name not in conf:
            if param.required:
                problems.append(f"{name} must be given.")
            continue
        error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(param.schema).iter_errors(conf[name]))
        if error is not None:
            problems.append(f"{name}: {error.message}.")
    if problems:
        raise Refusal(f"DAG {plan.dag_id!r} does not take this configuration. {' '.join(problems)}")
