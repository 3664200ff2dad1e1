"""The triggers that come along, as tasks of one's own defer to them."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bide import DAG, BaseTrigger, defer
from bide.authoring.results import RunResult
from bide.errors import PlanError
from bide.operators.python import PythonOperator
from bide.testing import Engine
from bide.testing.results import result_of
from bide.triggers.command import CommandTrigger
from bide.triggers.external_task import DagRunTrigger
from bide.triggers.file import FileTrigger
from bide.triggers.sql import SqlTrigger
from bide.triggers.temporal import DateTimeTrigger, TimeDeltaTrigger
from tests.testing.conftest import NOON

TRIGGERS: dict[str, BaseTrigger] = {}


def wait(name: str, event: Any = None) -> Any:
    return event if event is not None else defer(TRIGGERS[name])


def went(engine: Engine, **triggers: BaseTrigger) -> RunResult:
    TRIGGERS.update(triggers)
    with DAG("batteries", schedule=None) as made:
        for name in triggers:
            PythonOperator(task_id=name, python_callable=wait, op_args=[name])
    number = engine.launch(made, logical_date=NOON)
    engine.go()
    return result_of(engine, number)


def test_a_command_is_run_until_it_ends_well(engine: Engine, tmp_path: Path) -> None:
    result = went(
        engine,
        well=CommandTrigger(f"echo x >> {tmp_path}/n; wc -l < {tmp_path}/n; test $(wc -l < {tmp_path}/n) = 2"),
        badly=CommandTrigger("echo dreadful; exit 3", retry_exit_code=1),
        leaves=CommandTrigger("sleep 600 & echo left"),
    )
    assert (result["well"].value, result["leaves"].value) == ("2", "left")
    assert "exit code 3" in result["badly"].log
    assert "dreadful" in result["badly"].log


def test_a_query_is_asked_until_its_answer_is_true(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table looks (n)")
        database.commit()
    engine.set_connection("lite", "sqlite", f"sqlite:///{path}")
    engine.set_connection("odd", "oracle", "oracle://host/x")
    engine.set_connection("mysql", "mysql", "mysql://host/x")
    result = went(
        engine,
        there=SqlTrigger("lite", "select 'yes' where 1 = ?", parameters=[1]),
        odd=SqlTrigger("odd", "select 1"),
        no_driver=SqlTrigger("mysql", "select 1"),
    )
    assert result["there"].value == "yes"
    assert "'oracle' database" in result["odd"].log
    assert "install pymysql or MySQLdb where triggers run" in result["no_driver"].log


def test_an_answer_of_nothing_is_none_yet(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("create table t (n); insert into t values (0)")
    engine.set_connection("lite", "sqlite", f"sqlite:///{path}")
    TRIGGERS["later"] = SqlTrigger("lite", "select n from t")
    with DAG("batteries", schedule=None) as made:
        PythonOperator(task_id="later", python_callable=wait, op_args=["later"])
        PythonOperator(task_id="write", python_callable=write, op_args=[str(path)], retries=1, retry_delay=150)
    number = engine.launch(made, logical_date=NOON)
    engine.go()
    assert result_of(engine, number)["later"].value == 7


def write(path: str, ti: Any) -> None:
    if ti.try_number == 1:
        raise ValueError("not yet")
    with closing(sqlite3.connect(path)) as database:
        database.execute("update t set n = 7")
        database.commit()


def test_files_runs_and_dates(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    result = went(
        engine,
        file=FileTrigger(str(tmp_path / "*l*"), poke_interval=1),
        run=DagRunTrigger("gone", "run"),
        date=DateTimeTrigger(NOON),
    )
    assert result["file"].value == str(tmp_path / "full")
    assert "Run 'run' of DAG 'gone' is gone." in result["run"].log
    assert result["date"].value == NOON


@pytest.mark.parametrize(("kind", "given"), [(DateTimeTrigger, "tomorrow"), (TimeDeltaTrigger, 5)])
def test_a_timer_says_what_it_takes(kind: Any, given: Any) -> None:
    with pytest.raises(PlanError, match="waits for a"):
        kind(given)
