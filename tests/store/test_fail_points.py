"""Fail points go off once, at the side of the commit that they name; those that kill and freeze are in tests/system."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from bide.errors import SettingsError
from bide.store import jobs
from bide.store.database import connected
from bide.store.failpoints import FailPointError, FailPoints

JOB = jobs.NewJob(job_type=jobs.JobType.WORKER, hostname="here")


@pytest.fixture
async def other(database: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


@pytest.mark.parametrize(("moment", "committed"), [("before", 0), ("after", 1)])
async def test_what_is_raised_is_raised_once_and_before_or_after_the_commit(
    database: str, other: Any, monkeypatch: pytest.MonkeyPatch, moment: str, committed: int
) -> None:
    monkeypatch.setenv("BIDE_FAIL_POINTS", f"register:{moment}:raise")
    async with connected(database) as db:
        with pytest.raises(FailPointError, match=f"register:{moment}:raise"):
            await jobs.register(db, "test", JOB)
        assert await other.fetchval("select count(*) from job") == committed
        await jobs.register(db, "test", JOB)
    assert await other.fetchval("select count(*) from job") == committed + 1


@pytest.mark.parametrize(("moment", "committed"), [("before", 1), ("after", 2)])
async def test_an_answer_that_is_lost_is_asked_for_again(
    database: str, other: Any, monkeypatch: pytest.MonkeyPatch, moment: str, committed: int
) -> None:
    monkeypatch.setenv("BIDE_FAIL_POINTS", f"register:{moment}:lose, beat:before:lose")
    async with connected(database) as db:
        assert await jobs.register(db, "test", JOB) == committed
        assert db.retries == 1
        assert await jobs.beat(db, committed)
        assert db.retries == 2
    assert await other.fetchval("select count(*) from job") == committed


def test_after_means_that_something_was_changed() -> None:
    points = FailPoints("bury:after:raise")
    points.after("bury", [])
    points.after("beat", ["row"])
    points.before("bury")
    with pytest.raises(FailPointError):
        points.after("bury", ["row"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("strat:after:die", "no statement 'strat'"),
        ("start:later:die", "write statement:moment:act instead of 'start:later:die'"),
        ("start:after:explode", "acts are die, freeze, raise, lose"),
        ("start", "write statement:moment:act"),
        ("start:after:die:3", "write statement:moment:act"),
    ],
)
def test_what_is_no_fail_point_is_refused(text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        FailPoints(f" beat:before:lose ,{text}")
