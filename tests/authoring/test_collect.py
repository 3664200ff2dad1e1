"""A DAG file is run from its source: as what stands there now, wherever that came from."""

import inspect
import linecache
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import bide
import bide.authoring
from bide.authoring.collect import Collected, FileBroken, collect, find_dag
from tests.authoring.world import dags_in, failure, leg_of, returned

FILE = """\
    from bide import DAG, task
    import {helper}

    with DAG("d"):
        @task
        def t():
            return {helper}.word()
        t()
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "team" / "lib").mkdir(parents=True)
    (tmp_path / "team_words.py").write_text("from team.lib import more\n\ndef word():\n    return more.WORD\n")
    (tmp_path / "team" / "lib" / "more.py").write_text("WORD = 'one'\n")
    return tmp_path


def collected(root: Path, name: str = "team/etl-1.py", source: str = FILE.format(helper="team_words")) -> Collected:
    return collect(str(root / name), str(root), textwrap.dedent(source))


def test_imports_start_from_the_root_and_are_told(root: Path) -> None:
    found = collected(root)
    assert returned(leg_of(found.dags["d"], "t")) == "one"
    assert found.modules == (str(root / "team" / "lib" / "more.py"), str(root / "team_words.py"))


def test_a_changed_module_is_imported_as_it_is_now(root: Path) -> None:
    collected(root)
    (root / "team" / "lib" / "more.py").write_text("WORD = 'another'\n")
    assert returned(leg_of(collected(root).dags["d"], "t")) == "another"


def test_the_file_itself_need_not_be_there_and_shows_the_source_that_was_run(root: Path) -> None:
    function = "@task\ndef f():\n    return 1 / 0\n"
    found = collected(root, source=f"from bide import DAG, task\n{function}with DAG('d'): f()\n")
    path = str(root / "team/etl-1.py")
    assert linecache.getline(path, 4) == "    return 1 / 0\n"
    dag = found.dags["d"]
    outcome = leg_of(dag, "f")
    assert failure(outcome) == "ZeroDivisionError: division by zero"
    assert "return 1 / 0" in outcome.traceback  # type: ignore[union-attr]
    assert inspect.getsource(dag.get_task("f").python_callable) == function  # type: ignore[attr-defined]
    assert dag.fileloc == path


def test_a_file_knows_where_it_stands_and_is_named_after_that(root: Path) -> None:
    found = collected(root, source="from bide import DAG\nDAG(__file__.rpartition('/')[2])\nd = DAG(__name__)")
    assert list(found.dags) == ["bide_dags.team.etl_1"]


def test_dags_are_found_that_were_opened_or_have_a_name(root: Path) -> None:
    found = dags_in("""
        from bide import DAG, dag
        named = DAG("named")
        with DAG("opened"): ...
        DAG("forgotten")
        with DAG("hidden", auto_register=False): ...
        def make(name):
            with DAG(name): ...
        make("made")
        @dag
        def called(): ...
        called()
        @dag
        def never_called(): ...
        again = named
    """)
    assert set(found) == {"named", "opened", "made", "called"}


def test_a_file_without_a_dag_is_no_mistake() -> None:
    assert dags_in("x = 1") == {}


def test_a_module_that_breaks_shows_the_traceback_from_the_file_on(root: Path) -> None:
    (root / "team_words.py").write_text("raise ValueError('no')\n")
    with pytest.raises(FileBroken) as broken:
        collected(root)
    path = str(root / "team/etl-1.py")
    assert str(broken.value) == f"{path}:2: ValueError: no"
    assert broken.value.traceback.startswith(f'Traceback (most recent call last):\n  File "{path}", line 2')
    assert broken.value.traceback.endswith("raise ValueError('no')\nValueError: no")
    assert broken.value.modules == (str(root / "team_words.py"),)


def test_a_mistake_needs_no_traceback() -> None:
    with pytest.raises(FileBroken) as broken:
        dags_in("from bide import DAG\nDAG('d', nothing=1)")
    assert broken.value.traceback == ""


def test_a_broken_file_leaves_nothing_open() -> None:
    with pytest.raises(FileBroken):
        dags_in("from bide import DAG\nfrom bide.operators.empty import EmptyOperator\nDAG('d').__enter__()\n1 / 0")
    with pytest.raises(FileBroken, match="is in no DAG"):
        dags_in("from bide.operators.empty import EmptyOperator\nEmptyOperator(task_id='t')")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("from bide import tsk", "bide has no 'tsk'; did you mean 'task'?"),
        ("import bide.operators.bsh", "There is no module 'bide.operators.bsh'; did you mean 'bash'?"),
        ("from bide.zzz.like import it", "There is no module 'bide.zzz'."),
        ("from bide.operators.bash import BashOperater", "bide.operators.bash has no 'BashOperater'; did you mean"),
        ("from airflow.sdk import DAG", "There is no airflow here: import from bide what airflow.sdk has"),
        ("from no_such_thing import x", "ModuleNotFoundError: No module named 'no_such_thing'"),
    ],
)
def test_an_import_that_fails_names_what_was_meant(line: str, sentence: str) -> None:
    with pytest.raises(FileBroken) as refused:
        dags_in(line)
    assert sentence in str(refused.value)


def test_a_dag_that_is_gone_from_its_file_is_named_with_the_near_one() -> None:
    found = Collected(dags_in("from bide import DAG\nwith DAG('etl_daily'): ..."), ())
    assert find_dag(found, "etl_daily").dag_id == "etl_daily"
    with pytest.raises(FileBroken, match=r"no DAG 'etl_dayly' .* did you mean 'etl_daily'"):
        find_dag(found, "etl_dayly")


# The names that files import. ---------------------------------------------------------------------------------


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_services_that_import_bide_load_nothing_of_what_authors_need() -> None:
    loaded = run("import sys, bide, bide.store.database, bide.settings, bide.model.plan; print(*sys.modules)").split()
    assert not {"bide.authoring", "bide.operators", "bide.exceptions", "jinja2", "pendulum", "jsonschema"} & set(loaded)


def test_every_public_name_is_there_and_loaded_when_it_is_asked_for() -> None:
    for name in bide.__all__:
        assert getattr(bide, name) is not None
    assert set(bide.__all__) <= set(dir(bide))
    assert set(bide.__all__) - {"task"} <= set(bide.authoring.__all__)
    with pytest.raises(AttributeError, match="module 'bide' has no attribute 'nothing'"):
        _ = bide.nothing
    with pytest.raises(ImportError, match="bide has no AssetWatcher yet"):
        _ = bide.AssetWatcher
