"""`bide config`: every setting, its value, and where it came from."""

import typer
from rich.text import Text

from bide.cli import output
from bide.cli.output import As, Column, Output
from bide.settings import Explained, explain

app = typer.Typer(add_completion=False)
COLUMNS = (
    Column[Explained]("setting", lambda setting: f"{setting.section}.{setting.key}"),
    Column[Explained](
        "value",
        lambda setting: Text(in_words(setting.value), "dim" if setting.source == "default" else "bold"),
    ),
    Column[Explained]("source", lambda setting: setting.source),
)


@app.command(epilog="Example: bide config --output json")
def show(context: typer.Context, output_as: As = Output.TABLE) -> None:
    """Show every setting, its value, and where it came from; secrets are masked.

    json and yaml hold each setting's description too.
    """
    output.show(explain(overrides=context.obj), COLUMNS, output_as, "There are no settings.")


def in_words(value: str | int | float | bool | list[str]) -> str:
    """Write a value as one would set it on the command line."""
    if isinstance(value, list):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
