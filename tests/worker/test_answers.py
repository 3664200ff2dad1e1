"""What the code of a task asks of the engine, and what it is told."""

import json
from typing import Any

from bide import keys
from bide.sealing import Sealer, connection, generate_key, variable
from tests.process.eventually import eventually
from tests.worker.stage import KEY, Stage

IMPORT = "from bide.model.questions import GetVariable\n"
ASKS = """
    import os, threading
    from datetime import UTC, datetime, timedelta
    from bide.exceptions import EngineRefused
    from bide.model.messages import *
    from bide.model.questions import *
    from bide.model.states import TaskState

    FIRST = datetime(2030, 1, 2, 12, tzinfo=UTC)

    def leaves(leg, port):
        assert port.ask(PutXCom(key="early", value='"' + leg.run.run_id + '"'))
        return leg.run.run_id

    def fetches(leg, port):
        mine = dict(dag_id="dag", task_id="leaves")
        return [
            port.ask(GetXCom(run_id="run 1", **mine)),
            port.ask(GetXCom(run_id="run 1", key="early", **mine)),
            port.ask(GetXCom(run_id=leg.run.run_id, **mine)),
            port.ask(GetXCom(run_id=leg.run.run_id, include_prior_dates=True, **mine)),
            port.ask(GetXCom(run_id="run 1", map_index=3, **mine)),
            port.ask(GetXComs(run_id="run 1", **mine)),
            port.ask(GetXComs(run_id="none", **mine)),
        ]

    def configures(leg, port):
        found = [
            port.ask(GetVariable("plain")),
            port.ask(GetVariable("missing")),
            port.ask(GetVariable("in_environment")),
            port.ask(PutVariable("api_token", "tok-en-42", "new")),
            port.ask(GetVariable("api_token")),
            port.ask(DeleteVariable("plain")),
            port.ask(DeleteVariable("plain")),
            port.ask(GetConnection("warehouse")),
            port.ask(GetConnection("in_environment")),
            port.ask(GetConnection("missing")),
        ]
        print("the token is tok-en-42, the password p@ss/word or p%40ss%2Fword, and", found[8])
        raise RuntimeError("tok-en-42 does not work")

    def runs(leg, port):
        before = dict(dag_id="dag", before=datetime(2040, 1, 1, tzinfo=UTC))
        previous = port.ask(GetPreviousRun(**before))
        early = FIRST - timedelta(days=400)
        launched = port.ask(LaunchRun(dag_id="dag", run_id="mine", logical_date=early, conf='{"a":1}'))
        return [
            launched,
            port.ask(LaunchRun(dag_id="dag", run_id="mine")),
            port.ask(LaunchRun(dag_id="dag"))[:10],
            port.ask(GetRun(dag_id="dag", run_id="mine")),
            port.ask(GetRun(dag_id="dag", logical_date=FIRST)),
            port.ask(GetRun(dag_id="dag", run_id="none")),
            previous["run_id"],
            port.ask(GetPreviousRun(state="failed", **before)),
            port.ask(CountTasks(dag_id="dag", states=(TaskState.SUCCESS,), run_ids=("run 1",))),
            port.ask(CountTasks(dag_id="dag", states=(TaskState.SUCCESS, TaskState.NONE), task_ids=("leaves",),
                                logical_dates=(FIRST, early))),
            port.ask(ClearRun("dag", "run 1")),
            port.ask(CountTasks(dag_id="dag", states=(TaskState.RESTARTING,))),
        ]

    def _refusal(port, question):
        try:
            port.ask(question)
        except EngineRefused as refused:
            return str(refused)

    def is_refused(leg, port):
        return [
            _refusal(port, question)
            for question in (
                LaunchRun(dag_id="nowhere"),
                ClearRun("dag", "none"),
                GetRun(dag_id="dag"),
                GetVariable("moved"),
                GetVariable("foreign"),
                PutXCom(key="k", value="no JSON"),
                GetPreviousRun(dag_id="x" * 200, before=FIRST, state="\\x00"),
            )
        ]

    def forks(leg, port):
        reading, writing = os.pipe()
        if not os.fork():
            os.write(writing, _refusal(port, GetVariable("plain")).encode())
            os._exit(0)
        os.wait()
        return [os.read(reading, 10_000).decode(), port.ask(GetVariable("plain"))]

    def asks_from_threads(leg, port):
        found = []
        ask = lambda key: found.append((key, port.ask(GetVariable(key))))
        threads = [threading.Thread(target=ask, args=(f"number_{n % 5}",)) for n in range(40)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        return sorted(found)
"""


async def variables(stage: Stage, **values: str) -> None:
    for key, value in values.items():
        sealed = Sealer([KEY]).seal(value, variable(key))
        await stage.connection.execute("insert into variable (key, sealed) values ($1, $2)", key, sealed)


async def value_of(stage: Stage, name: str) -> Any:
    assert await stage.ends(name) == {name: "success"}, await stage.log(name)
    return json.loads(str(await stage.xcom(name)))


async def test_xcoms_of_this_run_and_of_others(stage: Stage) -> None:
    async with stage.working():
        await stage.launch(ASKS, "leaves")
        await stage.reaches("leaves", "success")
        await stage.launch(ASKS, "fetches")
        run = '"run 1"'
        assert await value_of(stage, "fetches") == [run, run, None, run, None, [run], []]


async def test_variables_and_connections_are_opened_and_their_secrets_masked(stage: Stage) -> None:
    address = "postgresql://me:p%40ss%2Fword@host/db"
    sealed = Sealer([KEY]).seal(address, connection("warehouse"))
    await stage.connection.execute(
        "insert into connection (conn_id, conn_type, sealed) values ('warehouse', 'postgres', $1)", sealed
    )
    await variables(stage, plain="a value")
    environ = {
        "BIDE_VAR_IN_ENVIRONMENT": "from the environment",
        "BIDE_CONN_IN_ENVIRONMENT": '{"conn_type": "http", "extra": "{\\"api_key\\": \\"k-e-y\\"}"}',
    }
    async with stage.working(environ):
        await stage.launch(ASKS, "configures")
        await stage.reaches("configures", "failed")
    log = await stage.log("configures")
    assert log.startswith(
        'the token is ***, the password *** or ***, and {"conn_type": "http", "extra": "{\\"api_key\\": \\"***\\"}"}\n'
    )
    assert await stage.why("configures") == "RuntimeError: *** does not work"
    for secret in ("tok-en-42", "p@ss/word", "p%40ss%2Fword", "k-e-y"):
        assert secret not in log
    kept = await stage.connection.fetch("select key, description, sealed from variable")
    assert [(row["key"], row["description"]) for row in kept] == [("api_token", "new")]
    assert Sealer([KEY]).open(kept[0]["sealed"], variable("api_token")) == "tok-en-42"


async def test_without_keys_in_the_settings_the_one_that_is_kept_opens(stage: Stage) -> None:
    stage.keys = ()
    sealed = keys.sealer(stage.settings()).seal("eu", variable("region"))
    await stage.connection.execute("insert into variable (key, sealed) values ('region', $1)", sealed)
    async with stage.working():
        await stage.launch(f"{IMPORT}def reads(leg, port): return port.ask(GetVariable('region'))", "reads")
        assert await value_of(stage, "reads") == "eu"


async def test_runs_are_launched_counted_found_and_cleared(stage: Stage) -> None:
    async with stage.working():
        await stage.launch(ASKS, "leaves")
        await stage.reaches("leaves", "success")
        await stage.launch(ASKS, "runs")
        assert await value_of(stage, "runs") == [
            *("mine", None, "manual__20", "queued", "running", None, "run 2", None),
            *(1, 1, 1, 1),
        ]
    launched = await stage.connection.fetchrow("select * from dag_run where run_id = 'mine'")
    assert (launched["conf"], launched["run_type"]) == ('{"a":1}', "manual")
    tasks = await stage.connection.fetch("select task_id, is_leaf from task_instance where run_id = 'mine'")
    assert [(row["task_id"], row["is_leaf"]) for row in tasks] == [("runs", True)]


async def test_what_cannot_be_answered_is_refused_in_a_sentence(stage: Stage) -> None:
    other = Sealer([generate_key()]).seal("x", variable("foreign"))
    moved = Sealer([KEY]).seal("x", variable("elsewhere"))
    await stage.connection.execute("insert into variable (key, sealed) values ('foreign', $1)", other)
    await stage.connection.execute("insert into variable (key, sealed) values ('moved', $1)", moved)
    async with stage.working():
        await stage.launch(ASKS, "is_refused")
        refusals = await value_of(stage, "is_refused")
    assert refusals[0] == (
        "There is no DAG 'nowhere'; `bide dags list` shows those that there are, `bide dags errors` broken files."
    )
    assert refusals[1] == "DAG 'dag' has no run 'none' that could be cleared."
    assert refusals[2] == "A run is known by its run_id or its logical_date; give one of them."
    assert "sealed for another place" in refusals[3]
    assert "does not open what is stored" in refusals[4]
    assert refusals[5].startswith("PutXCom failed: ")
    assert refusals[6].startswith("GetPreviousRun failed: ")


async def test_a_question_is_asked_by_the_task_alone_and_by_one_thread_at_a_time(stage: Stage) -> None:
    await variables(stage, plain="a value", **{f"number_{number}": str(number) for number in range(5)})
    async with stage.working():
        await stage.launch(ASKS, "forks", "asks_from_threads")
        refused, answered = await value_of(stage, "forks")
        assert refused.startswith("Only the process of a task can ask the engine")
        assert answered == "a value"
        found = await value_of(stage, "asks_from_threads")
    assert found == sorted([f"number_{n % 5}", str(n % 5)] for n in range(40))


async def test_a_leg_that_is_no_longer_its_workers_leaves_no_value(stage: Stage) -> None:
    async with stage.working():
        await stage.launch(
            """
            from bide.model.questions import PutXCom

            def late(leg, port):
                while port.ask(PutXCom(key="k", value="1")):
                    pass
                raise KeyboardInterrupt
            """,
            "late",
        )

        async def has_left_a_value() -> bool:
            return bool(await stage.connection.fetchval("select count(*) from xcom"))

        await eventually(has_left_a_value)
        # What a rescue does, before the worker has heard of it.
        await stage.connection.execute("update task_instance set leg = leg + 1")
        await stage.connection.execute("delete from xcom")

        async def is_let_go() -> bool:
            records = await stage.connection.fetchval("select count(*) from leg_record")
            return bool(records)

        await eventually(is_let_go)
    assert await stage.connection.fetchval("select count(*) from xcom") == 0
