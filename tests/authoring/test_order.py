"""Tasks are put in order with >>, lists, chains, groups and labels."""

import pytest

from tests.authoring.world import dag_in, plan_of

NAMES = """
    from bide import DAG, Label, TaskGroup, chain, chain_linear, cross_downstream, task, task_group
    from bide.operators.empty import EmptyOperator

    with DAG("d") as dag:
        a, b, c, d, e = (EmptyOperator(task_id=name) for name in "abcde")
        {}
"""


def edges(body: str) -> set[str]:
    plan = plan_of(NAMES.format("\n        ".join(body.splitlines())))
    return {f"{before}{task.task_id}" for task in plan.tasks for before in task.upstream}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a >> b >> c", "ab bc"),
        ("a << b << c", "ba cb"),
        ("a >> [b, c] >> d", "ab ac bd cd"),
        ("[a, b] >> c << [d, e]", "ac bc dc ec"),
        ("[a, b] << c", "ca cb"),
        ("a >> (b, [c, d])", "ab ac ad"),
        ("a.set_downstream([b, c]); a.set_upstream(d)", "ab ac da"),
        ("a >> b; a >> b", "ab"),
        ("a >> Label('if') >> b >> Label('else') >> [c, d]", "ab bc bd"),
        ("a << Label('if') << b", "ba"),
        ("[a, b] >> Label('both') >> c", "ac bc"),
        ("chain(a, [b, c], [d, e])", "ab ac bd ce"),
        ("chain(a, Label('x'), b)", "ab"),
        ("chain_linear(a, [b, c], [d, e])", "ab ac bd be cd ce"),
        ("cross_downstream([a, b], [c, d])", "ac ad bc bd"),
        ("a.output >> b", "ab"),
        ("a >> b.output", "ab"),
        ("a.output['key'] >> [b, c.output]", "ab ac"),
    ],
)
def test_tasks_are_put_in_order(body: str, expected: str) -> None:
    assert edges(body) == set(expected.split())


GROUPS = """
    from bide import DAG, TaskGroup, task, task_group
    from bide.operators.empty import EmptyOperator

    with DAG("d", default_args={"retries": 1, "owner": "dag"}) as dag:
        start, end = EmptyOperator(task_id="start"), EmptyOperator(task_id="end")
        with TaskGroup("outer", tooltip="all of it", default_args={"retries": 2}) as outer:
            first = EmptyOperator(task_id="first")
            with TaskGroup("inner", default_args={"owner": "inner"}, group_display_name="In here") as inner:
                left, right = EmptyOperator(task_id="left"), EmptyOperator(task_id="right", retries=5)
            first >> inner
        with TaskGroup("plain", prefix_group_id=False) as plain:
            EmptyOperator(task_id="bare")
        start >> outer >> end
        start >> plain
"""


def test_a_group_puts_its_name_in_front_and_stands_in_order_as_a_whole() -> None:
    plan = plan_of(GROUPS)
    upstream = {task.task_id: task.upstream for task in plan.tasks}
    assert upstream == {
        "start": (),
        "end": ("outer.inner.left", "outer.inner.right"),
        "outer.first": ("start",),
        "outer.inner.left": ("outer.first",),
        "outer.inner.right": ("outer.first",),
        "bare": ("start",),
    }


def test_the_plan_knows_the_groups_and_which_task_lies_where() -> None:
    plan = plan_of(GROUPS)
    assert [(group.group_id, group.parent, group.tooltip, group.display_name) for group in plan.groups] == [
        ("outer", None, "all of it", None),
        ("outer.inner", "outer", None, "In here"),
        ("plain", None, None, None),
    ]
    assert [task.group for task in plan.tasks] == [None, None, "outer", "outer.inner", "outer.inner", "plain"]


def test_the_nearer_default_arguments_stand_the_more_they_count() -> None:
    tasks = {task.task_id: task for task in plan_of(GROUPS).tasks}
    assert [(task.retry.retries, task.owner) for task in tasks.values()] == [
        (1, "dag"),
        (1, "dag"),
        (2, "dag"),
        (2, "inner"),
        (5, "inner"),
        (1, "dag"),
    ]


def test_a_task_knows_its_label_and_its_relatives() -> None:
    dag = dag_in(GROUPS)
    left = dag.get_task("outer.inner.left")
    assert left.label == "left"
    assert left.get_flat_relative_ids(upstream=True) == {"start", "outer.first"}
    assert dag.get_task("start").get_flat_relative_ids() == set(dag.task_ids) - {"start"}
    assert [task.task_id for task in dag.roots] == ["start"]
    assert [task.task_id for task in dag.leaves] == ["end", "bare"]
    assert [task.task_id for task in left.upstream_list] == ["outer.first"]
    assert [task.task_id for task in left.downstream_list] == ["end"]


def test_a_function_can_make_groups_and_return_what_its_tasks_return() -> None:
    plan = plan_of("""
        from bide import DAG, task, task_group

        with DAG("d"):
            @task
            def add(x): return x + 1

            @task_group(default_args={"retries": 3})
            def twice(x):
                '''Adds two.'''
                return add(add(x))

            @task_group
            def alone():
                add(0)

            add(twice.override(group_id="more")(twice(1))) >> alone()
    """)
    assert {task.task_id: task.upstream for task in plan.tasks} == {
        "twice.add": (),
        "twice.add__1": ("twice.add",),
        "more.add": ("twice.add__1",),
        "more.add__1": ("more.add",),
        "add": ("more.add__1",),
        "alone.add": ("add",),
    }
    assert plan.groups[0].tooltip == "Adds two."
    assert [task.retry.retries for task in plan.tasks] == [3, 3, 3, 3, 0, 0]


def test_tasks_may_be_given_their_dag_and_group_by_name() -> None:
    plan = plan_of("""
        from bide import DAG, TaskGroup
        from bide.operators.empty import EmptyOperator
        dag = DAG("d")
        group = TaskGroup("g", dag=dag)
        a = EmptyOperator(task_id="a", dag=dag)
        b = EmptyOperator(task_id="b", task_group=group)
        c = EmptyOperator(task_id="c")
        c.dag = dag
        d = EmptyOperator(task_id="d")
        a >> b >> c >> d
    """)
    assert {task.task_id: task.upstream for task in plan.tasks} == {
        "a": (),
        "g.b": ("a",),
        "c": ("g.b",),
        "d": ("c",),
    }


def test_a_label_changes_nothing_else() -> None:
    assert plan_of(NAMES.format("a >> Label('x') >> b")) == plan_of(NAMES.format("a >> b"))


def test_thousands_of_tasks_in_a_row_become_a_plan() -> None:
    plan = plan_of("""
        from bide import DAG, chain
        from bide.operators.empty import EmptyOperator
        with DAG("d"):
            chain(*(EmptyOperator(task_id=f"t{number}") for number in range(2_000)))
    """)
    assert len(plan.tasks) == 2_000
    assert plan.tasks[-1].upstream == ("t1998",)
