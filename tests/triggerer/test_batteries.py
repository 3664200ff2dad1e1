"""The triggers that come along, in the processes that really run them."""

import sqlite3
from contextlib import closing
from pathlib import Path

from bide.sealing import Sealer, connection
from tests.process.eventually import eventually
from tests.triggerer.post import KEY, Post

FILE = """
import os
from pathlib import Path
from bide import BaseSensorOperator, PokeReturnValue, Variable
from bide.operators.job import JobOperator

def look(path):
    return os.path.exists(path)

class Looks(BaseSensorOperator):
    def __init__(self, *, path, how, **kwargs):
        super().__init__(**kwargs)
        self.path, self.how = path, how

    def poke(self, context):
        found = [context["run_id"], context["ti"].task_id, Variable.get("x", "none")]
        return PokeReturnValue(self.how(self.path), found)

class Job(JobOperator):
    def __init__(self, *, path, **kwargs):
        super().__init__(**kwargs)
        self.path = path

    def status(self, job_id):
        return "running"

    def cancel(self, job_id):
        Path(self.path).write_text(f"job {job_id} is cancelled")
"""


async def test_a_sensor_of_a_dag_file_looks_by_its_poke_in_a_runner(post: Post) -> None:
    version = await post.version(["task_0"], FILE)
    recipe = {
        "class": "bide_dags.dag_file:Looks",
        "arguments": {"path": str(post.folder / "go"), "poke_interval": 0.02},
        "functions": {"how": "bide_dags.dag_file:look"},
    }
    context = {"run_id": "run 1"}
    arguments = {"sensor": recipe, "context": context, "end_from_trigger": False}
    (number,) = await post.wait("bide.authoring.polling.PokeTrigger", arguments, source=FILE, dag_version_id=version)
    async with post.waiting():
        await post.are_held(1)
        post.go()
        assert await post.ends(number) == [["run 1", "task_0", "none"]]


async def test_a_job_is_cancelled_when_its_wait_is_stopped(post: Post) -> None:
    version = await post.version(["task_0"], FILE)
    note = post.folder / "note"
    recipe = {"class": "bide_dags.dag_file:Job", "arguments": {"path": str(note)}, "functions": {}}
    arguments = {"operator": recipe, "job_id": 7, "poke_interval": 0.02}
    (number,) = await post.wait(
        "bide.triggers.job.JobTrigger", arguments, source=FILE, dag_version_id=version, on_kill=True
    )
    async with post.waiting():
        await post.are_held(1)
        await post.clear(number)
        await eventually(lambda: note.exists() and note.read_text() == "job 7 is cancelled")


async def test_files_commands_and_queries_are_waited_for(post: Post) -> None:
    data = post.folder / "data.db"
    with closing(sqlite3.connect(data)) as database:
        database.executescript("create table t (n); insert into t values (0)")
    sealed = Sealer([KEY]).seal(f"sqlite:///{data}", connection("lite"))
    into = "insert into connection (conn_id, conn_type, sealed) values ('lite', 'sqlite', $1)"
    await post.connection.execute(into, sealed)
    often = {"poke_interval": 0.02}
    (file,) = await post.wait("bide.triggers.file.FileTrigger", {"filepath": str(post.folder / "g?"), **often})
    (query,) = await post.wait("bide.triggers.sql.SqlTrigger", {"conn_id": "lite", "sql": "select n from t", **often})
    command = f"test -e {post.folder}/go && echo there"
    (asked,) = await post.wait("bide.triggers.command.CommandTrigger", {"bash_command": command, **often})
    async with post.waiting():
        await post.are_held(3)
        post.go()
        with closing(sqlite3.connect(data)) as database:
            database.execute("update t set n = 5")
            database.commit()
        assert await post.ends(file, query, asked) == [str(Path(post.folder) / "go"), 5, "there"]
