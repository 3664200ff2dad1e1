"""Operators and sensors are written with the names that authors have too."""

import pytest

from bide import authoring
from tests.meta import guards
from tests.meta.tree import files

BATTERIES = files("src/bide/operators", "src/bide/sensors", "src/bide/triggers", suffix=".py") | files(
    "src/bide", suffix="taskflow.py"
)


def test_batteries_use_public_names_only() -> None:
    assert len(BATTERIES) > 15
    assert [
        finding
        for path, source in BATTERIES.items()
        for finding in guards.inner_imports(path, source, authoring.__all__)
    ] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from bide.authoring import BaseOperator\nfrom bide.exceptions import TaskError\nimport httpx", []),
        ("from bide.operators.bash import BashOperator", []),
        ("from bide.authoring import secret", ["a.py imports secret"]),
        ("from bide.authoring.node import Node", ["a.py imports bide.authoring.node"]),
        ("import bide.model.states", ["a.py imports bide.model.states"]),
    ],
)
def test_an_inner_import_is_found(source: str, found: list[str]) -> None:
    assert list(guards.inner_imports("a.py", source, ["BaseOperator"])) == found
