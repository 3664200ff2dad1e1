"""The help of every command: it says what it is for, and its example can be said."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from bide.cli.lazy import LazyGroup
from bide.cli.main import Commands, app
from tests.cli.person import Person


def commands() -> Iterator[tuple[str, Any]]:
    """List every command with its whole name."""
    group = get_command(app)
    assert isinstance(group, Commands)
    for name in Commands.table:
        command = group.loaded(name)
        under = brought_in(command) if isinstance(command, TyperGroup) else {"": command}
        yield from ((f"bide {name} {word}".rstrip(), one) for word, one in under.items())


def brought_in(group: TyperGroup) -> dict[str, Any]:
    """List the commands of a group, also those that it brings in when somebody says them."""
    lazy = {name: group.loaded(name) for name in group.table} if isinstance(group, LazyGroup) else {}
    return {**group.commands, **lazy}


EVERY = dict(commands())


@pytest.mark.parametrize("name", EVERY)
def test_every_command_says_what_it_is_for_and_gives_an_example(newcomer: Person, name: str) -> None:
    said = newcomer.say(*name.split()[1:], "--help")
    assert said.code == 0
    assert EVERY[name].help
    beginning, _, example = EVERY[name].epilog.partition(": ")
    assert beginning == "Example"
    assert example.startswith(name)
    assert " ".join(example.split()) in " ".join(said.out.split())


@pytest.mark.parametrize("name", EVERY)
def test_the_example_can_be_said(name: str) -> None:
    arguments = shlex.split(EVERY[name].epilog.partition(": ")[2])[len(name.split()) :]
    assert EVERY[name].make_context(name, arguments, resilient_parsing=False)


@pytest.mark.parametrize("name", EVERY)
def test_every_option_and_argument_is_explained(name: str) -> None:
    assert [given.name for given in EVERY[name].params if not given.help] == []


@pytest.mark.parametrize(
    "name", [name for name in EVERY if name.rpartition(" ")[2] in {"list", "show", "status", "get"}]
)
def test_whatever_lists_or_shows_can_be_read_by_programs(name: str) -> None:
    (output,) = [given for given in EVERY[name].params if "--output" in given.opts]
    assert [str(choice) for choice in output.type_descriptor.choices] == ["table", "json", "yaml"]


def test_help_lists_every_command(newcomer: Person) -> None:
    said = newcomer.say("--help")
    assert all(f"│ {name} " in said.out for name in Commands.table)


def test_a_slip_is_answered_with_the_near_command(newcomer: Person) -> None:
    assert "Did you mean 'dags'?" in newcomer.say("dag").err
    said = newcomer.say("dags", "trigg")
    assert (said.code, "Did you mean 'trigger'?" in said.err) == (2, True)


def test_help_imports_nothing_that_commands_need() -> None:
    heavy = ("asyncpg", "cryptography", "bide.store", "bide.control", "rich.live", "asyncio")
    code = (
        "import sys, bide.cli.main\n"
        "sys.argv = ['bide', '--help']\n"
        "try: bide.cli.main.main()\n"
        f"except SystemExit: print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "dags" in run.stdout
    assert run.stderr == "[]\n"
