"""Mistakes about tasks and their order are refused where they stand, in a sentence that says what to do."""

import pytest

from tests.authoring.world import refusal

TASK = [
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a", retry_delay=-5)
        """,
        2,
        "Task 'a': retry_delay is -1 day, 23:59:55; it must not be negative.",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a", retries=10**9)
        """,
        2,
        "Task 'a': retries is 1000000000; it must lie between 0 and 1000000.",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a", params={"n": Param(1, type="string")})
        """,
        2,
        "Task 'a': the default of param 'n' does not fit its own schema: 1 is not of type 'string'.",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a", params=["n"])
        """,
        2,
        "Task 'a': params is a list; it must be a dict with texts as its keys.",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a", depends_on_past="yes")
        """,
        2,
        "Task 'a': depends_on_past is a str; it must be True or False.",
    ),
    (
        """
        with DAG("d"):
            @task
            async def f(): ...
        """,
        2,
        "f() is async, and tasks are not; call asyncio.run() in a plain function.",
    ),
    (
        """
        with DAG("d"):
            @task(3)
            def f(): ...
        """,
        2,
        "@task stands above a function; other arguments are given by name, as in @task(retries=3).",
    ),
    (
        """
        with DAG("d"):
            @task(retires=3)
            def f(): ...
        """,
        2,
        "@task has no argument 'retires'; did you mean 'retries'?",
    ),
    (
        """
        with DAG("d"):
            a = EmptyOperator(task_id="a")
        with DAG("e") as e:
            a.dag = e
        """,
        4,
        "Task 'a': it is in DAG 'd' and cannot be put into 'e' too.",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a")
            EmptyOperator(task_id="a")
        """,
        3,
        "Task id 'a' is taken by the task of /dags/example.py:8; call this one 'a__1', for instance.",
    ),
    (
        """
        with DAG("d"):
            BashOperator(task_id="a", bash_comand="x")
        """,
        2,
        "BashOperator has no argument 'bash_comand'; did you mean 'bash_command'?",
    ),
    (
        """
        with DAG("d"):
            BashOperator(task_id="a")
        """,
        2,
        "BashOperator needs bash_command.",
    ),
    (
        """
        with DAG("d"):
            BashOperator("a", bash_command="x")
        """,
        2,
        "BashOperator takes its arguments by name: write BashOperator(task_id=…, bash_command=…).",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a", trigger_rule="all_sucess")
        """,
        2,
        "Task 'a': trigger_rule 'all_sucess' is unknown; did you mean 'all_success'?",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a", retries="3")
        """,
        2,
        "Task 'a': retries is a str; it must be a whole number.",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a", retry_delay="5m")
        """,
        2,
        "Task 'a': retry_delay is a str; it must be a timedelta, or a number of seconds.",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a b")
        """,
        2,
        "task_id 'a b' must be made of letters, digits, '_', '-' and '.', and not of dots alone.",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator()
        """,
        2,
        "EmptyOperator needs task_id: a name of its own, as a text.",
    ),
    (
        'EmptyOperator(task_id="a")',
        1,
        "Task 'a' is in no DAG: write it below `with DAG(…):`, or pass dag=….",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a").as_setup()
        """,
        2,
        "Task 'a': setup and teardown tasks cannot be used yet. Put it in order with >> and give it"
        " trigger_rule='all_done'.",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a", email="a@b.c")
        """,
        2,
        "Task 'a': Bide sends no mail; take email away and write an on_failure_callback.",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a", run_as_user="root")
        """,
        2,
        "Task 'a': run_as_user cannot be used: every task runs as the user of its worker.",
    ),
    (
        """
        with DAG("d"):
            PythonSensor(task_id="a", python_callable=print, mode="pok")
        """,
        2,
        "Task 'a': mode 'pok' is unknown; it is 'poke' or 'reschedule'.",
    ),
    (
        """
        with DAG("d"):
            PythonSensor(task_id="a", python_callable=print, poke_interval=-1)
        """,
        2,
        "Task 'a': poke_interval is -1; it must not be negative.",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a", on_failure_callback="me")
        """,
        2,
        "Task 'a': on_failure_callback is a str; it must be a function.",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a", pool_slots=0)
        """,
        2,
        "Task 'a': pool_slots is 0; it must be 1 or more.",
    ),
    (
        """
        with DAG("d"):
            Variable.get("x")
        """,
        2,
        "There is nobody here who could be asked: no task and no trigger runs, and no service of Bide reads this file. "
        "Try it out with `bide dags test`, or set variables and connections in the environment: BIDE_VAR_NAME, "
        "BIDE_CONN_ID.",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a", execution_timeout=timedelta(0))
        """,
        2,
        "Task 'a': execution_timeout is 0:00:00; it must be more than nothing and at most 36500 days.",
    ),
    (
        """
        class Op(BaseOperator):
            def __init__(self, x, **kwargs):
                self.x = x
        with DAG("d"):
            Op(task_id="a", x=1)
        """,
        5,
        "Op.__init__ does not call super().__init__(**kwargs), so it makes no task.",
    ),
    (
        """
        class Op(BaseOperator):
            def __init__(self, x, **kwargs):
                super().__init__(retries="a", **kwargs)
        with DAG("d"):
            Op(task_id="a", x=1)
        """,
        3,
        "Task 'a': retries is a str; it must be a whole number.",
    ),
    (
        """
        with DAG("d") as d:
            d.get_task("x")
        """,
        2,
        "DAG 'd' has no task 'x'.",
    ),
    (
        """
        with DAG("d"):
            EmptyOperator(task_id="a", outlets=[1])
        """,
        2,
        "Task 'a': outlets holds an int; it may hold assets and their names.",
    ),
]

ORDER = [
    (
        """
        with DAG("d") as d:
            a = EmptyOperator(task_id="a"); b = EmptyOperator(task_id="b"); c = EmptyOperator(task_id="c")
            a >> b >> c
            c >> a
        """,
        4,
        "Tasks wait for one another in a circle: a >> b >> c >> a. Take one of these dependencies away.",
    ),
    (
        'EmptyOperator(task_id="a") >> EmptyOperator(task_id="b")',
        1,
        "Tasks 'a' and 'b' are in no DAG: write them below `with DAG(…):`.",
    ),
    (
        """
        with DAG("d"): a = EmptyOperator(task_id="a")
        with DAG("e"): b = EmptyOperator(task_id="b")
        a >> b
        """,
        3,
        "Task 'a' of DAG 'd' cannot come before 'b' of DAG 'e'; let an ExternalTaskSensor wait for it instead.",
    ),
    (
        """
        with DAG("d"):
           a = EmptyOperator(task_id="a")
           a >> a
        """,
        3,
        "Task 'a' would wait for itself.",
    ),
    (
        """
        with DAG("d"):
           a = EmptyOperator(task_id="a")
           a >> None
        """,
        3,
        "Tasks are put in order with tasks, groups and lists of them, not with None.",
    ),
    (
        """
        with DAG("d"):
           @task
           def f(): ...
           a = EmptyOperator(task_id="a")
           a >> f
        """,
        5,
        "Tasks are put in order with tasks, groups and lists of them, not with a TaskFunction; call"
        " it, as in f() instead of f.",
    ),
    (
        """
        with DAG("d"):
            @task
            def f(order): ...
            f(oder=1)
        """,
        4,
        "f() has no argument 'oder'; did you mean 'order'?",
    ),
    (
        """
        with DAG("d"):
            @task
            def f(order): ...
            f()
        """,
        4,
        "f() needs order.",
    ),
    (
        """
        with DAG("d"):
            @task
            def f(order): ...
            f(1, 2)
        """,
        4,
        "f() cannot be called so: too many positional arguments.",
    ),
    (
        """
        with DAG("d"):
            TaskGroup("g")
            EmptyOperator(task_id="g")
        """,
        3,
        "'g' is the id of a task group already; call the task otherwise.",
    ),
    (
        'TaskGroup("g")',
        1,
        "Group 'g' is in no DAG: write it below `with DAG(…):`, or pass dag=….",
    ),
    (
        """
        with DAG("d"):
            chain([EmptyOperator(task_id="a")], [EmptyOperator(task_id="b"), EmptyOperator(task_id="c")])
        """,
        2,
        "chain() joins two lists pair by pair, but these have 1 and 2 tasks; use chain_linear() to "
        "join each with each.",
    ),
]


MISTAKES = [*TASK, *ORDER]


@pytest.mark.parametrize(("body", "line", "sentence"), MISTAKES, ids=[sentence for _, _, sentence in MISTAKES])
def test_a_mistake_is_told_with_its_line_and_what_to_do(body: str, line: int, sentence: str) -> None:
    assert refusal(body) == (line, sentence)
