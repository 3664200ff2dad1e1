"""Every task verb in every state with every fence, and what the table of transitions says must come of it.

A case is a row, a word (a verb, said in one of its ways), and how far off the fence is. What is expected is told from
the table in `bide.model.transitions` and from `NEEDS`, which says in Python what the table says in words; never from
the SQL.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from bide.model.states import TERMINAL, RunState, TaskState
from bide.model.transitions import FAIL_METHOD, VERBS, Fence, Verb
from tests.store.scene import NOT_BEGUN, WITH_DATE, WITH_WORKER, Row, Wait

S = TaskState


@dataclass(frozen=True)
class Word:
    """A verb in one of the ways to say it; `to` is where this way leads if the table leaves a choice."""

    verb: Verb
    to: TaskState | None = None

    @property
    def name(self) -> str:
        return f"{self.verb.name} to {self.to}" if self.to else self.verb.name


@dataclass(frozen=True)
class Case:
    """One row that a word is said about. Offsets say how far each number is from the right one."""

    word: Word
    row: Row
    offset: int = 0
    turn_offset: int = 0

    @property
    def expected(self) -> TaskState | None:
        """The state that the row must be in afterwards; None where the word must be refused."""
        verb, row = self.word.verb, self.row
        ends = verb.moves.get(row.state, frozenset())
        if self.word.to is not None:
            ends &= {self.word.to}
        if verb.name == "fire_due" or (verb.name == "fire_by_hand" and self.word.to is None):
            ends &= {S.SUCCESS if row.wait and row.wait.ends else S.SCHEDULED}
        fits = self.offset == 0 and self.turn_offset == 0 and NEEDS.get(verb.name, _anything)(row)
        return next(iter(ends)) if ends and fits else None


def rows() -> list[Row]:
    """Every state in every variant that a verb may look at."""
    plain = [
        Row(S.NONE),
        Row(S.SCHEDULED),
        Row(S.SCHEDULED, begun=True),
        Row(S.SCHEDULED, next_method="resume"),
        Row(S.SCHEDULED, next_method=FAIL_METHOD),
        Row(S.QUEUED),
        Row(S.QUEUED, next_method="resume"),
        *(Row(state, due=due) for state in sorted(WITH_DATE) for due in (True, False)),
        *(Row(state, owner_alive=alive) for state in sorted(WITH_WORKER) for alive in (True, False)),
        *(Row(state) for state in (S.RESTARTING, *sorted(TERMINAL))),
        *(
            Row(state, child=True, owner_alive=alive)
            for state in (S.RESTARTING, *sorted(TERMINAL))
            for alive in (True, False)
        ),
    ]
    kills = [replace(row, kill=True) for row in plain if row.state not in WITH_WORKER]
    other_runs = [replace(row, run=RunState.QUEUED) for row in plain if row.state in (S.NONE, S.SCHEDULED)]
    ended_runs = [
        replace(row, run=run, columns={"is_leaf": leaf})
        for row in plain
        if row.state in TERMINAL
        for run in (RunState.SUCCESS, RunState.FAILED)
        for leaf in (True, False)
    ]
    return [*plain, *kills, *other_runs, *ended_runs, *_waiting()]


def _waiting() -> Iterator[Row]:
    waits = [
        *(Wait(holder) for holder in ("nobody", "triggerer", "dead triggerer", "parked")),
        Wait(on_kill=True),
        Wait(shared_key="shared"),
        Wait(shared_key="shared", on_kill=True),
        *(Wait("timer", due=due, ends=ends) for due in (True, False) for ends in (True, False)),
    ]
    for wait in waits:
        yield Row(S.DEFERRED, "resume", wait=wait)
        yield Row(S.DEFERRED, "resume", wait=wait, timeout=True)
        yield Row(S.DEFERRED, "resume", wait=wait, timeout=True, due=False)


def words() -> list[Word]:
    """Every verb of the table, in as many ways as it has ends to choose from."""
    chosen = {"fail": (S.FAILED, S.UP_FOR_RETRY), "end": (S.SUCCESS, S.SKIPPED, S.SCHEDULED)}
    chosen["mark"] = chosen["cancel"] = (S.SUCCESS, S.FAILED, S.SKIPPED)
    # With an event, and with none: then a timer does what it would do at its date.
    ways: dict[str, tuple[TaskState | None, ...]] = {**chosen, "fire_by_hand": (S.SCHEDULED, None)}
    return [Word(verb, to) for verb in VERBS.values() for to in ways.get(verb.name, (None,))]


OFFSETS: Mapping[Fence, tuple[tuple[int, int], ...]] = {
    Fence.LEG: ((0, 0), (-1, 0), (1, 0)),
    Fence.CLAIM: ((0, 0), (-1, 0), (1, 0)),
    Fence.WAIT: ((0, 0), (-1, 0), (1, 0)),
    Fence.EPOCH: ((0, 0), (-1, 0), (1, 0)),
    # Who holds a turn was also given a leg.
    Fence.TURN: tuple((leg, turn) for turn in (-1, 1, 0) for leg in (0, -1, 1)),
    # No number: whether the date has come, or the owner is dead, is a matter of the row.
    Fence.DATE: ((0, 0),),
    Fence.DEAD_OWNER: ((0, 0),),
    Fence.STATE: ((0, 0),),
}


def cases(word: Word) -> list[Case]:
    """Every row with every offset that the fence of the verb can have."""
    return [Case(word, row, *offsets) for offsets in OFFSETS[word.verb.fence] for row in rows()]


# What the table says in words beside states and fences ------------------------------------------------------


def _anything(row: Row) -> bool:
    return True


def has_child(row: Row) -> bool:
    return row.child or row.state in WITH_WORKER


def begun(row: Row) -> bool:
    return row.begun if row.begun is not None else row.state not in NOT_BEGUN or row.next_method is not None


def _run_is_running(row: Row) -> bool:
    return row.run == RunState.RUNNING


def _may_start(row: Row) -> bool:
    return _run_is_running(row) and not has_child(row)


def _unstarted(row: Row) -> bool:
    return _run_is_running(row) and not (row.state == S.SCHEDULED and begun(row))


def _due_timer(row: Row) -> bool:
    """A timeout at the same instant does not come before the date."""
    return row.wait is not None and row.wait.holder == "timer" and row.wait.due


def _overdue(row: Row) -> bool:
    return row.timeout and row.due and not _due_timer(row)


def _may_end(row: Row) -> bool:
    return row.state == S.RUNNING or row.next_method == FAIL_METHOD


NEEDS: Mapping[str, Callable[[Row], bool]] = {
    "ready": _may_start,
    "pass_empty": _may_start,
    "block": _unstarted,
    "skip_unstarted": _unstarted,
    "stop": _run_is_running,
    "enqueue": lambda row: row.next_method != FAIL_METHOD and not row.kill,
    "defer_at_start": lambda row: row.next_method is None and not row.kill,
    "fail": _may_end,
    "skip": _may_end,
    "stopped": has_child,
    "rescue": lambda row: has_child(row) and not row.owner_alive,
    "fire_due": _due_timer,
    "lapse": _overdue,
    "extend": lambda row: row.timeout,
    "wake": lambda row: row.due,
}
