"""What to say of an import that fails: the name that was meant, or where what Airflow has stands here."""

from __future__ import annotations

import pkgutil
import re
import sys

import bide
from bide.authoring.place import near

_NAME = re.compile(r"cannot import name '(\w+)' from '(bide[\w.]*)' .*")


def what_is_meant(error: ImportError) -> str | None:
    """Say in a sentence what to write instead, if the import was one of ours or of Airflow's."""
    missed = _NAME.fullmatch(str(error))
    if missed is not None:
        name, module = missed.groups()
        return f"{module} has no {name!r}{near(name, _names_in(module))}"
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    if error.name == "airflow":
        return (
            "There is no airflow here: import from bide what airflow.sdk has, from bide.operators and bide.sensors "
            "what airflow.providers.standard has, and from bide.exceptions what airflow.exceptions has."
        )
    parent, _, last = error.name.rpartition(".")
    if parent.split(".")[0] != "bide":
        return None
    return f"There is no module {error.name!r}{near(last, _modules_in(parent))}"


def _names_in(module: str) -> list[str]:
    if module == "bide":
        return bide.__all__
    return [name for name in vars(sys.modules[module]) if not name.startswith("_")]


def _modules_in(package: str) -> list[str]:
    path = getattr(sys.modules.get(package), "__path__", ())
    return [found.name for found in pkgutil.iter_modules(path)]
