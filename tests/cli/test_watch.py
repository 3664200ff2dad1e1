"""Watching a run: by lines where there is no terminal, by a picture where there is one."""

import asyncio
import io

from rich.console import Console

from bide.cli import watching
from bide.cli.watching import COLUMNS, lines, picture
from bide.model.outcome import Failed
from bide.model.plan import DagPlan, MapInput, MapPlan, MapSource
from bide.store import reports
from tests.cli.person import Person
from tests.process.eventually import eventually
from tests.scheduler.town import Town, dag, task


async def test_each_change_is_a_line_and_the_end_decides_the_exit_code(
    person: Person, town: Town, sales: DagPlan
) -> None:
    watcher = asyncio.create_task(person.says("runs", "watch", "sales", "run"))
    await eventually(lambda: "queued" in person.heard)
    await town.play({"clean": Failed("no")})
    said = await watcher
    assert said.code == 1
    assert said.lines[0] == "2030-01-01 12:00:00Z sales run queued"
    assert "2030-01-01 12:00:00Z clean failed" in said.lines
    assert "2030-01-01 12:00:00Z load upstream_failed" in said.lines
    assert said.lines[-1] == "sales run: failed after 0ms"


async def test_a_run_that_has_ended_is_told_at_once(person: Person, town: Town, sales: DagPlan) -> None:
    await town.play()
    said = await person.says("runs", "watch", "sales", "latest")
    assert said.code == 0
    assert said.lines[-1] == "sales run: success after 0ms"


async def test_a_launched_run_may_be_waited_for(person: Person, town: Town, sales: DagPlan) -> None:
    await town.play()
    watcher = asyncio.create_task(person.says("dags", "trigger", "sales", "--run-id", "mine", "--wait"))
    await eventually(lambda: launched(town))
    await town.play()
    said = await watcher
    assert (said.code, said.out) == (0, "mine\n")
    assert "sales mine: success" in said.err


async def launched(town: Town) -> bool:
    return bool(await town.connection.fetchval("select count(*) from dag_run where run_id = 'mine'"))


async def test_at_a_terminal_there_is_a_picture_that_moves(town: Town, sales: DagPlan) -> None:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100, height=40)
    run = await reports.describe_run(town.db, "sales", "run")
    assert run is not None
    order = await watching.task_order(town.db, run)
    watcher = asyncio.create_task(watching.live(town.db, run, order, console))
    await eventually(lambda: "extract" in shown.getvalue())
    await town.play()
    ended = await watcher
    assert ended.state == "success"
    assert shown.getvalue().count("load") >= 2


async def test_a_mapped_task_is_one_line(town: Town) -> None:
    mapped = MapPlan(inputs=(MapInput(name="n", sources=(MapSource(length=3),)),))
    plan = dag("many", task("a", mapped=mapped), task("b", "a"))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"a": lambda started: Failed("no")})
    run = await reports.describe_run(town.db, "many", "run")
    assert run is not None
    a, b = lines(["a", "b"], await reports.run_progress(town.db, run.id))
    assert (a.state.plain, b.state.plain) == ("3 failed", "upstream_failed")
    assert [str(column.cell(a)) for column in COLUMNS] == ["a", "3 failed", "", "2030-01-01 12:00:00Z", "0ms"]


async def test_where_there_are_more_tasks_than_lines_those_that_move_are_shown(town: Town) -> None:
    plan = dag("wide", *(task(f"t{number:03}") for number in range(200)), max_active_tasks=2)
    await town.store(plan)
    await town.launch(plan)
    await town.rounds.go()
    run = await reports.describe_run(town.db, "wide", "run")
    assert run is not None
    every = lines([], await reports.run_progress(town.db, run.id))
    console = Console(file=io.StringIO(), width=100)
    with console.capture() as drawn:
        console.print(picture(run, every, 10))
    assert drawn.get().count("queued") == 2
    assert "and 190 tasks more; 0 of 200 ended" in drawn.get()
