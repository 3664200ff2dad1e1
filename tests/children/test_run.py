"""A leg ends in exactly one outcome, whatever the author's code does."""

import logging
import os
import re
import signal
import sys
import threading
from datetime import timedelta
from typing import Any

import pytest

from bide.authoring.values import VALUES
from bide.children.callbacks import run_callback
from bide.children.run import run_leg
from bide.exceptions import TaskError
from bide.model.messages import RunCallback
from bide.model.outcome import Failed, Outcome, Rescheduled, Skipped, Succeeded
from bide.model.plan import Callback
from tests.authoring.engine import Engine
from tests.authoring.world import DAY, dag_in, leg_of, order_for, result_of, returned

TASK = """
    import os, signal, sys, threading
    from datetime import UTC, datetime, timedelta
    from bide import DAG, BaseOperator, task
    from bide.exceptions import *

    class Own(Exception):
        pass

    def deeper(error):
        raise error

    with DAG("d"):
        @task
        def t():
            {}
        t()
"""


def ends(body: str, **known: Any) -> Outcome:
    return leg_of(dag_in(TASK.format("\n            ".join(body.splitlines()))), "t", **known)


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("return 1", Succeeded({"return_value": "1"})),
        ("return None", Succeeded({})),
        ("return (1,)", Succeeded({"return_value": '{"$":"tuple","v":[1]}'})),
        ("raise AirflowSkipException('nothing there')", Skipped("nothing there")),
        ("raise AirflowRescheduleException(datetime(2026, 3, 1, tzinfo=UTC))", Rescheduled(until=DAY)),
        ("raise TaskRescheduled(after=timedelta(seconds=9))", Rescheduled(after=timedelta(seconds=9))),
    ],
)
def test_an_end_that_was_meant_is_the_outcome(body: str, outcome: Outcome) -> None:
    assert ends(body) == outcome


@pytest.mark.parametrize(
    ("body", "error", "retryable"),
    [
        ("raise ValueError('no')", "ValueError: no", True),
        ("raise Own('no')", "bide_dags.example.Own: no", True),
        ("raise AirflowException('no')", "no", True),
        ("raise AirflowException", "bide.exceptions.TaskError", True),
        ("raise AirflowFailException('never')", "never", False),
        ("raise AirflowSensorTimeout('late')", "late", False),
        ("raise AirflowTaskTimeout('long')", "long", True),
        ("raise NotFound('gone')", "gone", True),
        ("sys.exit(3)", "The task has ended its process (SystemExit: 3).", True),
        ("sys.exit()", "The task has ended its process (SystemExit).", True),
        ("raise KeyboardInterrupt", "The task was interrupted.", True),
        ("raise GeneratorExit", "GeneratorExit", True),
        ("raise BaseException('base')", "BaseException: base", True),
        ("def again(): again()\nagain()", "The task calls itself too deeply (maximum recursion depth exceeded).", True),
        ("return print", "return value is a function, and code is not stored. Pass its name, or call it where the "
         "value is used.", True),
        ("return {'a': [object()]}", "return value['a'][0] is a object, of which the codec knows nothing. Pass plain "
         "values, make it a dataclass, or register it.", True),
        ("raise AirflowRescheduleException(datetime(2026, 3, 1))", "2026-03-01T00:00:00 has no time zone; say which "
         "one is meant.", True),
        ("raise TaskRescheduled(after=timedelta(-1))", "after is -1 day, 0:00:00; it must not be negative, nor over "
         "36500 days.", True),
    ],
)  # fmt: skip
def test_whatever_is_raised_fails_the_leg(body: str, error: str, retryable: bool) -> None:
    outcome = ends(body)
    assert isinstance(outcome, Failed)
    assert (outcome.error, outcome.retryable) == (error, retryable)


def test_a_traceback_begins_at_the_authors_code_and_shows_its_lines() -> None:
    outcome = ends(
        "try:\n    deeper(ValueError('first'))\nexcept ValueError as error:\n    raise Own('then') from error"
    )
    assert isinstance(outcome, Failed)
    lines = re.findall(r'File "([^"]+)", line \d+, in (\w+)\n +(.+)', outcome.traceback)
    assert lines == [
        ("/dags/example.py", "t", "deeper(ValueError('first'))"),
        ("/dags/example.py", "deeper", "raise error"),
        ("/dags/example.py", "t", "raise Own('then') from error"),
    ]
    assert "direct cause" in outcome.traceback


def test_an_error_of_our_own_needs_no_traceback() -> None:
    outcome = leg_of(
        dag_in("""
            from bide import DAG
            from bide.operators.bash import BashOperator
            with DAG("d"):
                BashOperator(task_id="t", bash_command="exit 3")
        """),
        "t",
    )
    assert outcome == Failed("The command has ended with exit code 3.", "", retryable=True)


def test_the_same_leg_can_be_run_twice_in_one_process() -> None:
    dag = dag_in("""
        from bide import DAG, task
        with DAG("d"):
            @task
            def t(x): return x
            t(["{{ ts_nodash }}"])
    """)
    assert returned(leg_of(dag, "t")) == ["20260301T000000"]
    assert returned(leg_of(dag, "t", logical_date=DAY + timedelta(days=1))) == ["20260302T000000"]


def test_a_task_that_is_gone_fails_for_good() -> None:
    dag = dag_in(TASK.format("pass"))
    assert leg_of(dag, "gone") == Failed("DAG 'd' has no task 'gone' any more.", "", retryable=False)


# Limits. ------------------------------------------------------------------------------------------------------

SLOW = """
    import threading
    from bide import DAG, BaseOperator

    said = []

    class Slow(BaseOperator):
        def execute(self, context):
            try:
                threading.Event().wait(30)
            except Exception:
                said.append("swallowed")

        def on_kill(self):
            said.append("stopped")
            raise OSError("and failed")

    with DAG("d") as dag:
        dag.said = said
        Slow(task_id="t")
"""


def test_a_try_whose_time_is_up_is_stopped_and_may_be_tried_again(capfd: pytest.CaptureFixture[str]) -> None:
    dag: Any = dag_in(SLOW)
    outcome = leg_of(dag, "t", try_time_left=timedelta(milliseconds=50))
    assert isinstance(outcome, Failed)
    assert outcome.error == "The task has taken longer than its execution_timeout."
    assert outcome.retryable
    assert "threading.Event().wait(30)" in outcome.traceback
    assert dag.said == ["stopped"]
    assert "on_kill has failed too" in capfd.readouterr().err


def test_a_try_whose_time_was_up_before_it_began_fails_at_once() -> None:
    outcome = leg_of(dag_in(SLOW), "t", try_time_left=timedelta(seconds=-1))
    assert isinstance(outcome, Failed)
    assert "execution_timeout" in outcome.error


def test_a_task_that_is_told_to_stop_stops_what_it_has_started() -> None:
    dag: Any = dag_in(SLOW)
    alarm = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM))
    alarm.start()
    outcome = leg_of(dag, "t")
    alarm.join()
    assert isinstance(outcome, Failed)
    assert outcome.error == "The task was told to stop."
    assert dag.said == ["stopped"]


def test_signals_mean_afterwards_what_they_meant_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGTERM)]
    assert ends("return signal.getitimer(signal.ITIMER_REAL)[0] > 5", try_time_left=timedelta(seconds=9)) == (
        Succeeded({"return_value": "true"})
    )
    assert [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGTERM)] == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_leg_also_runs_in_a_thread_where_no_signal_comes() -> None:
    dag, outcomes = dag_in(TASK.format("return 1")), []
    thread = threading.Thread(target=lambda: outcomes.append(leg_of(dag, "t", try_time_left=timedelta(seconds=9))))
    thread.start()
    thread.join()
    assert outcomes == [Succeeded({"return_value": "1"})]


# Going on in another leg. -------------------------------------------------------------------------------------

RESUMED = """
    from bide import DAG, BaseOperator

    class Op(BaseOperator):
        template_fields = ("text",)
        def __init__(self, text, **kwargs):
            super().__init__(**kwargs)
            self.text = text
        def execute(self, context, event=None):
            return ["execute", event]
        def go_on(self, context, event, n=0):
            return [self.text, context["run_id"], event, n]

    with DAG("d"):
        Op(task_id="t", text="{{ ds }}")
"""


def test_a_leg_goes_on_in_the_method_that_an_earlier_one_has_named() -> None:
    kwargs = VALUES.encode({"n": (1, 2), "event": {"ok": True}})
    outcome = leg_of(dag_in(RESUMED), "t", next_method="go_on", next_kwargs=kwargs)
    assert returned(outcome) == ["2026-03-01", "scheduled__2026-03-01", {"ok": True}, (1, 2)]
    outcome = leg_of(dag_in(RESUMED), "t", next_method="execute", next_kwargs='{"event": 5}')
    assert returned(outcome) == ["execute", 5]


def test_a_method_that_is_gone_fails_for_good() -> None:
    outcome = leg_of(dag_in(RESUMED), "t", next_method="gone")
    assert outcome == Failed("Op has no method 'gone' to go on in.", "", retryable=False)


# XComs. -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "value", "expected"),
    [
        ("do_xcom_push=False", "1", {}),
        ("multiple_outputs=True", "{'a': 1, 'b': None}", {"return_value": '{"a":1,"b":null}', "a": "1", "b": "null"}),
        ("multiple_outputs=True", "None", {}),
        ("multiple_outputs=True", "[1]", "With multiple_outputs a task returns a dict, but this one has returned a "
         "list."),
        ("multiple_outputs=True", "{1: 2}", "With multiple_outputs the keys of the dict are texts, but one is an int."),
        ("multiple_outputs=True", "{'': 2}", "XCom key '' must be printable and have 1 to "
         "250 bytes."),
    ],
)  # fmt: skip
def test_what_is_stored_is_what_the_author_asked_for(arguments: str, value: str, expected: Any) -> None:
    outcome = leg_of(
        dag_in(f"""
            from bide import DAG, task
            with DAG("d"):
                @task({arguments})
                def t():
                    return {value}
                t()
        """),
        "t",
    )
    assert (outcome.xcoms if isinstance(outcome, Succeeded) else outcome.error) == expected  # type: ignore[union-attr]


def test_values_of_classes_in_the_dag_file_come_back_as_they_were() -> None:
    body = """
        import enum
        from dataclasses import dataclass
        from bide import DAG, task

        class Color(enum.Enum):
            RED = 1

        @dataclass
        class Car:
            color: Color

        with DAG("d"):
            @task
            def t(ti):
                ti.xcom_push("car", Car(Color.RED))
                return ti.xcom_pull(key="car") == Car(Color.RED)
            t()
    """
    assert result_of(body) is True


# Hooks and callbacks. -----------------------------------------------------------------------------------------

CALLS = """
    from bide import DAG
    from bide.operators.python import PythonOperator

    said = []

    def say(word):
        return lambda context, *rest: said.append((word, context["ti"].task_id, *rest))

    def fail(context):
        raise ValueError("callback")

    with DAG("d") as dag:
        dag.said = said
        PythonOperator(
            task_id="t",
            python_callable=lambda: said.append("work") or 1,
            pre_execute=say("pre"),
            post_execute=say("post"),
            on_execute_callback=[fail, say("begun")],
            on_failure_callback=lambda context: said.append(context["exception"]),
            on_success_callback=say("done"),
        )
"""


def test_hooks_are_called_around_the_work_and_a_failing_callback_changes_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    dag: Any = dag_in(CALLS)
    assert returned(leg_of(dag, "t")) == 1
    assert dag.said == [("begun", "t"), ("pre", "t"), "work", ("post", "t", 1)]
    assert "on_execute_callback has failed:\n" in capfd.readouterr().err


def test_a_leg_that_goes_on_has_not_begun_again() -> None:
    dag: Any = dag_in(CALLS)
    leg_of(dag, "t", next_method="execute")
    assert dag.said == [("pre", "t"), "work", ("post", "t", 1)]


def test_callbacks_are_run_with_the_context_of_the_try() -> None:
    dag: Any = dag_in(CALLS)
    leg = order_for(dag, "t")
    assert run_callback(RunCallback(kind=Callback.SUCCESS, leg=leg), dag, Engine()) == Succeeded()
    run_callback(RunCallback(kind=Callback.FAILURE, leg=leg, reason="it broke"), dag, Engine())
    run_callback(RunCallback(kind=Callback.RETRY, leg=leg), dag, Engine())
    assert [str(word) for word in dag.said] == ["('done', 't')", "it broke"]
    assert isinstance(dag.said[1], TaskError)


# The log. -----------------------------------------------------------------------------------------------------


def test_everything_a_task_says_is_in_its_log(capfd: pytest.CaptureFixture[str]) -> None:
    ends(
        "import logging, warnings\n"
        "logging.getLogger('bide.task').info('one')\n"
        "logging.getLogger('some.library').warning('two %s', 2)\n"
        "logging.getLogger().error('three\\nlines', exc_info=ValueError('four'))\n"
        "print('five')"
    )
    out, err = capfd.readouterr()
    assert out == "five\n"
    stamp = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"
    assert re.match(
        rf"{stamp} INFO     one\n{stamp} WARNING  two 2\n{stamp} ERROR    three\nlines\nValueError: four\n", err
    )


def test_a_skip_says_why_in_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    ends("raise AirflowSkipException('no orders today')")
    assert capfd.readouterr().err.endswith("INFO     Skipped: no orders today\n")


def test_a_process_is_as_before_when_its_leg_has_ended(capfd: pytest.CaptureFixture[str]) -> None:
    root, own = logging.getLogger(), logging.StreamHandler(sys.stderr)
    root.addHandler(own)
    before = (list(root.handlers), root.level)
    dag = dag_in(TASK.format("return 1"))
    run_leg(order_for(dag, "t"), dag, Engine())
    assert (list(root.handlers), root.level) == before
    root.removeHandler(own)
    assert capfd.readouterr().err.count("Returned value") == 1
