"""`bide connections`: how tasks reach other systems. They are stored encrypted."""

from collections.abc import Iterator
from typing import Annotated

import msgspec
import typer
from msgspec import Struct

from bide.cli import completing, given, output, words
from bide.cli.asking import must_be_wanted
from bide.cli.given import Yes
from bide.cli.output import As, Cell, Column, Output
from bide.cli.session import Session, opened
from bide.control import desk
from bide.control.known import unknown
from bide.errors import Refusal
from bide.model.connection import Connection, masked, read_connection
from bide.store import control

app = typer.Typer(no_args_is_help=True, add_completion=False)

ConnId = Annotated[
    str, typer.Argument(metavar="CONNECTION", help="The id of a connection.", autocompletion=completing.connections)
]
LIST_SHOWS = "`bide connections list` shows them."


class Named(Struct, frozen=True):
    """A connection without what it says."""

    conn_id: str
    conn_type: str
    description: str


COLUMNS = (
    Column[Named]("connection", lambda connection: connection.conn_id),
    Column[Named]("type", lambda connection: connection.conn_type),
    Column[Named]("what it is for", lambda connection: words.plain(connection.description)),
)


@app.command("list", epilog="Example: bide connections list")
def list_connections(context: typer.Context, output_as: As = Output.TABLE) -> None:
    """List connections; what they say stays hidden."""
    with opened(context) as session:
        found = session.run(all_named(session))
    output.show(found, COLUMNS, output_as, "There are no connections.")


@app.command("get", epilog="Example: bide connections get warehouse --show")
def get(
    context: typer.Context,
    conn_id: ConnId,
    show: Annotated[bool, typer.Option("--show", help="Show its secrets too.")] = False,
    uri: Annotated[bool, typer.Option("--text", help="Print the URI or JSON as it was given; needs --show.")] = False,
    output_as: As = Output.TABLE,
) -> None:
    """Show a connection; its password and what else looks secret is masked."""
    if uri and not show:
        raise typer.BadParameter("The text holds the password: say --show too.", param_hint="--text")
    with opened(context) as session:
        named = session.run(must_exist(session, conn_id))
        text = session.run(desk.connection(session.db, session.sealer, conn_id)) or ""
    if uri:
        print(text)
        return
    connection = read_connection(text)
    shown = connection if show else masked(connection)
    everything = {"conn_id": conn_id, "description": named.description, **msgspec.structs.asdict(shown)}
    output.show_facts(everything, facts(named, shown), output_as)


@app.command("add", epilog="Example: bide connections add warehouse postgres://me:secret@db.example.org:5432/sales")
def add(
    context: typer.Context,
    conn_id: ConnId,
    text: Annotated[str, typer.Argument(metavar="URI|JSON", help="What it is; @file reads it, - takes what comes in.")],
    description: Annotated[str, typer.Option("--description", help="What it is for.")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Even if there is one of this id already.")] = False,
) -> None:
    """Store a connection, given as a URI or as a JSON object."""
    said = given.text_or_file(text).strip()
    kind = read_connection(said).conn_type
    with opened(context) as session:
        if not replace and any(one.conn_id == conn_id for one in session.run(all_named(session))):
            raise Refusal(f"There is a connection {conn_id!r} already; --replace puts this one in its place.")
        session.run(desk.set_connection(session.db, session.sealer, conn_id, kind, said, description))
    print(f"{conn_id}: stored")


@app.command("delete", epilog="Example: bide connections delete warehouse")
def delete(context: typer.Context, conn_id: ConnId, yes: Yes = False) -> None:
    """Remove a connection."""
    with opened(context) as session:
        session.run(must_exist(session, conn_id))
        must_be_wanted(f"This removes the connection {conn_id} with its secrets.", yes)
        session.run(control.delete_connection(session.db, conn_id))
    print(f"{conn_id}: removed")


async def all_named(session: Session) -> list[Named]:
    """List the connections."""
    return [Named(*one) for one in await control.connections(session.db)]


async def must_exist(session: Session, conn_id: str) -> Named:
    """Find a connection, or refuse the id."""
    known = {one.conn_id: one for one in await all_named(session)}
    if conn_id not in known:
        raise unknown("connection", conn_id, known, LIST_SHOWS)
    return known[conn_id]


def facts(named: Named, connection: Connection) -> Iterator[tuple[str, Cell]]:
    """Tell people what a connection says."""
    yield "connection", named.conn_id
    yield "what it is for", words.plain(named.description)
    yield "type", connection.conn_type
    yield "host", connection.host or ""
    yield "port", str(connection.port or "")
    yield "login", connection.login or ""
    yield "password", connection.password or ""
    yield "schema", connection.schema or ""
    for key, value in connection.extra.items():
        yield key, value if isinstance(value, str) else msgspec.json.encode(value).decode()
