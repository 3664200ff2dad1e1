"""What commands have to say, for people as a table, for programs as JSON or YAML: the same to both."""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, Generic, TypeVar

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bide.cli import words
from bide.cli.yaml import yaml

# Nothing is cut or wrapped where no terminal has an edge.
WIDE = 1000
# Progress is not part of the answer, so it goes where errors go.
progress = Console(stderr=True)


class Output(StrEnum):
    """How to write it."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


As = Annotated[
    Output,
    typer.Option(
        "--output",
        "-o",
        help="json and yaml are for programs: they hold everything, moments in UTC, durations in seconds.",
    ),
]

Row = TypeVar("Row")
Cell = str | Text


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column of a table, and how it is told from a row."""

    header: str
    cell: Callable[[Row], Cell]
    right: bool = False


def show(rows: Sequence[Row], columns: Sequence[Column[Row]], output: Output, nothing: str) -> None:
    """Show a list; `nothing` says to a person that it is empty."""
    if output is not Output.TABLE:
        tell(rows, output)
    elif rows:
        print_wide(table(rows, columns))
    else:
        note(nothing)


def show_facts(facts: object, rows: Iterable[tuple[str, Cell]], output: Output) -> bool:
    """Show what is known of one thing, each fact with its name; true if that was for people, who may want more."""
    if output is not Output.TABLE:
        tell(facts, output)
        return False
    shown = Table(box=None, pad_edge=False, show_header=False)
    shown.add_column(style="bold")
    shown.add_column(overflow="fold")
    for name, value in rows:
        if str(value):
            shown.add_row(name, value if isinstance(value, Text) else Text(value))
    print_wide(shown)
    return True


def table(rows: Iterable[Row], columns: Sequence[Column[Row]]) -> Table:
    """Lay a list out for people; columns in which nothing stands are left out."""
    cells = [[column.cell(row) for column in columns] for row in rows]
    filled = [place for place in range(len(columns)) if any(str(line[place]) for line in cells)]
    shown = Table(box=None, pad_edge=False)
    for place in filled:
        shown.add_column(columns[place].header, justify="right" if columns[place].right else "left", overflow="fold")
    for line in cells:
        found = [line[place] for place in filled]
        shown.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in found))
    return shown


def print_wide(what: object) -> None:
    """Print something for people; it is as wide as the terminal, or as it needs to be where there is none."""
    console = Console()
    if console.is_terminal:
        console.print(what)
        return
    console = Console(width=WIDE)
    with console.capture() as said:
        console.print(what)
    # A table fills its last column with blanks, which programs trip over.
    print("\n".join(line.rstrip() for line in said.get().removesuffix("\n").split("\n")))


def heading(title: str) -> None:
    """Begin another part of what is shown."""
    print_wide(Text.assemble("\n", (title, "bold underline")))


def tell(facts: object, output: Output) -> None:
    """Print something for programs."""
    plain = _plain(msgspec.to_builtins(facts, builtin_types=[timedelta]))
    text = msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()
    sys.stdout.write(yaml(plain) if output is Output.YAML else f"{text}\n")


def note(sentence: str) -> None:
    """Say something to a person that is no part of the answer."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(words.plain(sentence), markup=False)


def note_more(found: int, limit: int) -> None:
    """Say that a list goes on."""
    if found > limit:
        note(f"There are more than these {limit:,}; --limit shows more.")


def _plain(value: Any) -> Any:
    """Write durations as seconds, which programs can count with."""
    match value:
        case timedelta():
            return value.total_seconds()
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
