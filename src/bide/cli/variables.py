"""`bide variables`: values that tasks read. They are stored encrypted and shown to whoever holds the key."""

import os
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct

from bide.cli import completing, given, output, words
from bide.cli.asking import must_be_wanted
from bide.cli.given import Yes
from bide.cli.output import As, Column, Output, progress
from bide.cli.session import Session, opened
from bide.control import desk
from bide.control.known import unknown
from bide.store import children, control

app = typer.Typer(no_args_is_help=True, add_completion=False)

Key = Annotated[str, typer.Argument(metavar="KEY", help="The key of a variable.", autocompletion=completing.variables)]
LIST_SHOWS = "`bide variables list` shows them."


class Named(Struct, frozen=True):
    """A variable without its value."""

    key: str
    description: str


class Variable(Struct, frozen=True):
    """A variable as a file of variables has it."""

    value: str
    description: str = ""


COLUMNS = (
    Column[Named]("key", lambda variable: variable.key),
    Column[Named]("what it is for", lambda variable: words.plain(variable.description)),
)


@app.command("list", epilog="Example: bide variables list")
def list_variables(context: typer.Context, output_as: As = Output.TABLE) -> None:
    """List variables; their values stay hidden."""
    with opened(context) as session:
        found = session.run(control.variables(session.db))
    output.show([Named(key, said) for key, said in found.items()], COLUMNS, output_as, "There are no variables.")


@app.command("get", epilog="Example: bide variables get region")
def get(context: typer.Context, key: Key, output_as: As = Output.TABLE) -> None:
    """Print the value of a variable."""
    with opened(context) as session:
        value = session.run(existing(session, key))
    if output_as is Output.TABLE:
        print(value)
    else:
        output.tell({"key": key, "value": value}, output_as)


@app.command("set", epilog="Example: bide variables set region eu --description 'Where we are'")
def set_variable(
    context: typer.Context,
    key: Key,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The value; @file reads it, - takes what comes in.")],
    description: Annotated[str, typer.Option("--description", help="What it is for; else that stays.")] = "",
) -> None:
    """Set a variable."""
    text = given.text_or_file(value)
    with opened(context) as session:
        session.run(desk.set_variable(session.db, session.sealer, key, text, description))
    print(f"{key}: set")


@app.command("delete", epilog="Example: bide variables delete region")
def delete(context: typer.Context, key: Key, yes: Yes = False) -> None:
    """Remove a variable."""
    with opened(context) as session:
        must_exist(key, session.run(control.variables(session.db)))
        must_be_wanted(f"This removes the variable {key} and its value.", yes)
        session.run(children.delete_variable(session.db, key))
    print(f"{key}: removed")


@app.command("export", epilog="Example: bide variables export variables.json")
def export(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Where to; else they are printed.")] = None,
) -> None:
    """Write all variables, with their values in the clear, as a JSON object that `import` reads."""
    with opened(context) as session:
        everything = session.run(all_variables(session))
    text = msgspec.json.format(msgspec.json.encode(everything), indent=2).decode()
    if file is None:
        print(text)
        return
    write_for_owner(file, f"{text}\n")
    output.note(f"{words.count(len(everything), 'variable')} written to {file}, readable by you alone.")


@app.command("import", epilog="Example: bide variables import variables.json")
def import_variables(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A JSON object; - takes what comes in.")],
) -> None:
    """Set variables from a JSON object of keys and values. May be interrupted and said again.

    A value is a text, an object with value and description, or any other JSON, which is kept as JSON text.
    """
    text = given.text_or_file(file if file == "-" else f"@{file}")
    found = {key: variable(value) for key, value in given.json_object(text, file).items()}
    with opened(context) as session, progress.status("Storing variables"):
        for key, one in found.items():
            session.run(desk.set_variable(session.db, session.sealer, key, one.value, one.description))
    print(f"{words.count(len(found), 'variable')} set.")


async def existing(session: Session, key: str) -> str:
    """Read a variable that must be there."""
    value = await desk.variable(session.db, session.sealer, key)
    if value is None:
        must_exist(key, await control.variables(session.db))
    return value or ""


def must_exist(key: str, known: dict[str, str]) -> None:
    """Refuse a key that is not there."""
    if key not in known:
        raise unknown("variable", key, known, LIST_SHOWS)


async def all_variables(session: Session) -> dict[str, str | Variable]:
    """Read all variables; those without a description are plain texts."""
    found: dict[str, str | Variable] = {}
    for key, description in (await control.variables(session.db)).items():
        value = await existing(session, key)
        found[key] = Variable(value, description) if description else value
    return found


def variable(given_value: Any) -> Variable:
    """Read a variable as a file has it."""
    match given_value:
        case str():
            return Variable(given_value)
        case {"value": str() as value, **rest} if set(rest) <= {"description"}:
            return Variable(value, str(rest.get("description") or ""))
        case _:
            return Variable(msgspec.json.encode(given_value).decode())


def write_for_owner(file: Path, text: str) -> None:
    """Write a file that nobody else may read."""
    try:
        with os.fdopen(
            os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
        ) as opened_file:
            os.fchmod(opened_file.fileno(), 0o600)
            opened_file.write(text)
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}.") from None
