"""The operators that come along do what their names say."""

import signal
import threading
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from bide.authoring.shell import Shell, environment
from bide.authoring.values import VALUES
from bide.model.outcome import Failed, Skipped, Succeeded
from bide.model.plan import SKIPS_KEY, Callback
from bide.model.questions import LaunchRun
from tests.authoring.engine import Engine, OtherRun
from tests.authoring.world import DAY, NOW, dag_in, failure, leg_of, plan_of, returned

BASH = """
    from bide import DAG
    from bide.operators.bash import BashOperator
    with DAG("d"):
        BashOperator(task_id="t", {})
"""


def bash(arguments: str, **known: Any) -> Any:
    return leg_of(dag_in(BASH.format(arguments)), "t", **known)


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ("bash_command='echo one; echo two'", "two"),
        ("bash_command='true'", ""),
        ("bash_command='echo {{ ds }}'", "2026-03-01"),
        ("bash_command='echo $A', env={'A': '{{ ds }}'}", "2026-03-01"),
        ("bash_command='echo ${HOME:-none}', env={'A': 'x'}", "none"),
        ("bash_command='echo $BIDE_TEST_WORD $A', env={'A': 'x'}, append_env=True", "word x"),
        ("bash_command='echo $BIDE_TEST_WORD'", "word"),
        ("bash_command='echo error >&2'", "error"),
        (r"bash_command='printf \"\\\\xff\"'", r"\xff"),
        (r"bash_command='printf \"\\\\xe9\"', output_encoding='latin-1'", "é"),
        ("bash_command='echo 5', output_processor=int", 5),
    ],
)
def test_the_last_line_of_a_command_is_returned(arguments: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIDE_TEST_WORD", "word")
    assert returned(bash(arguments)) == value


@pytest.mark.parametrize(
    ("arguments", "outcome"),
    [
        ("bash_command='exit 1'", "The command has ended with exit code 1."),
        ("bash_command='exit 99'", Skipped("The command has ended with exit code 99, which means: nothing to do.")),
        ("bash_command='exit 3', skip_on_exit_code=3", Skipped("The command has ended with exit code 3, which means: "
         "nothing to do.")),
        ("bash_command='exit 4', skip_on_exit_code=[3, 4]", Skipped("The command has ended with exit code 4, which "
         "means: nothing to do.")),
        ("bash_command='exit 99', skip_on_exit_code=None", "The command has ended with exit code 99."),
        ("bash_command='kill -9 $$'", "The command has ended with exit code -9."),
        ("bash_command='pwd', cwd='/nowhere'", "cwd '/nowhere' is no folder."),
    ],
)  # fmt: skip
def test_the_exit_code_of_a_command_decides(arguments: str, outcome: Any) -> None:
    found = bash(arguments)
    assert (failure(found) if isinstance(found, Failed) else found) == outcome


def test_a_command_runs_in_its_folder_or_in_an_empty_one(tmp_path: Path) -> None:
    assert returned(bash(f"bash_command='pwd', cwd={str(tmp_path)!r}")) == str(tmp_path)
    assert returned(bash("bash_command='ls | wc -l'")).strip() == "0"


def test_what_a_command_says_is_in_the_log_while_it_runs(capfd: pytest.CaptureFixture[str]) -> None:
    bash("bash_command='echo one; echo two >&2'")
    log = [line.split(maxsplit=3)[-1] for line in capfd.readouterr().err.splitlines()]
    assert log == ["Running: echo one; echo two >&2", "one", "two", "The command has ended with exit code 0."]


def test_all_that_a_command_has_started_is_stopped_with_it() -> None:
    shell, heard = Shell(), []

    def stop_at_the_second(line: str) -> None:
        heard.append(int(line))
        if len(heard) == 2:
            shell.stop()

    shell.run("sleep 60 & echo $!; echo $$; wait", environment(None, False), "/", "utf-8", stop_at_the_second)
    assert all(ends_soon(pid) for pid in heard)


def test_a_command_that_takes_too_long_is_stopped() -> None:
    outcome = bash("bash_command='sleep 60'", try_time_left=timedelta(milliseconds=200))
    assert isinstance(outcome, Failed)
    assert outcome.error == "The task has taken longer than its execution_timeout."


def test_a_command_that_does_not_listen_is_ended_by_force() -> None:
    shell, heard = Shell(grace_sec=0.1), []

    def stop(line: str) -> None:
        heard.append(line)
        shell.stop()

    command = "trap '' TERM; echo $$; while true; do sleep 0.05; done"
    code, _ = shell.run(command, environment(None, False), "/", "utf-8", stop)
    assert code == -signal.SIGKILL
    assert ends_soon(int(heard[0]))


def ends_soon(pid: int) -> bool:
    deadline = monotonic() + 10
    while is_running(pid) and monotonic() < deadline:
        threading.Event().wait(0.01)
    return not is_running(pid)


def is_running(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
    return "\nState:\tZ" not in status


def test_stopping_a_command_that_has_ended_or_never_began_does_nothing() -> None:
    shell = Shell()
    shell.stop()
    assert shell.run("true", environment(None, False), "/", "utf-8", print) == (0, "")
    shell.stop()


# Choosing. ----------------------------------------------------------------------------------------------------

BRANCH = """
    from bide import DAG, TaskGroup, task
    from bide.operators.branch import BaseBranchOperator
    from bide.operators.empty import EmptyOperator
    from bide.operators.latest_only import LatestOnlyOperator
    from bide.operators.python import BranchPythonOperator, ShortCircuitOperator

    with DAG("d"):
        t = {}
        a, b, join = (EmptyOperator(task_id=name) for name in ("a", "b", "join"))
        with TaskGroup("g") as g:
            first, second = EmptyOperator(task_id="first"), EmptyOperator(task_id="second")
            first >> second
        t >> [a, b, join, g]
        [a, b, g] >> join
"""
PYTHON = "BranchPythonOperator(task_id='t', python_callable=lambda: {!r})"


def skips(task: str, engine: Engine | None = None, **known: Any) -> Any:
    outcome = leg_of(dag_in(BRANCH.format(task)), "t", engine, **known)
    assert isinstance(outcome, Succeeded), outcome
    return VALUES.decode(outcome.xcoms[SKIPS_KEY])


@pytest.mark.parametrize(
    ("chosen", "skipped"),
    [
        ("a", ["b", "g.first"]),
        (["a", "b"], ["g.first"]),
        ("g", ["a", "b"]),
        ("g.second", ["a", "b", "g.first"]),
        ("join", ["a", "b", "g.first"]),
        (None, ["a", "b", "join", "g.first"]),
        ([], ["a", "b", "join", "g.first"]),
    ],
)
def test_what_a_branch_does_not_choose_is_skipped_unless_it_comes_after_what_it_chooses(
    chosen: Any, skipped: list[str]
) -> None:
    assert skips(PYTHON.format(chosen)) == skipped


def test_functions_and_classes_choose_alike() -> None:
    assert skips("task.branch(task_id='t')(lambda ds: 'a' if ds else 'b')()") == ["b", "g.first"]
    own = "type('Own', (BaseBranchOperator,), {'choose_branch': lambda self, context: 'a'})(task_id='t')"
    assert skips(own) == ["b", "g.first"]


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ("c", "The branch 'c' was chosen, but DAG 'd' has no such task."),
        ("g.frist", "The branch 'g.frist' was chosen, but DAG 'd' has no such task; did you mean 'g.first'?"),
        ([1], "A branch is chosen by the id of a task or a group, not by an int."),
        (True, "A branch is chosen by the id of a task or a group, not by a bool."),
    ],
)
def test_a_choice_that_is_none_fails_the_task_for_good(chosen: Any, sentence: str) -> None:
    outcome = leg_of(dag_in(BRANCH.format(PYTHON.format(chosen))), "t")
    assert outcome.error == sentence and not outcome.retryable  # type: ignore[union-attr]  # noqa: PT018


@pytest.mark.parametrize(
    ("more", "condition", "skipped"),
    [
        ("", True, []),
        ("", [1], []),
        ("", False, ["a", "b", "join", "g.first", "g.second"]),
        ("", None, ["a", "b", "join", "g.first", "g.second"]),
        (", ignore_downstream_trigger_rules=False", 0, ["a", "b", "join", "g.first"]),
    ],
)
def test_a_short_circuit_skips_all_that_comes_after_it(more: str, condition: Any, skipped: list[str]) -> None:
    task = f"ShortCircuitOperator(task_id='t', python_callable=lambda: {condition!r}{more})"
    assert sorted(skips(task)) == sorted(skipped)
    decorated = f"task.short_circuit(task_id='t'{more})(lambda: {condition!r})()"
    assert sorted(skips(decorated)) == sorted(skipped)


def test_only_the_latest_run_goes_on_and_one_that_was_launched_by_hand() -> None:
    latest = "LatestOnlyOperator(task_id='t')"
    assert skips(latest, Engine(latest=True)) == []
    assert skips(latest, Engine(latest=False)) == ["a", "b", "join", "g.first"]
    assert skips(latest, Engine(latest=False), run_type="manual") == []


def test_the_plan_knows_which_tasks_choose() -> None:
    plan = plan_of(BRANCH.format("task.branch(task_id='t')(lambda: 'a').expand_kwargs([{}])"))
    assert {task.task_id for task in plan.tasks if task.branches} == {"t"}


# Doing nothing. -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "empty"),
    [
        ("", True),
        (", on_failure_callback=print, trigger_rule='all_done', depends_on_past=True", True),
        (", on_success_callback=print", False),
        (", on_execute_callback=print", False),
        (", pre_execute=print", False),
        (", outlets=['x']", False),
    ],
)
def test_an_empty_task_needs_no_worker_unless_somebody_wants_to_be_called(arguments: str, empty: bool) -> None:
    dag = "from bide import DAG\nfrom bide.operators.empty import EmptyOperator\nwith DAG('d'):\n"
    (task,) = plan_of(f"{dag}    EmptyOperator(task_id='t'{arguments})").tasks
    assert task.is_empty is empty
    if "on_failure" in arguments:
        assert task.callbacks == {Callback.FAILURE}


# Launching. ---------------------------------------------------------------------------------------------------

LAUNCH = """
    from bide import DAG
    from bide.operators.trigger_dagrun import TriggerDagRunOperator
    with DAG("d"):
        TriggerDagRunOperator(task_id="t", trigger_dag_id="other", poke_interval=0.001{})
"""


def launches(arguments: str, engine: Engine) -> Any:
    engine.dags = {"other": ["a"]}
    return leg_of(dag_in(LAUNCH.format(arguments)), "t", engine)


def test_another_dag_is_launched_with_what_the_task_says_about_its_run() -> None:
    engine = Engine()
    outcome = launches(
        ", conf={'n': 1, 'day': '{{ ds }}'}, logical_date='{{ ts }}', trigger_run_id='r_{{ ds }}'", engine
    )
    assert engine.launched == [
        LaunchRun(dag_id="other", run_id="r_2026-03-01", logical_date=DAY, conf='{"n":1,"day":"2026-03-01"}')
    ]
    assert outcome == Succeeded({})
    assert engine.xcoms["d", "scheduled__2026-03-01", "t", -1, "trigger_run_id"] == '"r_2026-03-01"'


def test_without_an_id_the_run_is_named_after_its_date() -> None:
    engine = Engine()
    launches("", engine)
    launches(", logical_date='2026-01-01T00:00:00+00:00'", engine)
    assert [run.run_id for run in engine.launched] == [
        f"manual__{NOW.isoformat()}",
        "manual__2026-01-01T00:00:00+00:00",
    ]


@pytest.mark.parametrize(
    ("arguments", "outcome", "cleared"),
    [
        ("", "Run 'r' of DAG 'other' is there already. Choose another trigger_run_id or logical_date, or set "
         "reset_dag_run=True to let it start afresh.", []),
        (", skip_when_already_exists=True", Skipped("Run 'r' of DAG 'other' is there already."), []),
        (", reset_dag_run=True", Succeeded({}), ["r"]),
    ],
)  # fmt: skip
def test_a_run_that_is_there_already_is_met_as_the_author_wants(
    arguments: str, outcome: Any, cleared: list[str]
) -> None:
    engine = Engine(runs={("other", "r"): OtherRun("success")})
    found = launches(f", trigger_run_id='r'{arguments}", engine)
    assert (failure(found) if isinstance(found, Failed) else found) == outcome
    assert engine.cleared == cleared


@pytest.mark.parametrize(
    ("states", "arguments", "outcome"),
    [
        (["queued", "running", "success"], "", Succeeded({})),
        (["running", "failed"], "", "Run 'r' of DAG 'other' has ended as failed."),
        (["failed"], ", allowed_states=['failed'], failed_states=['success']", Succeeded({})),
        (["running", None], "", "Run 'r' of DAG 'other' is gone."),
    ],
)
def test_it_may_wait_until_the_run_has_ended(states: list[str | None], arguments: str, outcome: Any) -> None:
    class Changing(Engine):
        def _about_runs(self, question: Any) -> Any:
            return states.pop(0) if type(question).__name__ == "GetRun" else super()._about_runs(question)

    found = launches(f", trigger_run_id='r', wait_for_completion=True{arguments}", Changing())
    assert (failure(found) if isinstance(found, Failed) else found) == outcome
    assert states == []


def test_what_the_engine_refuses_fails_the_task_with_its_sentence() -> None:
    dag = dag_in(LAUNCH.format(""))
    assert failure(leg_of(dag, "t")) == "There is no DAG 'other'."
