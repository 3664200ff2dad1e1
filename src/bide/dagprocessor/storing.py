"""Writing what was found in files: in batches, each one statement."""

import asyncio
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bide.dagprocessor.finding import Stamp, stamp_of
from bide.errors import PlanError
from bide.model.check import check
from bide.model.messages import Broken, Parsed
from bide.model.plan import DagPlan, SchedulePlan, encode_plan
from bide.model.schedule_text import describe
from bide.model.timetable import next_run
from bide.store import plans
from bide.store.database import Database
from bide.store.plans import Fate, FoundDag, FoundFile, Schedule, Stored

MOST_FILES = 200
MOST_CHARACTERS = 8 * 2**20
"""Of plans and sources in one statement."""
MOST_HASHED = 16 * 2**20
"""Bytes of a data file that are hashed; of a longer one its size tells enough."""


@dataclass(frozen=True)
class Result:
    """A file that was parsed, how it looked before, and how long that took.

    `others` is what it has read, by whole paths, as it looked afterwards.
    """

    path: str
    parsed: Parsed
    stamp: Stamp
    seconds: float
    others: Mapping[str, Stamp | None]


@dataclass(frozen=True)
class Ready:
    """A file as it goes into a statement."""

    file: FoundFile
    plans: tuple[DagPlan, ...]
    dags: tuple[FoundDag, ...]

    @property
    def size(self) -> int:
        """Count the characters that it adds to a statement."""
        return sum(len(dag.plan) + len(dag.source) for dag in self.dags)


@dataclass
class Told:
    """What has become of the DAGs of some files."""

    stored: dict[str, list[Stored]] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    # Another processor has stored something else at the same time.
    again: list[str] = field(default_factory=list)


class Storer:
    """Stores what was found."""

    def __init__(self, db: Database, root: Path, paused_at_creation: bool) -> None:
        self._db = db
        self._root = root
        self._paused_at_creation = paused_at_creation
        # What was stored of each file when this processor last looked, or by itself.
        self._known: dict[str, str | None] = {}

    async def store(self, results: Sequence[Result]) -> Told:
        """Store files, and tell what has become of their DAGs."""
        told = Told()
        known = await plans.file_hashes(self._db, [result.path for result in results])
        waiting = await asyncio.to_thread(self._prepare, results, known, told)
        while waiting:
            batch, waiting = _batch(waiting)
            stored = {one.name: one for one in await self._store_batch(batch)}
            told.gone.extend(one.name for one in stored.values() if one.outcome is Fate.GONE)
            for one in batch:
                path, mine = one.file.fileloc, [dag.dag_id for dag in one.dags]
                told.stored[path] = [stored[dag_id] for dag_id in mine if dag_id in stored]
                is_stale = path in stored and stored[path].outcome is Fate.STALE
                if is_stale or not stored.keys() >= set(mine):
                    told.again.append(path)
                else:
                    self._known[path] = one.file.content_hash
        return told

    async def _store_batch(self, batch: Sequence[Ready]) -> list[Stored]:
        dags = [dag for one in batch for dag in one.dags]
        known = await plans.schedules(self._db, [dag.dag_id for dag in dags])
        by_id = {plan.dag_id: plan for one in batch for plan in one.plans}
        dated = await asyncio.to_thread(
            lambda: [_with_dates(dag, by_id[dag.dag_id], known[dag.dag_id]) for dag in dags]
        )
        return await plans.store_files(self._db, [one.file for one in batch], dated)

    def _is_late(self, result: Result, known: str | None) -> bool:
        """Say whether somebody else has stored a file, and it has changed since it was parsed here.

        Whoever looks after the other's word is known, and sees the file as it was parsed, has the last word. Where
        nobody else is there, what has changed already is stored all the same, for it may change all the time.
        """
        if result.path in self._known and self._known[result.path] == known:
            return False
        self._known[result.path] = known
        stamps = {os.path.join(self._root, result.path): result.stamp} | dict(result.others)
        return any(stamp_of(path) != stamp for path, stamp in stamps.items())

    def _prepare(self, results: Sequence[Result], known: Mapping[str, str], told: Told) -> list[Ready]:
        # The same order everywhere decides which of two new files with one DAG is the first.
        in_order = sorted(results, key=lambda result: result.path)
        told.again.extend(result.path for result in in_order if self._is_late(result, known.get(result.path)))
        return [self._ready(result, known.get(result.path)) for result in in_order if result.path not in told.again]

    def _ready(self, result: Result, known: str | None) -> Ready:
        good, broken = _checked(result)
        state = _state_of(result)
        fingerprint = _digest([result.path, state, *(text for _, text in good.values())])
        file = FoundFile(
            fileloc=result.path,
            known_hash=known,
            content_hash=_digest([fingerprint, broken.error if broken else ""]),
            size=result.stamp.size,
            mtime=datetime.fromtimestamp(result.stamp.mtime_ns / 1e9, UTC),
            seconds=result.seconds,
            error=broken.error or "It cannot be used." if broken else None,
            traceback=broken.traceback if broken else "",
        )
        dags = [
            self._found(result, plan, text, fingerprint, _digest([result.path, state, text]))
            for plan, text in good.values()
        ]
        return Ready(file, tuple(plan for plan, _ in good.values()), tuple(dags))

    def _found(self, result: Result, plan: DagPlan, text: str, fingerprint: str, content_hash: str) -> FoundDag:
        paused = plan.is_paused_upon_creation
        described = describe(plan.schedule)
        return FoundDag(
            fileloc=result.path,
            dag_id=plan.dag_id,
            content_hash=content_hash,
            plan=text,
            source=result.parsed.source,
            fingerprint=fingerprint,
            is_paused=self._paused_at_creation if paused is None else paused,
            max_active_tasks=plan.max_active_tasks,
            max_active_runs=plan.max_active_runs,
            description=plan.description,
            owners=plan.owner,
            tags=msgspec.json.encode([tag.replace("\0", "\ufffd") for tag in plan.tags]).decode(),
            timetable_summary=plan.schedule.summary or described,
            timetable_description=described,
            has_schedule=plan.schedule.kind != "none",
            timetable=_timetable(plan),
            next_logical_date=None,
            next_interval_start=None,
            next_interval_end=None,
            next_run_at=None,
            callbacks=",".join(sorted(plan.callbacks)),
        )


class _Timetable(Struct):
    """All that due dates are told from."""

    schedule: SchedulePlan
    start_date: datetime | None
    end_date: datetime | None
    catchup: bool


def _timetable(plan: DagPlan) -> str:
    bare = replace(plan.schedule, summary="")
    told = _Timetable(bare, plan.start_date, plan.end_date, plan.catchup)
    return msgspec.json.encode(told, order="deterministic").decode()


def _with_dates(dag: FoundDag, plan: DagPlan, known: Schedule) -> FoundDag:
    # They count only if the schedule is new; that is seen under the lock, when it is too late to tell them.
    run = next_run(plan, known.last, known.now)
    if run is None:
        return dag
    return replace(
        dag,
        next_logical_date=run.logical_date,
        next_interval_start=run.interval.start,
        next_interval_end=run.interval.end,
        next_run_at=run.due_at,
    )


def _checked(result: Result) -> tuple[dict[str, tuple[DagPlan, str]], Broken | None]:
    """Check what a child has told, for a file may have answered in its own name; return plans with their texts."""
    good: dict[str, tuple[DagPlan, str]] = {}
    wrong = [result.parsed.broken.error] if result.parsed.broken else []
    for plan in result.parsed.plans:
        try:
            check(plan)
            text = encode_plan(replace(plan, fileloc=result.path)).decode()
        except PlanError as error:
            wrong.append(f"DAG {plan.dag_id[:100]!r}: {error}")
            continue
        if plan.dag_id in good:
            wrong.append(f"Two DAGs of the file have the id {plan.dag_id!r}; give each its own.")
        good.setdefault(plan.dag_id, (plan, text))
    if not wrong:
        return good, None
    told = result.parsed.broken.traceback if result.parsed.broken else ""
    return good, Broken("\n".join(wrong), told)


def _state_of(result: Result) -> str:
    """Tell one state of a file and of what it reads from the next."""
    return _digest([result.parsed.source, *_contents(result.others)])


def _contents(paths: Iterable[str]) -> Iterator[str]:
    for path in sorted(paths):
        file = Path(path)
        try:
            if file.is_file():
                size = file.stat().st_size
                yield path.rpartition("/")[2]
                yield str(size) if size > MOST_HASHED else hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError:
            continue  # it has just gone, so the file is going to be parsed again


def _digest(parts: Iterable[str]) -> str:
    found = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogatepass")
        found.update(len(data).to_bytes(8))
        found.update(data)
    return found.hexdigest()


def _batch(waiting: Sequence[Ready]) -> tuple[list[Ready], list[Ready]]:
    """Take files for one statement: not too much, and each DAG once."""
    batch: list[Ready] = []
    rest: list[Ready] = []
    ids: set[str] = set()
    size = 0
    for one in waiting:
        mine = {dag.dag_id for dag in one.dags}
        is_full = len(batch) == MOST_FILES or size + one.size > MOST_CHARACTERS
        if batch and (is_full or mine & ids):
            rest.append(one)
        else:
            batch.append(one)
            ids |= mine
            size += one.size
    return batch, rest
