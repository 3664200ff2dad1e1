"""Which waits somebody means: the options that all commands about waits share."""

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from bide.cli import completing
from bide.cli.finding import LATEST, find_run
from bide.cli.session import Session
from bide.control.known import tasks_of, version_of
from bide.store.waits import WaitFilter

Meant = Callable[[Session], WaitFilter]
"""What the options say, once the names in them can be looked up."""

Dag = Annotated[
    str | None, typer.Option("--dag", metavar="DAG", help="Only of this DAG.", autocompletion=completing.dags)
]
Run = Annotated[
    str | None,
    typer.Option(
        "--run", metavar="RUN", help="Only of this run; `latest` needs --dag.", autocompletion=completing.runs
    ),
]
Task = Annotated[
    str | None, typer.Option("--task", metavar="TASK", help="Only of this task.", autocompletion=completing.tasks)
]
Queue = Annotated[str | None, typer.Option("--queue", help="Only of this queue of triggerers; '' means of none.")]
ClassPath = Annotated[
    str | None, typer.Option("--class", metavar="CLASS", help="Only for this class, such as HttpTrigger or 'my.*'.")
]
Triggerer = Annotated[
    int | None, typer.Option("--triggerer", metavar="NO", min=1, help="Only what this triggerer holds.")
]
Unclaimed = Annotated[bool, typer.Option("--unclaimed", help="Only those that nobody holds, and that are no timers.")]
Overdue = Annotated[bool, typer.Option("--overdue", help="Only those whose timeout has passed.")]
Parked = Annotated[bool, typer.Option("--parked", help="Only those that are put aside for a while.")]


def meant(
    session: Session,
    dag_id: Dag = None,
    run_id: Run = None,
    task_id: Task = None,
    queue: Queue = None,
    classpath: ClassPath = None,
    triggerer: Triggerer = None,
    unclaimed: Unclaimed = False,
    overdue: Overdue = False,
    parked: Parked = False,
) -> WaitFilter:
    """Put together which waits somebody means; a DAG and a run must be there."""
    if run_id == LATEST and dag_id is None:
        raise typer.BadParameter("say of which DAG, with --dag.", param_hint="--run latest")
    if run_id is not None and dag_id is not None:
        run_id = session.run(find_run(session.db, dag_id, run_id)).run_id
    elif dag_id is not None:
        _, plan = session.run(version_of(session.db, dag_id))
        if task_id is not None:
            tasks_of(plan, [task_id])
    return WaitFilter(
        dag_id=dag_id,
        run_id=run_id,
        task_id=task_id,
        queue=queue,
        classpath=None if classpath is None else pattern(classpath),
        triggerer_id=triggerer,
        unclaimed=unclaimed,
        overdue=overdue,
        parked=parked,
    )


def pattern(classpath: str) -> str:
    """Turn the name of a class, or a pattern with *, into a regular expression."""
    name = re.escape(classpath).replace(r"\*", ".*")
    return rf"(^|\.){name}$"


def filtered(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say which waits are meant; it gets them together, as `wanted`."""
    _, *options = inspect.signature(meant).parameters.values()
    own = [one for one in inspect.signature(command).parameters.values() if one.name != "wanted"]

    def whole(**given: Any) -> None:
        said = {option.name: given.pop(option.name) for option in options}
        command(wanted=partial(meant, **said), **given)

    parameters = [*own, *options]
    whole.__doc__ = command.__doc__
    whole.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    whole.__annotations__ = {one.name: one.annotation for one in parameters}
    return whole
