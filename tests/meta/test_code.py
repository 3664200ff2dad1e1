"""The code keeps the house's rules, and each rule is tried on code that breaks it."""

import subprocess
import sys

import pytest

from tests.meta import guards
from tests.meta.tree import ROOT, files

# The ratchet: what is longer than the aim today, with the lines it may have. Entries only shrink and go.
LONG_FILES: dict[str, int] = {}

OURS = files("src", "docs", suffix=".py") | files("src", suffix=".sql")
PYTHON = files("src", "tests", "benchmarks", "docs", "examples", suffix=".py")
OUTSIDE_SQL = {path: text for path, text in PYTHON.items() if path.startswith("src/") and "/sql/" not in path}
# What must hold even where somebody has written `noqa`.
STRICT_RULES = "D100,D104,FIX,PLC0415,TID251"


def test_no_file_is_long() -> None:
    assert list(guards.long_files(OURS, LONG_FILES)) == []


def test_no_file_of_the_tests_and_benchmarks_is_over_the_limit() -> None:
    assert list(guards.long_files(PYTHON, {}, aim=guards.FILE_LIMIT)) == []


@pytest.mark.parametrize(
    ("lines", "allowed", "found"),
    [
        (300, {}, False),
        (301, {}, True),
        (310, {"a.py": 310}, False),
        (311, {"a.py": 310}, True),
        (401, {"a.py": 500}, True),
        (300, {"a.py": 310}, True),  # the allowance has become too much
        (10, {"gone.py": 310}, True),
    ],
)
def test_a_long_file_is_found(lines: int, allowed: dict[str, int], found: bool) -> None:
    assert bool(list(guards.long_files({"a.py": "\n" * lines}, allowed))) is found


def test_no_function_is_long() -> None:
    assert [
        finding
        for path, source in PYTHON.items()
        for finding in guards.long_functions(
            path, source, guards.FUNCTION_AIM if path in OURS else guards.FUNCTION_LIMIT
        )
    ] == []


def test_a_long_function_is_found_wherever_it_stands() -> None:
    body = "        pass\n" * 50
    source = f"class A:\n    async def slow(self):\n{body}\n    def fast(self):\n        pass\n"
    assert list(guards.long_functions("a.py", source, 50)) == ["a.py: slow has 51 lines"]
    assert list(guards.long_functions("a.py", source, 51)) == []


def test_sql_stands_only_in_its_package() -> None:
    assert [finding for path, source in OUTSIDE_SQL.items() for finding in guards.stray_sql(path, source)] == []


@pytest.mark.parametrize(
    "statement",
    [
        "select 1",
        "SELECT id\\n  FROM trigger",
        "-- why\\nselect pg_notify($1, $2)",
        "insert into job values (1)",
        "update task_instance t set state = 'x'",
        "delete from kill where true",
        "with taken as materialized (select 1) select * from taken",
        "create unique index on job (id)",
        "drop table job",
        "listen bide",
        "set local lock_timeout = '1s'",
        "BEGIN",
    ],
)
def test_stray_sql_is_found(statement: str) -> None:
    assert list(guards.stray_sql("a.py", f'"""Docstring."""\nrows = await fetch("{statement}")\n'))


def test_stray_sql_is_found_in_pieces_with_names_put_in() -> None:
    assert list(guards.stray_sql("a.py", 'run(f"select {column} from {table}")'))


@pytest.mark.parametrize("text", ["begin", "Select a task first.", "update", "With care.", "create", "Set it to 3."])
def test_english_is_not_taken_for_sql(text: str) -> None:
    assert list(guards.stray_sql("a.py", f'"""Select one from many."""\nsay("{text}")\n')) == []


def lint(*what: str, source: str = "") -> str:
    command = [sys.executable, "-m", "ruff", "check", "--quiet", "--ignore-noqa", "--select", STRICT_RULES, *what]
    return subprocess.run(command, cwd=ROOT, input=source, capture_output=True, text=True, check=False).stdout


def test_no_rule_that_counts_is_switched_off_anywhere() -> None:
    assert lint("src", "tests", "benchmarks", "docs", "examples") == ""


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("def f() -> None:\n    import json  # noqa: PLC0415\n", "PLC0415"),
        ("from unittest.mock import Mock\n", "TID251"),
        ("import unittest.mock as m\n", "TID251"),
        ("from time import sleep\n", "TID251"),
        ("import time\n\ntime.sleep(1)\n", "TID251"),
        ("# TODO: later\n", "FIX"),
        ("# FIXME\n", "FIX"),
        ("x = 1\n", "D100"),
    ],
)
def test_a_broken_rule_is_found(source: str, rule: str) -> None:
    assert rule in lint("--stdin-filename", "src/bide/bad.py", "-", source=source)
