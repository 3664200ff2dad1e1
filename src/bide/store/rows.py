"""Between Python's structs and PostgreSQL's arrays: a batch goes in as columns and comes out as rows."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from asyncpg import Record
from msgspec import Struct, convert

from bide.model.states import TaskState

Row = TypeVar("Row", bound=Struct)

_STATES = {state.value: state for state in TaskState}


class Changed(Struct, frozen=True):
    """A task instance after a verb."""

    id: int
    dag_run_id: int
    state: TaskState
    leg: int
    try_number: int


class Leg(Struct, frozen=True):
    """A task instance as somebody was given it. As a fence: nobody was given it since."""

    id: int
    leg: int


class XCom(Struct, frozen=True):
    """A value that a task leaves behind. `source` and `fence` are the task and its leg, or its wait and the claim."""

    source: int
    fence: int
    key: str
    value: str


def changed(records: Iterable[Record]) -> list[Changed]:
    """Read the answer of a verb about task instances."""
    return [
        Changed(row["id"], row["dag_run_id"], _STATES[row["state"]], row["leg"], row["try_number"]) for row in records
    ]


def filled(kind: type[Row], records: Iterable[Record]) -> list[Row]:
    """Read an answer whose columns are the fields of a struct."""
    return [convert(dict(record), kind) for record in records]


def columns(kind: type[Struct], items: Sequence[Struct]) -> list[list[Any]]:
    """Turn a batch around: one list for each field, in the order of the fields."""
    return [
        [storable(value) if isinstance(value, str) and not value.isprintable() else value for value in values]
        for values in (map(attrgetter(field), items) for field in kind.__struct_fields__)
    ]


def storable(text: str) -> str:
    """Replace what PostgreSQL's text cannot hold; such characters stand in error messages only."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
