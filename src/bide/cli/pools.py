"""`bide pools`: how many tasks may run at the same time."""

from typing import Annotated

import typer

from bide.cli import completing, given, output, words
from bide.cli.asking import must_be_wanted
from bide.cli.given import Yes
from bide.cli.output import As, Column, Output
from bide.cli.session import opened
from bide.control.known import unknown
from bide.control.stuck import free
from bide.errors import Refusal
from bide.model.wait import LONGEST_ID, is_name
from bide.store import control
from bide.store.control import Pool
from bide.store.wake import Channel

app = typer.Typer(no_args_is_help=True, add_completion=False)

Name = Annotated[str, typer.Argument(metavar="POOL", help="The name of a pool.", autocompletion=completing.pools)]

COLUMNS = (
    Column[Pool]("pool", lambda pool: pool.name),
    Column[Pool]("slots", lambda pool: str(pool.slots), right=True),
    Column[Pool]("free", lambda pool: str(free(pool)), right=True),
    Column[Pool]("queued", lambda pool: str(pool.queued or ""), right=True),
    Column[Pool]("running", lambda pool: str(pool.running or ""), right=True),
    Column[Pool]("deferred", lambda pool: str(pool.deferred or ""), right=True),
    Column[Pool]("wanted", lambda pool: str(pool.scheduled or ""), right=True),
    Column[Pool]("counts deferred", lambda pool: "yes" if pool.include_deferred else ""),
    Column[Pool]("what it is for", lambda pool: words.plain(pool.description)),
)


@app.command("list", epilog="Example: bide pools list")
def list_pools(context: typer.Context, output_as: As = Output.TABLE) -> None:
    """List pools, and how many of their slots are taken or wanted."""
    with opened(context) as session:
        pools = session.run(control.pools(session.db))
    output.show(pools, COLUMNS, output_as, "There are no pools.")


@app.command("set", epilog="Example: bide pools set database 4 --description 'What the old server can bear'")
def set_pool(
    context: typer.Context,
    name: Name,
    slots: Annotated[int, typer.Argument(metavar="SLOTS", min=0, max=given.LARGEST, help="Slots that it shall have.")],
    include_deferred: Annotated[
        bool | None,
        typer.Option("--include-deferred/--exclude-deferred", help="Whether waiting tasks take slots."),
    ] = None,
    description: Annotated[str | None, typer.Option("--description", help="What it is for.")] = None,
) -> None:
    """Make a pool, or change it; what is not said stays as it is. What runs goes on, whatever the number is."""
    if not is_name(name):
        raise typer.BadParameter(f"A pool's name must be printable and have 1 to {LONGEST_ID} bytes.")
    with opened(context) as session:
        was = next((pool for pool in session.run(control.pools(session.db)) if pool.name == name), None)
        counts = include_deferred if include_deferred is not None else bool(was and was.include_deferred)
        said = description if description is not None else was.description if was else ""
        session.run(control.set_pool(session.db, name, slots, counts, said))
        session.hint(Channel.SCHEDULER)
    print(f"{name}: {words.count(slots, 'slot')}")


@app.command("delete", epilog="Example: bide pools delete database")
def delete(context: typer.Context, name: Name, yes: Yes = False) -> None:
    """Remove a pool that no task needs any more."""
    with opened(context) as session:
        pools = session.run(control.pools(session.db))
        if name not in {pool.name for pool in pools}:
            raise unknown("pool", name, [pool.name for pool in pools], "`bide pools list` shows them.")
        must_be_wanted(f"This removes the pool {name}.", yes)
        if not session.run(control.delete_pool(session.db, name)):
            raise Refusal(f"The pool {name!r} stays: it is the default, or tasks that are not over need it.")
    print(f"{name}: removed")
