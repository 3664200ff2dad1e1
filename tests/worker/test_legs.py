"""A leg's way through the worker: from the queue to a child and back as a verb."""

import json

from bide.sealing import Sealer, wait
from tests.worker.stage import KEY, Stage, retried

OUTCOMES = """
    from datetime import timedelta
    from bide.model.outcome import Deferred, Failed, Rescheduled, Skipped, Succeeded
    from bide.model.wait import Wait

    def returns(leg, port):
        print("hello from", leg.task_id)
        return {"try": leg.try_number}

    def returns_nothing(leg, port):
        pass

    def raises(leg, port):
        raise RuntimeError("no such luck")

    def raises_for_good(leg, port):
        return Failed("never again", retryable=False)

    def skips(leg, port):
        return Skipped("nothing to do")

    def looks_again(leg, port):
        return Rescheduled(after=timedelta(hours=1))

    def waits(leg, port):
        return Deferred(Wait(classpath="package.Trigger", kwargs='{"path": 1}', next_method="returns"))

    def exits(leg, port):
        raise SystemExit(3)

    def leaves_nonsense(leg, port):
        return Succeeded({"return_value": "this is no JSON"})

    def returns_nonsense(leg, port):
        return Succeeded({"return_value": object()})
"""


async def test_every_outcome_becomes_its_verb_and_none_holds_up_another(stage: Stage) -> None:
    async with stage.working(slots=20):
        ids = await stage.launch(
            OUTCOMES,
            "returns", "returns_nothing", "skips", "looks_again", "waits", "exits",
            "leaves_nonsense", "returns_nonsense",
            raises=retried(2), raises_for_good=retried(2),
        )  # fmt: skip
        assert await stage.ends(*ids) == {
            "returns": "success",
            "returns_nothing": "success",
            "raises": "up_for_retry",
            "raises_for_good": "failed",
            "skips": "skipped",
            "looks_again": "up_for_reschedule",
            "waits": "deferred",
            "exits": "failed",
            "leaves_nonsense": "failed",
            "returns_nonsense": "failed",
        }
    assert json.loads(str(await stage.xcom("returns"))) == {"try": 1}
    assert await stage.xcom("returns_nothing") is None
    assert await stage.log("returns") == "hello from returns\n"
    assert await stage.log("returns_nothing") == ""
    assert "in raises\n" in await stage.log("raises")
    assert await stage.why("raises") == "RuntimeError: no such luck"
    assert await stage.why("skips") == "nothing to do"
    assert await stage.why("exits") == "SystemExit: 3"
    assert "cannot be stored" in await stage.why("leaves_nonsense")
    assert "cannot be stored" in await stage.log("leaves_nonsense")
    assert "could not be sent" in await stage.why("returns_nonsense")
    assert (await stage.row("raises"))["wake_at"] is not None
    trigger = await stage.connection.fetchrow("select * from trigger")
    assert Sealer([KEY]).open(trigger["kwargs"], wait(trigger["id"], "package.Trigger")) == '{"path": 1}'


async def test_what_a_leg_used_is_recorded(stage: Stage) -> None:
    async with stage.working():
        await stage.launch(
            """
            def works(leg, port):
                taken = bytearray(64 * 2**20)
                return sum(range(1_000_000))
            """,
            "works",
        )
        await stage.reaches("works", "success")
    record = await stage.record("works")
    assert (record.leg, record.try_number, record.exit) == (1, 1, None)
    assert record.pid
    assert 64 * 1024 < (record.peak_memory_kb or 0) < 1024 * 1024
    assert 0 < (record.cpu_sec or 0) < 5
    assert record.started_at <= record.ended_at


async def test_each_version_runs_its_own_code_and_a_broken_one_breaks_nothing_else(stage: Stage) -> None:
    async with stage.working(load_sec=1.5):
        await stage.launch("def first(leg, port):\n    return 1\n", "first")
        await stage.launch("def second(leg, port):\n    return 2\n", "second")
        await stage.launch("import no_such_module\n", "unknown")
        await stage.launch("import os, sys\nprint('so long', file=sys.stderr)\nos._exit(4)\n", "leaves")
        await stage.launch("import os\nos.kill(os.getpid(), 11)\n", "crashes")
        await stage.launch("while True:\n    pass\n", "never_comes")
        assert await stage.ends("first", "second", "unknown", "leaves", "crashes", "never_comes") == {
            "first": "success",
            "second": "success",
            "unknown": "failed",
            "leaves": "failed",
            "crashes": "failed",
            "never_comes": "failed",
        }
    assert (await stage.xcom("first"), await stage.xcom("second")) == ("1", "2")
    assert "ModuleNotFoundError: No module named 'no_such_module'" in await stage.why("unknown")
    assert "ended with exit code 4" in await stage.why("leaves")
    assert "so long" in await stage.log("leaves")
    assert "was killed by SIGSEGV" in await stage.why("crashes")
    assert "took more than 1.5 s to be imported" in await stage.why("never_comes")


async def test_a_task_without_a_version_fails_in_a_sentence(stage: Stage) -> None:
    async with stage.working():
        await stage.version("", {"task": {}})
        await stage.connection.execute(
            "with run as (insert into dag_run (dag_id, run_id, queued_at) values ('dag', 'r', now()) returning *)"
            " insert into task_instance (dag_run_id, dag_id, run_id, task_id, state, leg)"
            " select id, dag_id, run_id, 'task', 'queued', 1 from run"
        )
        stage.ids["task"] = await stage.connection.fetchval("select id from task_instance")
        assert await stage.reaches("task", "failed")
    assert "no version of its DAG" in await stage.why("task")


async def test_a_child_takes_several_legs_unless_one_of_them_has_changed_it(stage: Stage) -> None:
    source = """
        import os, threading

        def _steady(leg, port):
            print("from", leg.task_id)
            return os.getpid()

        {0}

        def moves(leg, port):
            os.chdir("/")
            return os.getpid()

        def sets(leg, port):
            os.environ["LEFT_BEHIND"] = "1"
            return os.getpid()

        def threads(leg, port):
            threading.Thread(target=threading.Event().wait, daemon=True).start()
            return os.getpid()

        def begets(leg, port):
            os.posix_spawn("/bin/sleep", ["sleep", "60"], {{}})
            return os.getpid()
    """
    steady = [f"steady_{number}" for number in range(6)]
    changing = ["moves", "sets", "threads", "begets"]
    definitions = "\n        ".join(f"{name} = _steady" for name in steady)
    async with stage.working(slots=1, legs_per_child=4):
        await stage.launch(source.format(definitions), *steady)
        await stage.ends(*steady)
        pids = [await stage.xcom(name) for name in steady]
        # The order of ids is that of the queue.
        assert len(set(pids[:4])) == 1
        assert len(set(pids[4:])) == 1
        assert pids[3] != pids[4]
        assert [await stage.log(name) for name in steady] == [f"from {name}\n" for name in steady]
        await stage.launch(source.format(""), *changing)
        await stage.ends(*changing)
        assert len({await stage.xcom(name) for name in changing}) == len(changing)


async def test_slots_are_never_exceeded_and_each_end_makes_room(stage: Stage) -> None:
    names = [f"task_{number}" for number in range(12)]
    source = "import time\nfrom threading import Event\n" + "".join(
        f"def {name}(leg, port):\n    began = time.monotonic()\n    Event().wait(0.05)\n"
        "    return began, time.monotonic()\n"
        for name in names
    )
    async with stage.working(slots=3):
        await stage.launch(source, *names)
        await stage.ends(*names)
    spans = [json.loads(str(await stage.xcom(name))) for name in names]
    together = [sum(began <= moment < ended for began, ended in spans) for moment, _ in spans]
    assert max(together) == 3


async def test_while_legs_are_short_the_next_ones_are_at_hand_and_given_back_when_they_have_to_wait(
    stage: Stage,
) -> None:
    short = [f"short_{number}" for number in range(60)]
    # The more urgent ones come first.
    tasks = {name: {"priority_weight": 9, "weight_rule": "absolute"} for name in short} | {
        "long_one": {"priority_weight": 5, "weight_rule": "absolute"},
        "long_two": {"priority_weight": 5, "weight_rule": "absolute"},
        "waits_one": {},
        "waits_two": {},
    }
    source = "from threading import Event\n" + "".join(f"def {name}(leg, port): return leg.leg\n" for name in tasks)
    source += "def long_one(leg, port): Event().wait(60 if leg.leg == 1 else 0)\nlong_two = long_one\n"
    given_back = "select count(*) from history where verb = 'stopped' and why is null"
    async with stage.working(slots=2, legs_per_child=100):
        await stage.launch(source, **tasks)
        await stage.ends(*short)
        await stage.reaches("waits_one", "scheduled")
        await stage.reaches("waits_two", "scheduled")
        assert await stage.state("long_one") == await stage.state("long_two") == "running"
        assert await stage.connection.fetchval(given_back) == 2
        row = await stage.row("waits_one")
        assert (row["worker_id"], row["try_number"]) == (None, 1)
        assert await stage.log("waits_one") == ""
