"""P2, P4, P5, P6, P7: tasks that wait, through `bide up`: how many a second, and how soon each step follows the last.

The floors: of P2, P4 and P7 a fork and one byte through a pipe, of P5 the same rows made and changed by bare SQL, of P6
one commit and a hint that another connection hears.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

import asyncpg

from benchmarks.arena import FLOOR, arena, live
from benchmarks.bed import bare_connection, opened
from benchmarks.flow import FORKED, IMPORTED, SHARED, Town
from benchmarks.legs import forks_per_second
from benchmarks.report import OUT, Report, share
from benchmarks.system import empty_database, until, up
from benchmarks.waiters import Notes
from bide.store.wake import Channel, Hints, listening

TITLE = "P2, P4, P5, P6, P7: tasks that wait, through `bide up`"
TASKS, ENDS = 1000, 5000
PER_SECOND = {FORKED: 200, SHARED: None}
ENDS_PER_SECOND = 2000
ROUNDS = 40
PAUSE_SEC = 0.2
DUE_AFTER_SEC = {FORKED: 25.0, SHARED: 15.0}
BATCH = 500
LIMITS = {"P6: defer → run() entered, ms": (15, 40), "P7: event yielded → resume method entered, ms": (25, 60)}
FILE = """
import time
from bide import DAG, BaseOperator, StartTriggerArgs
from benchmarks.waiters import Gate, Noted, note

class Waits(BaseOperator):
    def execute(self, context):
        self.defer(trigger=Gate(context["dag_run"].conf["at"]), method_name="done")

    def done(self, context, event):
        pass

class Quick(BaseOperator):
    def execute(self, context):
        self.defer(trigger=Noted({notes!r}, time.time()), method_name="done")

    def done(self, context, event):
        note({notes!r}, 1, time.time() - event)

class Starts(BaseOperator):
    start_from_trigger = True
    start_trigger_args = StartTriggerArgs(trigger_cls="benchmarks.waiters.Ends", trigger_kwargs={{}})

many = dict(schedule=None, max_active_tasks=100_000, max_active_runs=100)
with DAG("waits", **many):
    for number in range({tasks}):
        Waits(task_id=f"waits_{{number}}")
with DAG("quick", **many):
    Quick(task_id="quick")
with DAG("ends", **many):
    for number in range({ends}):
        Starts(task_id=f"ends_{{number}}")
"""


@asynccontextmanager
async def town(server_url: str, tasks: int, ends: int, **settings: object) -> AsyncIterator[tuple[Town, Notes]]:
    """Start everything with tasks that wait."""
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        notes = Notes(Path(folder))
        dags = Path(folder) / "dags"
        dags.mkdir()
        (dags / "waits.py").write_text(FILE.format(notes=notes.path, tasks=tasks, ends=ends))
        async with (
            empty_database(server_url) as url,
            up(Path(folder), url, **settings),
            opened(url, 2) as db,
            bare_connection(url) as connection,
        ):
            found = Town(url, db, connection, Hints(db))
            await found.parsed(["waits", "quick", "ends"])
            yield found, notes


async def measure(server_url: str, report: Report) -> None:
    """Measure how many go through, then each step of one."""
    fork = forks_per_second(IMPORTED, share(500, report.scale))
    tasks, ends = share(TASKS, report.scale), share(ENDS, report.scale, of=BATCH)
    for legs_per_child, wanted in report.each(PER_SECOND.items()):
        how = "one fork per leg" if legs_per_child == FORKED else f"{legs_per_child} legs per child"
        settings = {"worker__legs_per_child": legs_per_child, "triggerer__capacity": 10_000}
        async with town(server_url, tasks, ends, **settings) as (place, notes):
            report.progress(f"{tasks} tasks that defer, {how}")
            deferred, resumed = await flows(place, tasks, DUE_AFTER_SEC[legs_per_child])
            for words, rate in (("P2: tasks deferred", deferred), ("P4: tasks resumed", resumed)):
                add(report, f"{words} per second, {how}", rate, fork, report.target("≥", wanted, rate))
            if legs_per_child == FORKED:
                await in_triggers(server_url, place, ends, report)
                await steps(place, notes, 1000 / fork, report)


def add(report: Report, what: str, figure: float, floor: float | None, target: str = "") -> None:
    """Keep a figure and its floor, both per second."""
    report.add(what=what, figure=figure, floor=floor, ratio=None if floor is None else figure / floor, target=target)


async def flows(place: Town, tasks: int, due_after_sec: float) -> tuple[float, float]:
    """Let tasks defer, and come due together; tell how many a second, there and back."""
    await place.run("quick")
    began, at = perf_counter(), time.time() + due_after_sec
    number, _ = await place.launch("waits", conf=f'{{"at":{at}}}')
    await until(place.connection, "select count(*) from task_instance where state = 'deferred'", tasks)
    deferred = tasks / (perf_counter() - began)
    assert time.time() < at, "they came due before all of them waited"
    await asyncio.sleep(at - time.time())
    began = perf_counter()
    await until(place.connection, "select state = 'success' from dag_run where id = $1", True, number)
    return deferred, tasks / (perf_counter() - began)


async def in_triggers(server_url: str, place: Town, ends: int, report: Report) -> None:
    """Let tasks begin and end in their triggers."""
    report.progress(f"{ends} tasks that begin and end in their triggers")
    await place.run("ends")
    rate = median([ends / (await place.run("ends"))[0] for _ in range(share(3, report.scale))])
    floor = await bare_lives(server_url, ends)
    words = "P5: tasks that begin and end in the trigger, per second"
    add(report, words, rate, floor, report.target("≥", ENDS_PER_SECOND, rate))


async def bare_lives(server_url: str, number: int) -> float:
    """Tell how many tasks bare SQL leads through the same changes of their rows a second."""
    async with arena(server_url, FLOOR) as place:
        tasks = await place.tasks(number)
        seconds = await live(place.sides, ("enqueue", "start", "defer", "claim", "end"), tasks, BATCH)
        counted = [sum(taken) for (_, verb), taken in seconds.items() if verb in ("defer", "claim", "end")]
        return number / sum(counted)


async def steps(place: Town, notes: Notes, fork_ms: float, report: Report) -> None:
    """Let one task after the other wait in an idle system, and tell how soon each step followed."""
    report.progress("one task at a time")
    before = len(notes.lines())
    for _ in range(share(ROUNDS, report.scale) + 1):
        await asyncio.sleep(PAUSE_SEC)
        await place.run("quick")
    lines = notes.lines()[before:]
    trip = await round_trip_ms(place.connection, place)
    for number, (words, limits) in enumerate(LIMITS.items()):
        found = [1000 * seconds for kind, seconds in lines if kind == number]
        floor = trip + number * fork_ms
        p95 = quantiles(found, n=20)[-1]
        for name, figure, limit in (("median", median(found), limits[0]), ("p95", p95, limits[1])):
            target = report.target("≤", limit, figure)
            report.add(what=f"{words}, {name}", figure=figure, floor=floor, ratio=floor / figure, target=target)


async def round_trip_ms(connection: "asyncpg.Connection[asyncpg.Record]", place: Town) -> float:
    """Tell how long it takes from a small change to its commit and a hint, until another connection hears that."""
    heard = asyncio.Event()
    url = place.url
    await connection.execute("create table small (text text)")
    taken: Sequence[float] = []
    async with listening(url, [Channel.TRIGGERER], lambda channel: heard.set()):
        for _ in range(50):
            heard.clear()
            began = perf_counter()
            await connection.execute("insert into small values ('x')")
            place.hints.hint(Channel.TRIGGERER)
            await heard.wait()
            taken = [*taken, perf_counter() - began]
    return 1000 * median(taken)
