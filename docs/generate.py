"""Write the pages that are made from the code; with --check only tell which of them are out of date.

`make docs` runs it. The texts come from the data itself: from the verbs, from the remarks beside the states and
fences, and from the declared settings. So a page cannot say what the program does not do.
"""

import argparse
import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from bide.model.states import TERMINAL, UNFINISHED, RunState, TaskState
from bide.model.transitions import HOLDER_VERBS, RUN_VERBS, TASK_VERBS, Fence, State, Transition
from bide.settings import document

HERE = Path(__file__).parent

FAMILIES: dict[frozenset[StrEnum], str] = {UNFINISHED: "any unfinished", TERMINAL: "any terminal"}

FROM_OUTSIDE = (Fence.STATE, Fence.WAIT)

_REMARK = re.compile(r'^\s+\w+ = "([^"]+)"  # (.+)$', re.MULTILINE)

STATES_PAGE = """\
# States and verbs

<!-- Generated from src/bide/model/ by `make docs`; edit states.py and transitions.py instead. -->

A *verb* is a named transition. The same word names a row of these tables, a statement in `src/bide/sql/`, a function
in `src/bide/store/`, and an entry in the history. A verb changes a row only if the row is in a state that the verb
leaves **and** its fence holds; otherwise it changes nothing and says so by returning no row.

## Fences

{fences}

## Task instance

{task_states}

What the engine does by itself. Verbs that leave a task in the state it is in are not drawn, nor are those whose fence
is the state alone or the wait that a person saw ({outside}): they come from outside and cut across the picture.

{task_diagram}

{task_verbs}

The leg: *new* means that the verb counts it up, so that every earlier holder's word is refused from then on.

## Run

{run_diagram}

{run_verbs}

## Waits, processes and new runs

These say who holds a wait, that a process lives, or that a run comes to be. No task instance leaves its state.

{holder_verbs}
"""


def pages() -> dict[str, str]:
    """Return every generated page by its file name."""
    return {"states.md": states_page(), "configuration.md": document()}


def states_page() -> str:
    """Return the page about states and verbs."""
    driven = [verb for verb in TASK_VERBS if verb.fence not in FROM_OUTSIDE]
    return STATES_PAGE.format(
        fences=table(["fence", "what must hold beside the state"], remarks(Fence)),
        task_states=table(["state", "meaning"], remarks(TaskState)),
        outside=", ".join(f"`{verb.name}`" for verb in TASK_VERBS if verb.fence in FROM_OUTSIDE),
        task_diagram=diagram(driven, first=TaskState.NONE),
        task_verbs=table(
            ["verb", "moves", "fence", "leg", "by", "when"],
            [
                (f"`{verb.name}`", moves(verb.moves), verb.fence, "new" if verb.new_leg else "", verb.by, verb.when)
                for verb in TASK_VERBS
            ],
        ),
        run_diagram=diagram(RUN_VERBS, first=RunState.QUEUED),
        run_verbs=table(
            ["verb", "moves", "fence", "by", "when"],
            [(f"`{verb.name}`", moves(verb.moves), verb.fence, verb.by, verb.when) for verb in RUN_VERBS],
        ),
        holder_verbs=table(
            ["verb", "about", "fence", "by", "when"],
            [(f"`{verb.name}`", verb.subject, verb.fence, verb.by, verb.when) for verb in HOLDER_VERBS],
        ),
    )


def remarks(enum: type[StrEnum]) -> list[tuple[str, str]]:
    """Return every member of an enum with the remark that stands beside it in the source."""
    remark = dict(_REMARK.findall(inspect.getsource(enum)))
    return [(f"`{member}`", remark.get(member, "")) for member in enum]


def diagram(verbs: Iterable[Transition[State]], first: State) -> str:
    """Draw the verbs as a state diagram: one arrow for each pair of states, with the verbs that take it."""
    arrows: dict[tuple[State, State], list[str]] = {}
    for verb in verbs:
        for before in in_order(verb.moves):
            for state in (state for state in in_order(verb.moves[before]) if state != before):
                arrows.setdefault((before, state), []).append(verb.name)
    ends = {after for _, after in arrows} - {before for before, _ in arrows}
    lines = [
        f"[*] --> {first}",
        *(f"{before} --> {after}: {', '.join(names)}" for (before, after), names in arrows.items()),
        *(f"{end} --> [*]" for end in in_order(ends)),
    ]
    return "\n".join(["```mermaid", "stateDiagram-v2", *(f"    {line}" for line in lines), "```"])


def moves(verb_moves: Mapping[State, frozenset[State]]) -> str:
    """Say where a verb leads, with the states together that it treats alike; from all but a few: "any other"."""
    alike: dict[str, list[State]] = {}
    for before in in_order(verb_moves):
        after = in_order(verb_moves[before])
        alike.setdefault("itself" if after == [before] else ", ".join(after), []).append(before)
    if len(alike) > 1 and len(verb_moves) == len(type(before).__members__):
        *few, rest = sorted(alike.items(), key=lambda group: len(group[1]))
        named = [(family(states), after) for after, states in few] + [("any other", rest[0])]
    else:
        named = [(family(states), after) for after, states in alike.items()]
    return "; ".join(f"{states} → {after}" for states, after in named)


def family(states: Iterable[StrEnum]) -> str:
    """Name a set of states, by the word for the whole family if it is one."""
    return FAMILIES.get(frozenset(states)) or ", ".join(states)


def in_order(states: Iterable[State]) -> list[State]:
    """Sort states as they are declared, so that a page does not depend on how a set is walked."""
    return sorted(states, key=lambda state: list(type(state).__members__).index(state.name))


def table(heads: list[str], rows: Iterable[tuple[str, ...]]) -> str:
    """Write a table in Markdown."""
    cells = [heads, ["---"] * len(heads), *(list(row) for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def out_of_date(folder: Path) -> list[str]:
    """Name the pages in a folder that are not as they would be generated."""
    stored = {name: folder / name for name in pages()}
    return [
        name
        for name, text in pages().items()
        if not stored[name].exists() or stored[name].read_text(encoding="utf-8") != text
    ]


def main() -> int:
    """Write the pages, or with --check name the stale ones."""
    parser = argparse.ArgumentParser(prog="python -m docs.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is out of date")
    if parser.parse_args().check:
        stale = out_of_date(HERE)
        for name in stale:
            print(f"docs/{name} is out of date: run `make docs`.", file=sys.stderr)
        return 1 if stale else 0
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")
        print(f"docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
