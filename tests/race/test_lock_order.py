"""The lock order: whoever keeps it never meets a deadlock, and a statement that turns it is noticed.

A third party holds the first row that both must pass. So both wait there, the one in front of the other; who turned the
order already holds what the one in front will need next.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from bide.sql import statement
from tests.race.duel import Act
from tests.race.ring import DEADLINE_SEC, Party, Ring, party
from tests.race.scene import FIRST, SECOND, SPOTS

BOTH = (FIRST, SECOND)
TASK = f"task_instance where id = {FIRST.task}"
WAIT = f"trigger where id = {SECOND.wait}"
RUN = f"dag_run where id = {FIRST.run}"
TASKS_LOCKED = (
    "select count(*) > 0 from (select from task_instance t where t.id = any ($3::bigint[]) for update) locked"
)


@dataclass(frozen=True)
class Meeting:
    """Two words about the same two subjects, the row at which they are held, and how the second one may turn."""

    spot: str
    first: str
    second: str
    held: str
    right: str
    wrong: str

    def __str__(self) -> str:
        return f"{self.second} after {self.first}, at {self.held.partition(' ')[0]}"

    def turned(self) -> Mapping[str, str]:
        text = statement(self.second).text
        assert self.right in text, f"{self.second} no longer has {self.right!r}: turn it in another place"
        return {text: text.replace(self.right, self.wrong)}


MEETINGS = (
    Meeting("running", "clear", "succeed", TASK, "order by id, leg", "order by id desc, leg desc"),
    Meeting("running", "clear", "defer", TASK, "order by id, leg", "order by id desc, leg desc"),
    Meeting("running", "succeed", "clear", TASK, "order by t.id for update", "order by t.id desc for update"),
    Meeting("queued", "unqueue", "start", TASK, "order by id, leg", "order by id desc, leg desc"),
    Meeting("scheduled", "clear", "enqueue", TASK, "order by id, leg", "order by id desc, leg desc"),
    Meeting("deferred, held", "clear", "fire", TASK, "found order by id", "found order by id desc"),
    Meeting("deferred, held", "release", "fire", WAIT, "order by trigger_id", "order by trigger_id desc"),
    Meeting("deferred, held", "fire", "park", WAIT, "order by id, claim", "order by id desc, claim desc"),
    # The wait before its task.
    Meeting("deferred, held", "clear", "crash", TASK, "g.claim offset 0", "g.claim for update of w offset 0"),
    # The tasks before their runs.
    Meeting("running", "mark", "clear", RUN, "where r.id = any", f"where ({TASKS_LOCKED}) and r.id = any"),
)


@pytest.mark.parametrize("meeting", MEETINGS, ids=str)
async def test_words_about_the_same_rows_wait_for_each_other_in_one_order(arena: str, meeting: Meeting) -> None:
    assert await errors(arena, meeting, {}) == []


@pytest.mark.parametrize("meeting", MEETINGS, ids=str)
async def test_a_turned_order_is_noticed(arena: str, meeting: Meeting) -> None:
    assert "DeadlockDetectedError" in await errors(arena, meeting, meeting.turned())


async def errors(url: str, meeting: Meeting, instead: Mapping[str, str]) -> list[str]:
    """Let both meet at the row that is held, let it go, and tell what PostgreSQL had to refuse."""
    (spot,) = (spot for spot in SPOTS if spot.name == meeting.spot)
    async with party(url, {}) as first, party(url, instead) as second, party(url, {}) as watcher:
        await Ring(first, second, watcher).build([(spot, subject) for subject in BOTH])
        await watcher.begin()
        await watcher.connection.execute(f"select from {meeting.held} for update")
        said = []
        for word, who in ((meeting.first, first), (meeting.second, second)):
            said.append(asyncio.create_task(Act(word, BOTH).by(who, word)))
            await stands_still(watcher, who)
        await watcher.commit()
        await asyncio.gather(*said)
        return first.errors + second.errors


async def stands_still(watcher: Party, who: Party) -> None:
    """Wait until somebody waits for somebody else."""
    async with asyncio.timeout(DEADLINE_SEC):
        while not await watcher.connection.fetchval("select pg_blocking_pids($1) <> '{}'", who.pid):
            pass
