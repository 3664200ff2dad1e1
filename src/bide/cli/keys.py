"""`bide keys`: make a key, and seal anew with the first key what older ones have sealed."""

import typer
from msgspec import Struct

from bide import keys, sealing
from bide.cli import output
from bide.cli.output import As, Column, Output, progress
from bide.cli.session import Session, opened
from bide.control.rotation import KINDS, rotate
from bide.errors import Refusal
from bide.settings import load

app = typer.Typer(no_args_is_help=True, add_completion=False)

MOST_NAMED = 10


class Kind(Struct):
    """What became of one kind of secrets."""

    kind: str
    read: int = 0
    renewed: int = 0
    locked: list[str] = []


COLUMNS = (
    Column[Kind]("what", lambda one: one.kind),
    Column[Kind]("there", lambda one: f"{one.read:,}", right=True),
    Column[Kind]("sealed anew", lambda one: f"{one.renewed:,}", right=True),
    Column[Kind]("cannot be opened", lambda one: f"{len(one.locked):,}" if one.locked else "", right=True),
)


@app.command("generate", epilog="Example: bide keys generate")
def generate(context: typer.Context) -> None:
    """Print a fresh key, and how to use it. Nothing is changed by that."""
    settings = load(overrides=context.obj)
    print(sealing.generate_key())
    kept = keys.place(settings)
    if not settings.security.keys and kept.exists():
        old = f"the key in {kept}, which is in use now"
    else:
        old = "the keys that are there now"
    output.note(
        "To begin with it: set security.keys to it, in bide.toml or as BIDE_SECURITY__KEYS, for every process.\n"
        f"To replace a key: put the new one first and behind it, after a comma, {old}; restart the processes one after "
        "the other; run `bide keys rotate`; then take the old key away."
    )


@app.command("rotate", epilog="Example: bide keys rotate")
def rotate_keys(context: typer.Context, output_as: As = Output.TABLE) -> None:
    """Seal with the first key what older ones have sealed, while everything goes on.

    It may be interrupted, and goes on when it is said again. The exit code is 1 if there is something no key opens.
    """
    with opened(context) as session:
        if not session.settings.security.keys and not keys.place(session.settings).exists():
            raise Refusal("There is no key here to open or to seal with: set security.keys as the services have it.")
        found = {kind: Kind(kind) for kind in KINDS}
        try:
            session.run(all_of_it(session, found))
        except KeyboardInterrupt:
            output.note("Interrupted. What is done stays done; say it again for the rest.")
            raise
    kinds = list(found.values())
    output.show(kinds, COLUMNS, output_as, "Nothing is stored encrypted.")
    locked = [f"{kind.kind} {name}" for kind in kinds for name in kind.locked]
    for one in locked[:MOST_NAMED]:
        output.note(f"Cannot be opened: {one}")
    if locked[MOST_NAMED:]:
        output.note(f"and {len(locked) - MOST_NAMED:,} more")
    if locked:
        output.note("Keep the old keys, or add the one that has sealed these to security.keys, and say it again.")
        raise typer.Exit(1)
    output.note("All of it opens with the first key: once every process knows that key, the others may go.")


async def all_of_it(session: Session, found: dict[str, Kind]) -> None:
    """Rotate before the eyes of a person."""
    with progress.status("Opening what is stored") as status:
        async for batch in rotate(session.db, session.sealer):
            one = found[batch.kind]
            one.read, one.renewed = one.read + batch.read, one.renewed + batch.renewed
            one.locked = one.locked + batch.locked
            status.update(f"{batch.kind.capitalize()}: {one.read:,} opened, {one.renewed:,} sealed anew")
