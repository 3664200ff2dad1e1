"""A verb, its statement and its function in the store have one name."""

import pytest

from bide.model.transitions import HOLDER_VERBS, RUN_VERBS, TASK_VERBS
from bide.sql import Statement, statement_files, statements
from tests.meta import guards
from tests.meta.tree import files

FIRE = Statement("fire", "Why.", "update")
MARK = Statement("mark", "Why.", "insert into history values ('reopen')")


def test_every_verb_has_one_statement_and_every_statement_one_function() -> None:
    written = [statement for file in statement_files() for statement in statements(file).values()]
    store = files("src/bide/store", suffix=".py").values()
    performed = [name for source in store for name in guards.performed(source)]
    verbs = [name for table in (TASK_VERBS, RUN_VERBS, HOLDER_VERBS) for name in (verb.name for verb in table)]
    assert list(guards.unpaired(written, performed, verbs)) == []


@pytest.mark.parametrize(
    ("written", "performed", "verbs", "found"),
    [
        ([FIRE], ["fire"], ["fire"], []),
        ([MARK], ["mark"], ["reopen"], []),
        ([FIRE], [], [], ["statement fire has 0 functions in the store"]),
        ([FIRE], ["fire", "fire"], [], ["statement fire has 2 functions in the store"]),
        ([FIRE, FIRE], ["fire"], [], ["there are 2 statements named fire"]),
        ([], ["fire"], ["fire"], ["verb fire has no statement"]),
        ([Statement("fire", "", "")], ["fire"], [], ["statement fire does not say what it is for"]),
    ],
)
def test_what_is_missing_or_doubled_is_found(
    written: list[Statement], performed: list[str], verbs: list[str], found: list[str]
) -> None:
    assert list(guards.unpaired(written, performed, verbs)) == found


def test_a_function_that_runs_another_statement_does_not_count() -> None:
    assert guards.performed('async def fire(db):\n    return await db.rows("fire")\n') == ["fire"]
    assert guards.performed('async def fire(db):\n    return await db.rows("crash")\n') == []
