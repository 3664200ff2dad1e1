"""The contracts about who may import whom refuse what they are there to refuse.

`make layers` checks them on the real package; here each is tried on a small package that breaks it.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.tree import ROOT

LINT = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-logo", "--no-cache"]
GOOD = {
    "cli": "import bide.embedded, bide.store, bide.settings, bide.sealing",
    "testing": "import bide.children, bide.store",
    "children": "import bide.taskflow, bide.authoring",
    "embedded": "import subprocess, bide.errors",
    "store": "import asyncpg, bide.sql, bide.model",
    "sql": "import bide.errors",
    "taskflow": "import bide.operators, bide.sensors",
    "operators": "import bide.authoring, bide.triggers",
    "sensors": "import bide.authoring, bide.triggers",
    "triggers": "import bide.authoring",
    "authoring": "import bide.exceptions, bide.model",
    "exceptions": "import bide.errors",
    "model": "import bide.errors, datetime",
    "settings": "import bide.errors, pathlib",
    "sealing": "import cryptography, bide.errors",
    "errors": "",
}


def broken_contracts(folder: Path, package: dict[str, str]) -> set[str]:
    (folder / "bide").mkdir()
    (folder / "bide" / "__init__.py").touch()
    for module, source in package.items():
        (folder / "bide" / f"{module}.py").write_text(source)
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    run = subprocess.run(LINT, cwd=folder, capture_output=True, text=True, check=False)
    assert (run.returncode == 0) is ("BROKEN" not in run.stdout), run.stdout + run.stderr
    return {line.removesuffix(" BROKEN") for line in run.stdout.splitlines() if line.endswith(" BROKEN")}


def test_a_package_that_keeps_the_layers_is_accepted(tmp_path: Path) -> None:
    assert broken_contracts(tmp_path, GOOD) == set()


@pytest.mark.parametrize(
    ("module", "bad_import", "contract"),
    [
        ("store", "bide.cli", "A package imports"),
        ("store", "bide.embedded", "A package imports"),
        ("model", "bide.settings", "A package imports"),
        ("settings", "bide.model", "A package imports"),
        ("errors", "bide.model", "A package imports"),
        ("newcomer", "bide.errors", "A package imports"),
        ("authoring", "bide.operators", "A package imports"),
        ("sensors", "bide.operators", "A package imports"),
        ("store", "bide.authoring", "What runs an author's code"),
        ("cli", "bide.taskflow", "What runs an author's code"),
        ("cli", "bide.children", "What runs an author's code"),
        ("store", "bide.operators", "What runs an author's code"),
        ("embedded", "bide.sensors", "What runs an author's code"),
        ("cli", "bide.sql", "SQL is run"),
        ("cli", "asyncpg", "SQL is run"),
        ("embedded", "asyncpg", "SQL is run"),
        ("store", "cryptography", "Only the sealing"),
        ("model", "asyncio", "The model is pure"),
        ("model", "os.path", "The model is pure"),
    ],
)
def test_a_forbidden_import_breaks_its_contract(tmp_path: Path, module: str, bad_import: str, contract: str) -> None:
    broken = broken_contracts(tmp_path, GOOD | {module: f"{GOOD.get(module, '')}\nimport {bad_import}"})
    assert [name for name in broken if name.startswith(contract)]
