"""Files of somebody who tests a DAG: with DAGs, and with the variables and connections that they need."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bide.authoring import DAG
from bide.authoring.collect import collect
from bide.authoring.port import answering
from bide.children.parser import read, unreadable
from bide.errors import Refusal
from bide.exceptions import EngineRefused
from bide.model.connection import read_connection
from bide.model.questions import (
    CONNECTION_IN_ENVIRONMENT,
    VARIABLE_IN_ENVIRONMENT,
    Ask,
    GetConnection,
    GetVariable,
)


class _Given:
    """Answers a file with what was given, or stands in the environment."""

    def __init__(self, variables: Mapping[str, str], connections: Mapping[str, str]) -> None:
        self._variables, self._connections = variables, connections

    def ask(self, question: Ask) -> str | None:
        match question:
            case GetVariable(key=key):
                return self._variables.get(key) or os.environ.get(VARIABLE_IN_ENVIRONMENT + key.upper())
            case GetConnection(conn_id=conn_id):
                return self._connections.get(conn_id) or os.environ.get(CONNECTION_IN_ENVIRONMENT + conn_id.upper())
            case _:
                raise EngineRefused("While a DAG file is read it may ask for variables and connections, and no more.")


def load(
    path: str, root: str, variables: str | Path | None = None, connections: str | Path | None = None
) -> dict[str, DAG]:
    """Run a DAG file, with its imports starting from the root, and return its DAGs by their ids.

    What it asks for comes from files with variables and connections, and from the environment.
    """
    try:
        source = read(path)
    except (OSError, SyntaxError, UnicodeError) as error:
        raise Refusal(unreadable(path, error)) from None
    given = _Given(variables_in(variables) if variables else {}, connections_in(connections) if connections else {})
    with answering(given):
        return collect(path, root, source).dags


def variables_in(path: str | Path) -> dict[str, str]:
    """Read variables from a JSON file as `bide variables export` writes it, or from lines such as NAME=value."""
    return {key: _variable(value) for key, value in _named(path).items()}


def connections_in(path: str | Path) -> dict[str, str]:
    """Read connections from a JSON file or from lines: for each id a URI, or an object with its parts."""
    found = {id: text if isinstance(text, str) else json.dumps(text) for id, text in _named(path).items()}
    for id, text in found.items():
        try:
            read_connection(text)
        except Refusal as refusal:
            raise Refusal(f"{path}: connection {id!r} cannot be read. {refusal}") from None
    return found


def _variable(value: Any) -> str:
    if isinstance(value, dict) and value.keys() <= {"value", "description"} and isinstance(value.get("value"), str):
        return str(value["value"])
    return value if isinstance(value, str) else json.dumps(value)


def _named(path: str | Path) -> dict[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise Refusal(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if not text.lstrip().startswith("{"):
        return dict(_of_line(path, line) for line in text.splitlines() if line.strip() and not line.startswith("#"))
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Refusal(f"{path} is no JSON: {error}.") from None
    return dict(found)


def _of_line(path: str | Path, line: str) -> tuple[str, str]:
    name, sign, value = line.partition("=")
    if not sign:
        raise Refusal(f"{path} holds a line that is not NAME=value.")
    return name.strip(), value.strip()
