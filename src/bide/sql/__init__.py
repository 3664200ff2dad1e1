"""Every SQL statement of the engine, by name. No SQL text stands anywhere else.

A file is a list of blocks. `-- name: fire` begins a statement, `-- fragment: noted` a piece that statements of the
same file share by `{{noted}}`. `{{verb}}` becomes the name of the statement, so that a verb, its statement and its
history entry cannot be called differently. The comment lines under the name say what the statement is for.

The files in `migrations/` are numbered, and run as they stand.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

_BLOCK = re.compile(r"^-- (name|fragment): (\w+)\n", re.MULTILINE)
_PLACE = re.compile(r"\{\{(\w+)\}\}")
_NUMBERED = re.compile(r"(\d{4})_(\w+)\.sql")


@dataclass(frozen=True)
class Statement:
    """A named piece of SQL and the sentence that says what it is for."""

    name: str
    purpose: str
    text: str


@cache
def read(file: str) -> str:
    """The text of a file of this package, such as `legs.sql`."""
    return files(__name__).joinpath(file).read_text(encoding="utf-8")


@cache
def statement(name: str) -> Statement:
    """The statement of that name, whichever file it stands in."""
    return _all()[name]


@cache
def statements(file: str) -> Mapping[str, Statement]:
    """The named statements of a file, with its fragments and those of `fragments.sql` put in."""
    fragments = {name: body for kind, name, body in _blocks("fragments.sql") if kind == "fragment"}
    fragments |= {name: body for kind, name, body in _blocks(file) if kind == "fragment"}
    named = [(name, body) for kind, name, body in _blocks(file) if kind == "name"]
    return MappingProxyType({name: _statement(name, body, fragments) for name, body in named})


@cache
def _all() -> Mapping[str, Statement]:
    return {name: found for file in statement_files() for name, found in statements(file).items()}


def statement_files() -> list[str]:
    """The files of named statements."""
    return sorted(path.name for path in files(__name__).iterdir() if path.name.endswith(".sql"))


@cache
def schema() -> str:
    """The whole database as it is today: the files in `schema/`, one after the other."""
    folder = files(__name__).joinpath("schema")
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.iterdir(), key=lambda path: path.name))


def migrations() -> list[tuple[int, str, str]]:
    """Number, name and text of every migration, in their order."""
    found = [(path, _NUMBERED.fullmatch(path.name)) for path in files(__name__).joinpath("migrations").iterdir()]
    return sorted(
        (int(named[1]), named[2], path.read_text(encoding="utf-8").replace("{{schema}}", schema()))
        for path, named in found
        if named
    )


def _blocks(file: str) -> list[tuple[str, str, str]]:
    _, *parts = _BLOCK.split(read(file))
    return list(zip(parts[::3], parts[1::3], (body.strip() for body in parts[2::3]), strict=True))


def _statement(name: str, body: str, fragments: Mapping[str, str]) -> Statement:
    while _PLACE.search(body):
        body = _PLACE.sub(lambda place: name if place[1] == "verb" else fragments[place[1]], body)
    lines = body.splitlines()
    said = [line.removeprefix("-- ") for line in lines if line.startswith("-- ")]
    return Statement(name, " ".join(said), "\n".join(line for line in lines if not line.startswith("-- ")))
