"""Every task verb × every state and variant × right, stale and future fence, told from the table."""

import re

import asyncpg
import pytest

from bide.model.states import TaskState
from bide.model.transitions import VERBS
from bide.sql import Statement, statement
from bide.store import database as store
from bide.store.database import Database
from tests.store.matrix import OFFSETS, cases, rows, words
from tests.store.matrix_check import check_word
from tests.store.scene import Scene


async def test_a_verb_changes_what_the_table_allows_and_nothing_else(db: Database, scene: Scene) -> None:
    checked = {word.name: await check_word(db, scene, word) for word in words()}
    # As many as the table implies: rows × the offsets of each verb's fence, for each way to say it.
    assert sum(checked.values()) == sum(len(rows()) * len(OFFSETS[word.verb.fence]) for word in words())
    print(f"{sum(checked.values())} cases")


def test_no_verb_and_no_state_and_no_end_is_left_out() -> None:
    assert {word.verb.name for word in words()} == set(VERBS)
    assert {row.state for row in rows()} == set(TaskState)
    for verb in VERBS.values():
        expected = {(case.row.state, case.expected) for word in words() if word.verb == verb for case in cases(word)}
        assert {(before, after) for before, after in expected if after} == {
            (before, after) for before, ends in verb.moves.items() for after in ends
        }


FENCES = {
    "leg": (r"t\.(child_)?leg = g\.leg|g\.leg = t\.(child_)?leg", "true"),
    "claim": (r"\bw\.claim = g\.claim", "true"),
    "epoch": (r"p\.epoch = g\.epoch", "true"),
    "wait": (r"g\.trigger_id = t\.waits_for", "true"),
    "turn": (r"where number = \$2", "where number <> $2 - 1000"),
    "date": (r"(w\.due_at|t\.trigger_timeout|t\.wake_at) <= \(select now from moment\)", "true"),
    "dead owner": (r"j\.state <> 'running'", "true"),
}
# Within the places that choose rows, not those that set values. Some verbs need no look at the state: only a deferred
# task has `waits_for`, only one that rests has `wake_at`, and none has a worker but those that `rescue` may free.
STATE = r"(?<!when )t\.state (= '\w+'|(not )?in\s+\([^)]*\)|<> \$4)"
STATELESS = {
    "fire_by_hand",
    "fail_by_hand",
    "cancel",
    "extend",
    "fire",
    "end",
    "crash",
    "fire_due",
    "lapse",
    "wake",
    "rescue",
}


def broken(verb: str, pattern: str, instead: str) -> Statement:
    text, times = re.subn(pattern, instead, statement(verb).text)
    assert times, f"{verb} has no {pattern}"
    return Statement(verb, "broken", text)


async def is_caught(db: Database, scene: Scene, verb: str) -> bool:
    try:
        for word in words():
            if word.verb.name == verb:
                await check_word(db, scene, word)
    except (AssertionError, asyncpg.IntegrityConstraintViolationError):
        return True
    return False


@pytest.fixture(params=["fence", "state", "history"])
def sabotage(request: pytest.FixtureRequest) -> dict[str, Statement]:
    """Every statement without one of the things that hold it."""
    if request.param == "fence":
        fenced = [verb for verb in VERBS.values() if verb.fence in FENCES]
        return {verb.name: broken(verb.name, *FENCES[verb.fence]) for verb in fenced}
    if request.param == "state":
        return {verb: broken(verb, STATE, "true") for verb in VERBS.keys() - STATELESS}
    return {verb: broken(verb, r"(from changed c cross join moment)\n\)", r"\1 where false)") for verb in VERBS}


async def test_a_verb_without_its_fence_its_look_at_the_state_or_its_history_is_caught(
    db: Database, scene: Scene, monkeypatch: pytest.MonkeyPatch, sabotage: dict[str, Statement]
) -> None:
    monkeypatch.setattr(store, "statement", lambda name: sabotage.get(name) or statement(name))
    missed = [verb for verb in sorted(sabotage) if not await is_caught(db, scene, verb)]
    assert missed == []
