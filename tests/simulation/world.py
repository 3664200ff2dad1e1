"""The simulated world: one real database, one clock that only the simulator moves, and a post that loses words."""

import hashlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, cast

import asyncpg

from bide.store import by_hand, callbacks, deferral, holding, jobs, legs, people, queueing, runs
from bide.store.database import Database, session_settings
from bide.store.jobs import LOCKS_OF_PROCESSES, NewJob
from bide.store.runs import NewRun
from tests.race.ring import Line
from tests.simulation.answers import check_answer
from tests.simulation.births import meet, take_in
from tests.simulation.calls import meet_calls
from tests.simulation.expectations import Expectations
from tests.simulation.follow import BEARS, follow, tasks_behind
from tests.simulation.forgery import forged, is_batch
from tests.simulation.ledger import Job, Ledger, Run, Violation, Wait, Word
from tests.simulation.shapes import POOLS, SHAPES, Shape

PATIENCE_SEC = 0.3
DAY_ONE = datetime(2030, 1, 1, tzinfo=UTC)
# Deleting few rows is quicker than truncating many tables.
EMPTY = """
    delete from history; delete from callback; delete from look; delete from kill; delete from xcom;
    delete from asset_watcher; delete from asset; delete from task_instance; delete from dag_run; delete from trigger;
    delete from job; update dag set version_id = null; delete from dag_version; delete from dag;
    delete from pool;
    select setval(oid::regclass, 1, false) from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace;
    select pg_advisory_unlock_all();
    update turn set number = 0;
"""


async def _beat(db: Database, _who: str, job: int) -> bool:
    return await jobs.beat(db, job)


STORE: Mapping[str, Callable[..., Awaitable[Any]]] = {
    function.__name__.removeprefix("_"): function
    for function in (
        _beat, jobs.retire, jobs.suspect, jobs.bury,
        legs.start, legs.succeed, legs.skip, legs.fail, legs.reschedule, legs.drain, legs.stopped, legs.rescue,
        queueing.enqueue, queueing.unqueue, queueing.wake,
        deferral.defer, deferral.defer_at_start, deferral.fire, deferral.end, deferral.crash, deferral.fire_due,
        deferral.lapse,
        holding.claim, holding.release, holding.release_all, holding.orphan, holding.park, holding.unpark,
        holding.take_kill, holding.acknowledge, holding.give_up, holding.sweep,
        callbacks.take_callback, callbacks.end_callback, callbacks.free_callback,
        runs.begin, runs.conclude, runs.expire, runs.mark_run, runs.ready, runs.block, runs.skip_unstarted,
        runs.pass_empty, runs.adopt, runs.expand,
        by_hand.fire_by_hand, by_hand.fail_by_hand, by_hand.cancel, by_hand.extend,
        people.clear, people.mark, people.stop, people.remove,
    )
}  # fmt: skip


@dataclass(frozen=True)
class Arena:
    """The engine's way to the database, and the simulator's own one, which also holds the locks of processes."""

    db: Database
    hand: Any


@asynccontextmanager
async def arena(url: str, instead: Mapping[str, str] = MappingProxyType({})) -> AsyncIterator[Arena]:
    """Open both ways to an empty database that has the schema; the engine runs broken statements `instead` of its."""
    engine = await asyncpg.connect(url, server_settings=session_settings(10))
    hand = await asyncpg.connect(url, server_settings={"timezone": "UTC"})
    try:
        yield Arena(Database(cast(Any, Line(engine, instead)), PATIENCE_SEC), hand)
    finally:
        await engine.close()
        await hand.close()


class World:
    """Delivers words, with faults while there is chaos, and holds every answer against the ledger."""

    def __init__(self, arena: Arena, seed: int) -> None:
        self.db, self.hand = arena.db, arena.hand
        self.seed = seed
        self.rng = random.Random(seed)
        self.chaos = True
        self.step = 0
        self.late: list[Word] = []
        self.said: Counter[str] = Counter()
        self.accepted: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.versions: dict[int, Shape] = {}
        self.latest: dict[str, int] = {}
        self.ledger = Ledger(
            DAY_ONE,
            POOLS,
            {name: shape.plan.max_active_tasks for name, shape in SHAPES.items()},
            {name: shape.plan.max_active_runs for name, shape in SHAPES.items()},
        )
        self._last_entry = 0
        self._run_names: set[tuple[str, str]] = set()
        self._trace = hashlib.blake2b(digest_size=12)

    async def begin(self) -> None:
        """Empty the database and lay the first things out."""
        await self.hand.execute(EMPTY)
        await self.hand.executemany(
            "insert into pool (name, slots, include_deferred) values ($1, $2, $3)",
            [(name, *room) for name, room in POOLS.items()],
        )
        await self.hand.executemany(
            "insert into dag (dag_id, max_active_tasks, max_active_runs) values ($1, $2, $3)",
            [(name, s.plan.max_active_tasks, s.plan.max_active_runs) for name, s in SHAPES.items()],
        )
        for name, shape in SHAPES.items():
            await self.publish(name, shape)
        await self.set_clock(DAY_ONE)

    async def publish(self, dag: str, shape: Shape) -> None:
        """A DAG has a new version, as its file says."""
        version = await self.hand.fetchval(
            "insert into dag_version (dag_id, number, plan, created_at)"
            " select $1, count(*) + 1, '{}', bide_now() from dag_version where dag_id = $1 returning id",
            dag,
        )
        await self.hand.execute("update dag set version_id = $2 where dag_id = $1", dag, version)
        self.versions[version], self.latest[dag] = shape, version

    def shape(self, run: int) -> Shape:
        """What is known of a run's DAG, in the version that the run has."""
        return self.versions[self.ledger.runs[run].version]

    async def set_clock(self, now: datetime) -> None:
        """Move the database's clock, by its frozen time and its shift alike."""
        shift = timedelta(seconds=self.rng.choice((0, 0, 7, -3600)))
        await self.hand.execute("update clock set frozen_at = $1, shift = $2", now - shift, shift)
        self.ledger.now = now

    def digest(self) -> str:
        """What happened, in a few letters."""
        return self._trace.hexdigest()

    def chance(self, probability: float) -> bool:
        """Roll a die that is heard in chaos only."""
        return self.chaos and self.rng.random() < probability

    def patience(self) -> timedelta:
        """How long somebody lets an on_kill take."""
        return timedelta(seconds=self.rng.choice((5, 90, 90)))

    async def say(self, verb: str, who: str, *args: Any) -> Any:
        """Send a word over the post. None means that its sender does not know what became of it."""
        word = Word(verb, who, tuple(map(self._stammered, args)))
        # A liar may guess right; then the word is as good as a true one, and of no use here.
        if self.chance(0.12) and (lie := forged(word, self.rng)) and not self._expected(lie):
            self.faults["forged"] += 1
            await self.deliver(lie)
        if self.chance(0.03):
            self.faults["lost report"] += 1
            return None
        if self.chance(0.08):
            self.faults["delayed"] += 1
            self.late.append(word)
            return None
        answer = await self.deliver(word)
        if self.chance(0.04):
            self.faults["doubled"] += 1
            await self.deliver(word)
        if self.chance(0.04):
            self.faults["echoed"] += 1
            self.late.append(word)
        if self.chance(0.04):
            self.faults["lost answer"] += 1
            return None
        return answer

    async def say_late(self) -> None:
        """Carry out one of the words that are late."""
        await self.deliver(self.late.pop(self.rng.randrange(len(self.late))))

    def _stammered(self, argument: Any) -> Any:
        """Say one item of a batch twice, now and then."""
        if is_batch(argument) and self.chance(0.04):
            self.faults["doubled item"] += 1
            return (*argument, self.rng.choice(argument))
        return argument

    async def deliver(self, word: Word) -> Any:
        """Carry a word out, and hold what it did against what it must do."""
        expected = self._expected(word)
        try:
            answer = await STORE[word.verb](self.db, word.who, *word.args)
        except Exception as error:
            tasks = tasks_behind(self.ledger, word.verb, expected)
            raise Violation("I5", f"{word.verb} by {word.who} was answered by {error!r}", tasks) from error
        # What is written of a word that is answered with nothing belongs to no word: the next one will not match it.
        telling = word.verb in BEARS or (answer and word.verb != "beat")
        changed = follow(self.ledger, word, await self._new_entries() if telling else ())
        if word.verb == "beat" and answer:
            changed = self._beaten(word.args[0])
        if changed:
            await meet_calls(self.hand, self.ledger)
        told = await take_in(self.hand, self.ledger, word, answer, changed) if word.verb in BEARS else answer
        check_answer(self.ledger, word, told, changed, expected)
        self._count(word, len(changed))
        self._trace.update(repr((self.step, self.ledger.now, word, answer)).encode())
        return answer

    def _expected(self, word: Word) -> list[int]:
        found: list[int] = getattr(Expectations(self.ledger), word.verb)(*word.args)
        return found

    async def _new_entries(self) -> list[dict[str, Any]]:
        found = await self.hand.fetch("select * from history where id > $1 order by id", self._last_entry)
        if found:
            self._last_entry = found[-1]["id"]
        # Within one statement the order is PostgreSQL's business.
        subjects = ("task_instance_id", "callback_id", "dag_run_id", "trigger_id", "job_id")
        return sorted(map(dict, found), key=lambda entry: [entry[subject] or 0 for subject in subjects])

    def _beaten(self, job: int) -> list[int]:
        """Beats are so many that they leave no history."""
        self.ledger.jobs[job].heartbeat, self.ledger.jobs[job].suspected_at = self.ledger.now, None
        return [job]

    def _count(self, word: Word, changed: int) -> None:
        if word.forged:
            return
        about = next((len(set(argument)) for argument in word.args if is_batch(argument)), 1)
        self.said[word.verb] += 1
        self.accepted[word.verb] += changed
        self.refused[word.verb] += max(0, about - changed)

    # What makes new rows, whose ids nobody can know before.

    async def register(self, who: str, job: NewJob) -> int:
        """Let a process begin, and take its lock where it holds one."""
        id = await jobs.register(self.db, who, job)
        follow(self.ledger, Word("register", who, (job,)), await self._new_entries())
        self.ledger.jobs[id] = Job(id, self.ledger.now, job.heartbeat_sec, job.holds_lock)
        if job.holds_lock:
            await jobs.hold_lock(self.hand, id)
            self.ledger.locks.add(id)
        self._new("register", who, [id])
        return id

    async def free_lock(self, job: int) -> None:
        """PostgreSQL frees the lock of a process whose connection ends."""
        if job in self.ledger.locks:
            self.ledger.locks.discard(job)
            await self.hand.execute("select pg_advisory_unlock($1, $2)", LOCKS_OF_PROCESSES, job)

    async def launch(self, who: str, dag: str, run_id: str) -> None:
        """Make a run, unless it is there already."""
        version = self.latest[dag]
        shape, timeout = self.versions[version], self.versions[version].plan.dagrun_timeout
        made = await runs.launch(self.db, who, dag, version, "manual", timeout, [NewRun(run_id)], shape.instances)
        entries = await self._new_entries()
        follow(self.ledger, Word("launch", who, (run_id,)), entries)
        known = (dag, run_id) in self._run_names
        if len(made) == known or len(entries) == known:
            raise Violation("I10", f"launch of {run_id} made {made} and wrote {entries}; it was there before: {known}")
        self._run_names.add((dag, run_id))
        for run in made:
            self.ledger.runs[run.id] = Run(run.id, dag, version, timeout)
        due = {(run.id, task.task_id, task.map_index): task for run in made for task in shape.instances}
        await meet(self.hand, self.ledger, due)
        self._new("launch", who, [run.id for run in made])

    async def stray_wait(self, kept: bool) -> None:
        """Somebody puts a trigger into the table by hand: for an asset watcher, or for nothing at all."""
        id = await self.hand.fetchval(
            "insert into trigger (classpath, kwargs, created_date) values ('by.Hand', '', bide_now()) returning id"
        )
        if kept:
            await self.hand.execute(
                "with a as (insert into asset (name, uri) values ('asset ' || $1::bigint, '') returning id)"
                "insert into asset_watcher (asset_id, name, trigger_id) select a.id, '', $1 from a",
                id,
            )
        self.ledger.waits[id] = Wait(id, self.ledger.now, kept=kept)

    def _new(self, verb: str, who: str, made: list[int]) -> None:
        self.said[verb] += 1
        self.accepted[verb] += len(made)
        self.refused[verb] += not made
        self._trace.update(repr((self.step, verb, who, made)).encode())
