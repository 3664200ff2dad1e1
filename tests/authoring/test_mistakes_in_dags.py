"""Mistakes about DAGs, mapping and whole files are refused where they stand, in a sentence that says what to do."""

import pytest

from tests.authoring.world import refusal

DAG = [
    (
        'with DAG("d", start_date=pendulum.datetime(9999, 12, 31, 23, tz="America/New_York")): ...',
        1,
        "DAG 'd': 9999-12-31 23:00:00-05:00 is no date in UTC.",
    ),
    ("DAG(5)", 1, "A DAG needs a dag_id: a name of its own, as a text."),
    (
        'with DAG("a b"): ...',
        1,
        "dag_id 'a b' must be made of letters, digits, '_', '-' and '.', and not of dots alone.",
    ),
    (
        'with DAG("d", schedule=CronTriggerTimetable("@daily", timezone="Mars")): ...',
        1,
        "'Mars' is no time zone with a name, such as 'Europe/Berlin'.",
    ),
    (
        'with DAG("d", schedule=CronTriggerTimetable("@daily", timezone="UTC", interval=timedelta(-1))): ...',
        1,
        "interval is datetime.timedelta(days=-1); it must be a timedelta that is not negative.",
    ),
    (
        'with DAG("d", schedule=CronTriggerTimetable("@daily", timezone="UTC", run_immediately=True)): ...',
        1,
        "CronTriggerTimetable does not take run_immediately; launch the first run with catchup.",
    ),
    (
        'with DAG("d", default_args=[1]): ...',
        1,
        "DAG 'd': default_args is a list; it must be a dict with texts as its keys.",
    ),
    ('with DAG("d", tags=[1]): ...', 1, "DAG 'd': tags must be a list of texts."),
    ('with DAG("d", deadline=1): ...', 1, "DAG 'd': deadline cannot be used: use dagrun_timeout instead."),
    ("Asset()", 1, "An Asset needs a name or a uri."),
    (
        'with DAG("d", schedule="0 25 * * *"): ...',
        1,
        "schedule '0 25 * * *' is no cron line (Bad hour); write '@daily', a cron line such as '30 "
        "6 * * *', a timedelta, or None.",
    ),
    (
        'with DAG("d", schedule="@dayly"): ...',
        1,
        "schedule '@dayly' is unknown; did you mean '@daily'?",
    ),
    (
        'with DAG("d", schedule="0 0 30 2 *"): ...',
        1,
        "schedule '0 0 30 2 *' is no cron line (Bad day-of-month); write '@daily', a cron line such"
        " as '30 6 * * *', a timedelta, or None.",
    ),
    (
        'with DAG("d", schedule=5): ...',
        1,
        "schedule is an int; write '@daily', a cron line such as '30 6 * * *', a timedelta, or None.",
    ),
    (
        'with DAG("d", schedule=[Asset("x")]): ...',
        1,
        "Schedules on assets do not work yet; give a time instead, or None.",
    ),
    (
        'with DAG("d", schedule=timedelta(0)): ...',
        1,
        "A schedule needs a timedelta that is longer than nothing, not datetime.timedelta(0).",
    ),
    (
        'with DAG("d", start_date="2026-01-01"): ...',
        1,
        "DAG 'd': start_date is a str; it must be a datetime, such as pendulum.datetime(2026, 1, 31, tz=\"UTC\").",
    ),
    (
        """
        east = timezone(timedelta(hours=2))
        with DAG("d", start_date=datetime(2026, 1, 2, tzinfo=east), schedule="@daily"): ...
        """,
        2,
        "'UTC+02:00' is no time zone with a name, such as 'Europe/Berlin'.",
    ),
    (
        'with DAG("d", shedule="@daily"): ...',
        1,
        "DAG has no argument 'shedule'; did you mean 'schedule'?",
    ),
    (
        'with DAG("d", schedule_interval="@daily"): ...',
        1,
        "DAG has no argument 'schedule_interval'; it is called 'schedule' today.",
    ),
    (
        'with DAG("d", catchup=True): ...',
        1,
        "DAG 'd': catchup needs a start_date to begin from.",
    ),
    (
        'with DAG("d", max_active_runs=0): ...',
        1,
        "DAG 'd': max_active_runs is 0; it must be 1 or more.",
    ),
    (
        'with DAG("d", schedule="@continuous", max_active_runs=3): ...',
        1,
        "DAG 'd': with '@continuous' only one run goes on at a time; take max_active_runs away.",
    ),
    (
        'with DAG("d", params={"n": Param(1, type="string")}): ...',
        1,
        "DAG 'd': the default of param 'n' does not fit its own schema: 1 is not of type 'string'.",
    ),
    (
        'with DAG("d", params={"n": Param(1, type="strin")}): ...',
        1,
        "A param has a schema that is no JSON schema: 'strin' is not valid under any of the given schemas.",
    ),
    (
        'with DAG("d", params={"n": Param(type="string")}, schedule="@daily"): ...',
        1,
        "DAG 'd': runs that its schedule launches would have no value for param 'n'; give it a "
        "default, or take the schedule away.",
    ),
    (
        'with DAG("d", params={"n": datetime(2026,1,1)}): ...',
        1,
        "A param holds what JSON cannot: Object of type datetime is not JSON serializable.",
    ),
    (
        'with DAG("d", default_args={"retires": 3}): EmptyOperator(task_id="a")',
        1,
        "DAG 'd': no task takes 'retires' from default_args; did you mean 'retries'?",
    ),
    (
        """
        with DAG("d", default_args={"retries": -1}):
            EmptyOperator(task_id="a")
        """,
        2,
        "Task 'a': retries is -1; it must be 0 or more.",
    ),
    (
        """
        with DAG("d"): ...
        with DAG("d"): ...
        """,
        2,
        "DAG id 'd' is taken by the DAG of /dags/example.py:7; give this one its own.",
    ),
    (
        """
        with DAG("d", start_date=pendulum.datetime(2026,1,1)):
            EmptyOperator(task_id="a", start_date=pendulum.datetime(2026,1,2))
        """,
        2,
        "Task 'a': a task has no start_date of its own; give it to the DAG.",
    ),
    (
        'with DAG("d", params={"a": Param(3, maximum=2)}) as d: ...',
        1,
        "DAG 'd': the default of param 'a' does not fit its own schema: 3 is greater than the maximum of 2.",
    ),
]

MAPPING = [
    (
        """
        with DAG("d"):
            @task
            def f(order): ...
            f.expand(order="abc")
        """,
        4,
        "expand() goes over lists, dicts and results of tasks, but order is a str; pass what is the"
        " same for all to partial().",
    ),
    (
        """
        with DAG("d"):
            @task
            def f(order): ...
            f.expand()
        """,
        4,
        "expand() needs something to go over, such as expand(x=[1, 2, 3]).",
    ),
    (
        """
        with DAG("d"):
            @task
            def f(order): ...
            f.expand(oder=[1])
        """,
        4,
        "f() has no argument 'oder'; did you mean 'order'?",
    ),
    (
        """
        with DAG("d"):
            @task
            def f(order): ...
            f.partial(order=1).expand(order=[1])
        """,
        4,
        "order stands in partial() and in expand(); it is either the same for all or not.",
    ),
    (
        """
        with DAG("d"):
            @task
            def f(order): ...
            f.expand_kwargs({"order": 1})
        """,
        4,
        "expand_kwargs() goes over a list of dicts, not over a dict; use expand() for that.",
    ),
    (
        """
        with DAG("d"):
            @task
            def f(order): ...
            f.expand_kwargs([{"oder": 1}])
        """,
        4,
        "f() has no argument 'oder'; did you mean 'order'?",
    ),
    (
        """
        with DAG("d"):
            BashOperator.partial(task_id="a").expand(retries=[1, 2], bash_command=["x"])
        """,
        2,
        "retries must be the same for all elements; pass it to partial().",
    ),
    (
        """
        with DAG("d"):
            BashOperator.partial(task_id="a").expand(env=[{}])
        """,
        2,
        "BashOperator needs bash_command.",
    ),
    (
        """
        with DAG("d"):
            BashOperator.partial(task_id="a", comand="x").expand(env=[{}])
        """,
        2,
        "BashOperator has no argument 'comand'; did you mean 'bash_command'?",
    ),
    (
        """
        with DAG("d"):
            @task
            def f(): return [1]
            for x in f(): ...
        """,
        4,
        "What a task returns is not known while the file is read, so it cannot be looped over; use "
        ".expand() to make a task for each element.",
    ),
    (
        """
        with DAG("d"):
            @task
            def f(): return [1]
            @task
            def g(): return [1]
            f().map(g)
        """,
        6,
        "map() takes a plain function; for a task of its own use .expand().",
    ),
    (
        """
        with DAG("d"):
            @task_group
            def g(x): ...
            g.expand(x=[1])
        """,
        4,
        "Task groups cannot be mapped yet. Map the tasks in the group one by one.",
    ),
    (
        """
        with DAG("d"):
            @task
            def f(): return [1]
            f().zip([1])
        """,
        4,
        "Results of tasks are put together with one another, not with a list.",
    ),
    (
        """
        with DAG("d"):
            @task
            def f(): return [1]
            @task
            def g(x): return [1]
            g.expand(x=f().zip(f().concat(f())))
        """,
        6,
        "zip(), zip() with a fillvalue and concat() cannot be put into one another; do it in a task.",
    ),
]

FILE = [
    (
        "from bide import setup",
        1,
        "ImportError: bide has no setup yet; put tasks in order with >> and give the last trigger_rule='all_done'.",
    ),
    (
        "from bide import Dag",
        1,
        "bide has no 'Dag'; did you mean 'dag'?",
    ),
    (
        "def f(:",
        1,
        "invalid syntax.",
    ),
    (
        "1 / 0",
        1,
        "ZeroDivisionError: division by zero",
    ),
    (
        "raise SystemExit(3)",
        1,
        "The file ends the process while it is read (SystemExit: 3); take that out.",
    ),
]


MISTAKES = [*DAG, *MAPPING, *FILE]


@pytest.mark.parametrize(("body", "line", "sentence"), MISTAKES, ids=[sentence for _, _, sentence in MISTAKES])
def test_a_mistake_is_told_with_its_line_and_what_to_do(body: str, line: int, sentence: str) -> None:
    assert refusal(body) == (line, sentence)
