"""A run, because somebody wants it: a person, or the code of a task."""

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
from bide.store.runs import Launched, NewRun


async def launch(
    db: Database,
    who: str,
    dag_id: str,
    *,
    run_id: str | None = None,
    logical_date: datetime | None = None,
    conf: str | None = None,
) -> Launched | None:
    """Launch a run of the latest version; None if there is one of that name already. `conf` is JSON."""
    version, plan = await version_of(db, dag_id)
    if version.is_gone:
        raise Refusal(f"DAG {dag_id!r} is in no file any more, so it cannot be launched; bring its file back first.")
    check_params(plan, conf)
    moment = logical_date or version.now
    name = run_id or run_id_for("manual", moment)
    if not is_name(name):
        raise Refusal(f"The run id {name[:100]!r} must be printable and have 1 to 250 bytes.")
    interval = manual_interval(plan, moment)
    run = NewRun(name, moment, interval.start, interval.end, conf)
    made = await runs.launch(db, who, dag_id, version.id, "manual", plan.dagrun_timeout, [run], new_tasks(plan))
    return made[0] if made else None


def check_params(plan: DagPlan, conf: str | None) -> None:
    """Refuse what the DAG's params do not allow, in one sentence for each."""
    given = _read(conf)
    problems = []
    for name, param in plan.params.items():
        if name not in given:
            if param.required:
                problems.append(f"{name} must be given.")
            continue
        error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(param.schema).iter_errors(given[name]))
        if error is not None:
            problems.append(f"{name}: {error.message}.")
    if problems:
        raise Refusal(f"DAG {plan.dag_id!r} does not take this configuration. {' '.join(problems)}")


def _read(conf: str | None) -> dict[str, Any]:
    try:
        return msgspec.json.decode(conf, type=dict[str, Any]) if conf else {}
    except msgspec.MsgspecError as error:
        raise Refusal(f"The configuration of a run must be a JSON object: {error}.") from None
