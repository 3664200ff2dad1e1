"""Says one word about all of its cases at once, and proves that exactly what must change has changed."""

import random
from collections import Counter
from dataclasses import dataclass, replace
from itertools import groupby

from bide.model.states import FINISHED_RUN, TERMINAL, TaskState
from bide.model.transitions import Fence
from bide.store.database import Database
from tests.store import matrix_words
from tests.store.matrix import Case, Word, cases
from tests.store.picture import Difference, differences, picture
from tests.store.scene import Placed, Row, Scene

FAILURES = frozenset({TaskState.FAILED, TaskState.UPSTREAM_FAILED})


@dataclass(frozen=True)
class Subject:
    """What a case is about: the task of its row, and where the wait is shared, the twin that waits there too."""

    case: Case
    task: Placed
    twin: Placed | None

    @property
    def moved(self) -> dict[int, TaskState]:
        """The tasks that must be somewhere else, or must have said so, and where. A wait that ends moves both."""
        if self.case.expected is None:
            return {}
        both = self.twin is not None and self.case.word.verb.fence == Fence.CLAIM
        return {one.id: self.case.expected for one in (self.task, self.twin if both else None) if one}

    @property
    def reopened(self) -> bool:
        """Whether the run of the task had ended and must be judged again."""
        row, verb = self.case.row, self.case.word.verb.name
        if self.case.expected is None or row.run not in FINISHED_RUN:
            return False
        turned = (row.state in FAILURES) != (self.case.expected in FAILURES)
        return verb == "clear" or (verb == "mark" and turned and bool(row.columns.get("is_leaf")))


async def check_word(db: Database, scene: Scene, word: Word) -> int:
    """Check every case of a word; return how many there were."""
    await scene.connection.execute(
        "truncate dag_run, task_instance, trigger, kill, history, xcom, callback, look cascade"
    )
    subjects = await _placed(scene, cases(word))
    by_turn = groupby(subjects, key=lambda subject: subject.case.turn_offset)
    for number, (_, batch) in enumerate(by_turn):
        await _check_batch(db, scene, list(batch), seed=number)
    return len(subjects)


async def _placed(scene: Scene, every: list[Case]) -> list[Subject]:
    own = [_with_own_key(case.row, number) for number, case in enumerate(every)]
    twins = [Row(TaskState.DEFERRED, "resume", wait=row.wait) for row in own if row.wait and row.wait.shared_key]
    placed = await scene.place([*own, *twins])
    twin_of = {one.trigger_id: one for one in placed[len(own) :]}
    tasks = placed[: len(own)]
    return [Subject(case, task, twin_of.get(task.trigger_id)) for case, task in zip(every, tasks, strict=True)]


def _with_own_key(row: Row, number: int) -> Row:
    if row.wait is None or row.wait.shared_key is None:
        return row
    return replace(row, wait=replace(row.wait, shared_key=f"{row.wait.shared_key} {number}"))


async def _check_batch(db: Database, scene: Scene, subjects: list[Subject], seed: int) -> None:
    # Right and wrong ones are mixed, and each stands there twice: it must count once.
    given = [(subject.case, subject.task) for subject in subjects] * 2
    random.Random(seed).shuffle(given)
    before = await picture(scene.connection)
    answer = await matrix_words.say(db, scene, given)
    after = await picture(scene.connection)

    moved = {task: state for subject in subjects for task, state in subject.moved.items()}
    assert [row.id for row in answer] == sorted(moved), _surprises([row.id for row in answer], subjects)
    changes = differences(before, after)
    _check_history(changes, subjects)
    _check_tasks(changes, subjects, moved)
    _check_looks(changes)
    _check_rest(changes, subjects)


def _check_tasks(changes: list[Difference], subjects: list[Subject], moved: dict[int, TaskState]) -> None:
    later = {change.row["id"]: change.row for change in changes if change.table == "task_instance" and change.later}
    assert later.keys() == moved.keys()
    for subject in subjects:
        for one in (subject.task, subject.twin):
            if one is not None and one.id in moved:
                row = later[one.id]
                assert row["state"] == moved[one.id]
                assert row["leg"] == one.leg + subject.case.word.verb.new_leg


def _check_history(changes: list[Difference], subjects: list[Subject]) -> None:
    """One entry for each task that was moved, which says all there is to say; and one for each run that was opened."""
    entries = [change.row for change in changes if change.table == "history"]
    assert all(change.later for change in changes if change.table == "history")
    told = {row["task_instance_id"]: row for row in entries if row["task_instance_id"]}
    runs = Counter((row["dag_run_id"], row["verb"], row["to_state"]) for row in entries if not row["task_instance_id"])
    assert runs == Counter((s.task.run, "reopen", "queued") for s in subjects if s.reopened)
    assert len(told) == len(entries) - runs.total() == sum(len(subject.moved) for subject in subjects)
    for subject in subjects:
        for task, state in subject.moved.items():
            entry, case = told[task], subject.case
            assert (entry["verb"], entry["who"]) == (case.word.verb.name, matrix_words.WHO)
            assert (entry["from_state"], entry["to_state"]) == (case.row.state, state)
            assert entry["leg"] == subject.task.leg + case.word.verb.new_leg
            assert entry["try_number"] is not None
            if case.word.verb.name in matrix_words.SAYS_WHY:
                assert entry["why"] == matrix_words.WHY


def _check_looks(changes: list[Difference]) -> None:
    """What has ended, or may begin anew because no child is left of it, is to be looked at; nothing else is."""
    moved = {change.row["id"]: change.row for change in changes if change.table == "task_instance" and change.later}
    begins = {"none", "restarting"}
    expected = {
        (row["dag_run_id"], row["task_id"])
        for row in moved.values()
        if row["state"] in TERMINAL or (row["state"] in begins and row["worker_id"] is None)
    }
    looks = [(change.row["dag_run_id"], change.row["task_id"]) for change in changes if change.table == "look"]
    assert sorted(looks) == sorted(expected)


def _check_rest(changes: list[Difference], subjects: list[Subject]) -> None:
    """Whatever else has changed belongs to a task that was moved, and to what such a verb may touch."""
    verb = subjects[0].case.word.verb
    tasks = {task for subject in subjects for task in subject.moved}
    waits = {subject.task.trigger_id for subject in subjects if subject.moved}
    runs = {subject.task.run for subject in subjects if subject.moved}
    for change in changes:
        row = change.row
        match change.table:
            case "task_instance":
                assert row["id"] in tasks
            case "trigger":
                assert row["id"] in waits or row["id"] - matrix_words.MANY in tasks
            case "kill":
                assert change.later
                assert row["trigger_id"] in waits
                assert row["task_instance_id"] in tasks
            case "dag_run":
                assert verb.name in ("clear", "mark")
                assert row["id"] in runs
            case "turn":
                assert verb.fence == Fence.TURN
            case table:
                assert table in ("history", "look"), f"{verb.name} has changed a row of {table}: {row}"


def _surprises(answered: list[int], subjects: list[Subject]) -> list[str]:
    """Name what was accepted or refused against the table, for the message of a failed test."""
    accepted = set(answered)
    return [
        f"{'accepted' if subject.task.id in accepted else 'refused'}: {subject.case}"
        for subject in subjects
        if (subject.task.id in accepted) != (subject.case.expected is not None)
    ] or [f"doubled: {[task for task, times in Counter(answered).items() if times > 1]}"]
