"""A DAG file reads variables and connections while it is imported; its child asks, the processor answers."""

from typing import Any

import pytest

from bide import keys
from bide.control import desk
from bide.sealing import Sealer
from bide.settings import Settings
from bide.settings.declared import Core
from bide.store.database import Database
from tests.dagprocessor.conftest import HEAD, Bed

ASK = HEAD + "from bide.model.questions import GetConnection, GetVariable, GetXCom\n"
NAMED = ASK + "dag(port.ask(GetVariable('name')) or 'nameless')\n"


@pytest.fixture
def sealer(bed: Bed) -> Sealer:
    """The key of the processor."""
    return keys.sealer(Settings(core=Core(data_dir=bed.folder.parent)))


async def test_a_file_reads_a_variable_and_is_parsed_again_when_that_has_changed(
    bed: Bed, at_work: Any, db: Database, sealer: Sealer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIDE_VAR_PLACE", "here")
    bed.write("a.py", NAMED)
    bed.write("b.py", ASK + "dag(port.ask(GetVariable('place')), description=port.ask(GetConnection('db')))\n")
    await desk.set_connection(db, sealer, "db", "http", "http://host/")
    async with at_work(rescan_sec=0.2):
        await bed.has(nameless=1, here=1)
        assert "http://host/" in await bed.plan("here")
        await desk.set_variable(db, sealer, "name", "ada")
        await bed.has(ada=1, here=1)
        await desk.set_connection(db, sealer, "db", "http", "http://elsewhere/")
        await bed.has(ada=1, here=2)


async def test_what_a_file_has_read_as_a_secret_is_not_told_to_people(
    bed: Bed, at_work: Any, db: Database, sealer: Sealer
) -> None:
    await desk.set_variable(db, sealer, "api_token", "open-sesame")
    bed.write("bad.py", ASK + "token = port.ask(GetVariable('api_token'))\nprint(token)\nraise ValueError(token)\n")
    async with at_work():
        await bed.fails(bad="ValueError: ***")
    row = await bed.connection.fetchrow("select error, traceback from import_error")
    assert "It has printed:\n***" in row["traceback"]
    assert "open-sesame" not in row["error"] + row["traceback"]


async def test_a_file_may_ask_for_nothing_else_and_only_so_often(bed: Bed, at_work: Any) -> None:
    bed.write("xcom.py", ASK + "port.ask(GetXCom(dag_id='d', run_id='r', task_id='t'))\n")
    # It knows its socket; a question in the middle of another one is no talk.
    bed.write("rude.py", ASK + "for _ in range(200): port._channel.send(GetVariable('x'))\ndag('rude')\n")
    bed.write("liar.py", ASK + "port._channel.send(GetXCom(dag_id='d', run_id='r', task_id='t'))\ndag('liar')\n")
    async with at_work():
        await bed.fails(
            xcom="it may ask for variables and connections, and for nothing else",
            rude="a question came before the last one was answered",
            liar="What is told of the file is not what a DAG is made of",
        )


async def test_files_that_ask_are_answered_among_very_many_too(bed: Bed, at_work: Any) -> None:
    asks = "port.ask(GetVariable('name')) or 'nameless'"
    for number in range(60):
        bed.write(
            f"f{number}.py", ASK + f"dag('f{number}', description={asks if number % 20 == 7 else repr('mute')})\n"
        )
    async with at_work():
        await bed.has(**{f"f{number}": 1 for number in range(60)})
    told = await bed.connection.fetch("select dag_id from dag where description = 'nameless'")
    assert {row["dag_id"] for row in told} == {"f7", "f27", "f47"}
