"""What `bide dags test` and `bide tasks test` share: which DAG is meant, what it is given, and what is shown."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from bide.cli import given, output, words
from bide.cli.output import Column
from bide.cli.watching import COLUMNS, LINES_AROUND, TaskLine, lines, most_urgent
from bide.control.known import unknown
from bide.dagprocessor.finding import Finder
from bide.errors import BideError, Refusal
from bide.model.graph import topological
from bide.model.plan import DagPlan
from bide.model.states import TaskState
from bide.settings import load
from bide.testing import Engine, RunResult, TaskResult
from bide.testing import load as load_dags

What = Annotated[
    str, typer.Argument(metavar="FILE|DAG", help="A DAG file, or the id of a DAG in core.dags_dir.", show_default=False)
]
Conf = Annotated[
    str, typer.Option("--conf", help="The params of the run, as a JSON object; @file reads it.", show_default=False)
]
LogicalDate = Annotated[
    datetime | None,
    typer.Option("--logical-date", parser=given.moment, metavar="DATE", help="Else now; UTC unless it has a zone."),
]
Variables = Annotated[
    Path | None, typer.Option("--variables", metavar="FILE", help="Variables, as JSON or as lines NAME=value.")
]
Logs = Annotated[bool, typer.Option("--logs/--no-logs", help="Show what tasks write, or only that of failed ones.")]
Connections = Annotated[
    Path | None, typer.Option("--connections", metavar="FILE", help="Connections, as JSON or as lines ID=uri.")
]
MOST_NAMED = 10


class Dag(Protocol):
    """A DAG as far as it matters here."""

    dag_id: str


def find(
    context: typer.Context, what: str, dag_id: str | None, variables: Path | None, connections: Path | None
) -> Any:
    """Find the DAG that is meant, in a file or in the folder of DAG files; files may read what was given."""

    def load_file(path: Path, root: Path) -> Mapping[str, Dag]:
        return load_dags(str(path), str(root), variables, connections)

    folder = load(overrides=context.obj).core.dags_dir.resolve()
    path = Path(what)
    with told():
        if path.suffix != ".py" and not path.is_file():
            return found_below(folder, what, load_file)
        path = path.resolve()
        root = folder if path.is_relative_to(folder) else path.parent
        return chosen(load_file(path, root), what, dag_id)


def chosen(dags: Mapping[str, Dag], file: str, dag_id: str | None) -> Dag:
    """Choose a DAG of a file; where there are several somebody has to say which."""
    if dag_id is not None and dag_id not in dags:
        raise unknown("DAG", dag_id, dags, f"it has {shortly(dags)}.", f" in {file}")
    if not dags:
        raise Refusal(f"{file} has no DAG. Does it call what it has decorated with @dag?")
    if dag_id is None and len(dags) > 1:
        raise Refusal(f"{file} has {len(dags)} DAGs; say which, with --dag: {shortly(dags)}.")
    return dags[dag_id or next(iter(dags))]


def shortly(names: Mapping[str, Dag]) -> str:
    """Name some."""
    shown = list(names)[:MOST_NAMED]
    return ", ".join(shown) + (", …" if len(names) > len(shown) else "")


def found_below(folder: Path, dag_id: str, load_file: Callable[[Path, Path], Mapping[str, Dag]]) -> Dag:
    """Look for a DAG in all DAG files, first in those that mention it. Broken ones are told of if it is in no other."""
    paths = [folder / name for name in sorted(Finder(folder).look().files)]
    paths.sort(key=lambda path: dag_id not in path.read_text(encoding="utf-8", errors="replace"))
    known, broken = dict[str, Dag](), list[BideError]()
    for path in paths:
        try:
            known |= load_file(path, folder)
        except BideError as error:
            broken.append(error)
        if dag_id in known:
            return known[dag_id]
    for why in broken:
        output.note(str(why))
    raise unknown("DAG", dag_id, known, f"it is in none of the {len(paths)} DAG files in {folder}.")


@contextmanager
def told() -> Iterator[None]:
    """Show where in somebody's own code something was raised, before what was raised ends the command."""
    try:
        yield
    except BideError as error:
        if trace := getattr(error, "traceback", ""):
            output.note(trace)
        raise


class Screen:
    """Shows what tasks write as it comes, and below that how they stand: at a terminal as a picture that moves."""

    def __init__(self, shows_logs: bool) -> None:
        # What tasks write to standard output comes here, so this must not look for it again.
        self._console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
        self._shows_logs = shows_logs
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._seen: dict[str, str] = {}
        self._depths: dict[str, int] = {}

    @contextmanager
    def open(self) -> Iterator[None]:
        """Show, and at the end leave the last picture."""
        if not self._console.is_terminal:
            yield
            return
        with self._live:
            yield
        self._console.print(self._live.renderable)

    def wrote(self, task: str, line: str) -> None:
        """Show a line of a log."""
        if self._shows_logs:
            self._console.print(Text(f"{task} | ", "dim"), Text(words.plain(line)), sep="")

    def look(self, engine: Engine, run: int) -> None:
        """Show how the tasks stand."""
        plan = engine.plan_of(run)
        self._depths = self._depths or depths(plan)
        every = lines(self._depths, engine.progress(run))
        if self._console.is_terminal:
            shown = most_urgent(every, max(3, self._console.height - LINES_AROUND))
            self._live.update(Group(Text(""), output.table(shown, self._columns())), refresh=True)
            return
        for line in every:
            if line.state.plain != self._seen.get(line.task_id) and (line.is_over or retries(line)):
                self._console.print(Text.assemble(f"{line.task_id}: ", line.state))
            self._seen[line.task_id] = line.state.plain

    def end(self, dag_id: str, result: RunResult) -> None:
        """Say how it ended; of a task that has failed also its log, if that was not shown, and why."""
        failed = [task for task in result.tasks if task.state is TaskState.FAILED]
        for task in failed if not self._shows_logs else ():
            output.heading(name_of(task))
            print(words.plain(task.log or "It has written nothing."))
        for task in failed:
            if task.reason and task.reason not in task.log:
                self._console.print(Text(words.plain(f"{name_of(task)} failed: {task.reason}")))
        self._console.print(Text.assemble(f"{dag_id} {result.run_id}: ", words.state(result.state)))

    def returned(self, task: TaskResult) -> None:
        """Say how a task ended, and what it has returned."""
        self._console.print(Text.assemble(f"{name_of(task)}: ", words.state(task.state)))
        if task.value is not None:
            self._console.print(Text(words.plain(f"It returned {task.value!r}")))

    def _columns(self) -> tuple[Column[TaskLine], ...]:
        # The clock jumps, so how long something took says nothing.
        indented = Column[TaskLine]("task", lambda line: "  " * self._depths.get(line.task_id, 0) + line.task_id)
        return (indented, *COLUMNS[1:3])


def name_of(task: TaskResult) -> str:
    """Name an instance of a task."""
    return f"{task.task_id}[{task.map_index}]" if task.map_index >= 0 else task.task_id


def retries(line: TaskLine) -> bool:
    """Say whether some of it is to be tried again."""
    return any(part.state is TaskState.UP_FOR_RETRY for part in line.parts)


def params(text: str) -> dict[str, Any]:
    """Read what --conf gives."""
    return given.json_object(given.text_or_file(text), "--conf") if text else {}


def pattern(text: str) -> str:
    """Read a regular expression."""
    try:
        return re.compile(text).pattern
    except re.error as error:
        raise typer.BadParameter(f"{text!r} is no regular expression: {error}.") from None


def depths(plan: DagPlan) -> dict[str, int]:
    """Tell of each task how many others come before it one after the other."""
    found: dict[str, int] = {}
    upstream = {task.task_id: task.upstream for task in plan.tasks}
    for task_id in topological(plan):
        found[task_id] = max((found[before] + 1 for before in upstream[task_id]), default=0)
    return found
