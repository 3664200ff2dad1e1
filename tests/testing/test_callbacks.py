"""What authors want to be called for is called, whoever ended the task or the run, and whatever the callback does."""

from datetime import timedelta
from typing import Any

from bide import DAG, Context, TriggerRule, Variable, task
from bide.exceptions import AirflowException, AirflowSkipException
from bide.model.states import TaskState
from bide.operators.empty import EmptyOperator
from bide.testing import Engine
from bide.testing.results import result_of


class Heard:
    """What callbacks have been told."""

    def __init__(self) -> None:
        self.words: list[tuple[Any, ...]] = []

    def by(self, word: str) -> Any:
        """Return a callback that says this word with what it was told."""

        def hear(context: Context) -> None:
            ti = context["ti"]
            self.words.append((word, ti.task_id, ti.map_index, ti.try_number, context["reason"]))

        return hear

    def all_of(self) -> dict[str, Any]:
        """Return every callback that a task can have, except that of its beginning."""
        return {f"on_{word}_callback": self.by(word) for word in ("success", "failure", "retry", "skipped")}


def run(engine: Engine, dag: DAG) -> int:
    number = engine.launch(dag)
    engine.go()
    return number


def test_each_end_of_a_try_is_told_once(engine: Engine) -> None:
    heard = Heard()
    with DAG("ends", schedule=None, default_args=heard.all_of()) as dag:

        @task
        def works() -> None: ...

        @task(retries=1)
        def fails_twice() -> None:
            raise ValueError("no")

        @task
        def is_not_needed() -> None:
            raise AirflowSkipException("not today")

        @task
        def each(number: int) -> None:
            if number == 2:
                raise ValueError("too many")

        works() >> EmptyOperator(task_id="empty")
        fails_twice() >> EmptyOperator(task_id="blocked")
        is_not_needed() >> EmptyOperator(task_id="left_out")
        each.expand(number=[1, 2])
    run(engine, dag)
    assert sorted(heard.words) == [
        ("failure", "each", 1, 1, "ValueError: too many"),
        ("failure", "fails_twice", -1, 2, "ValueError: no"),
        ("retry", "fails_twice", -1, 1, "ValueError: no"),
        ("skipped", "is_not_needed", -1, 1, "not today"),
        ("success", "each", 0, 1, None),
        ("success", "empty", -1, 1, None),
        ("success", "works", -1, 1, None),
    ]


def test_a_callback_has_the_whole_context_and_writes_into_the_log_of_its_try(engine: Engine) -> None:
    seen: list[Any] = []

    def tell(context: Context) -> None:
        error = context["exception"]
        assert isinstance(error, AirflowException)
        seen.append((str(error), context["params"], context["ti"].xcom_pull(task_ids="before")))
        seen.append(Variable.get("channel"))
        print("told everybody")

    with DAG("context", schedule=None, params={"day": "monday"}) as dag:

        @task
        def before() -> int:
            return 7

        @task(on_failure_callback=[tell, tell])
        def breaks() -> None:
            raise ValueError("broken")

        before() >> breaks()
    engine.set_variable("channel", "#alerts")
    result = result_of(engine, run(engine, dag))
    assert seen == [("ValueError: broken", {"day": "monday"}, 7), "#alerts"] * 2
    assert "Calling on_failure_callback of the task.\ntold everybody\n" in result["breaks"].log


def test_a_callback_that_fails_changes_nothing_and_the_next_one_is_called(engine: Engine) -> None:
    heard = Heard()

    def break_down(context: Context) -> None:
        raise RuntimeError("nobody can be told")

    with DAG("deaf", schedule=None, on_success_callback=break_down) as dag:

        @task(on_success_callback=[break_down, heard.by("success")])
        def works() -> None: ...

        works()
    result = result_of(engine, run(engine, dag))
    assert (result.state, heard.words) == ("success", [("success", "works", -1, 1, None)])
    assert result["works"].log.count("RuntimeError: nobody can be told") == 2


def test_the_end_of_a_run_is_told_with_the_task_that_it_came_from(engine: Engine) -> None:
    heard = Heard()
    callbacks = {"on_success_callback": heard.by("success"), "on_failure_callback": heard.by("failure")}
    with DAG("good", schedule=None, **callbacks) as good:

        @task
        def first() -> None: ...

        @task
        def last() -> None: ...

        first() >> last()
    with DAG("bad", schedule=None, **callbacks) as bad:

        @task
        def breaks() -> None:
            raise ValueError("broken")

        @task(trigger_rule=TriggerRule.ALL_DONE)
        def tidies_up() -> None: ...

        breaks() >> [EmptyOperator(task_id="blocked"), tidies_up()]
    number = run(engine, good)
    run(engine, bad)
    assert heard.words == [("success", "last", -1, 1, "success"), ("failure", "breaks", -1, 1, "task_failure")]
    engine.clear([one.id for one in engine.states(number)[1]])
    engine.go()
    assert heard.words[2:] == [("success", "last", -1, 2, "success")]


def test_a_run_that_takes_too_long_is_told_as_a_failure(engine: Engine) -> None:
    heard = Heard()
    with DAG("late", schedule=None, dagrun_timeout=timedelta(hours=1), on_failure_callback=heard.by("failure")) as dag:

        @task.sensor(mode="reschedule", poke_interval=600, on_skipped_callback=heard.by("skipped"))
        def never() -> bool:
            return False

        never()
    run(engine, dag)
    assert heard.words == [
        ("skipped", "never", -1, 1, "run_timed_out"),
        ("failure", "never", -1, 1, "timed_out"),
    ]


def test_what_a_person_marks_is_told_too(engine: Engine) -> None:
    heard = Heard()
    with DAG("marked", schedule=None, default_args=heard.all_of()) as dag:

        @task.sensor(mode="reschedule", poke_interval=600)
        def waits() -> bool:
            return False

        waits()
    number = engine.launch(dag)
    engine.step()
    engine.mark([one.id for one in engine.states(number)[1]], TaskState.FAILED)
    engine.go()
    assert heard.words == [("failure", "waits", -1, 1, "marked by hand")]
