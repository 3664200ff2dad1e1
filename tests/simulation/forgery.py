"""Words with wrong numbers: whatever the state of their rows, they must change nothing."""

from dataclasses import replace
from random import Random
from typing import Any

from msgspec.structs import replace as with_fields

from tests.simulation.effects import TURNS
from tests.simulation.ledger import Word

NUMBERS = ("leg", "claim", "epoch", "fence", "trigger_id")


def is_batch(argument: Any) -> bool:
    """Whether an argument lists what a word is about; names of queues do not."""
    return isinstance(argument, tuple) and bool(argument) and not isinstance(argument[0], str)


def forged(word: Word, rng: Random) -> Word | None:
    """The same word with earlier or later numbers; nothing where a word has none."""
    off = rng.choice((-1, 1))
    if word.verb in TURNS and rng.random() < 0.5:
        turn, *others = word.args
        return replace(word, args=(turn + off, *others), forged=True)
    args = tuple(tuple(_off(item, off) for item in a) if is_batch(a) else a for a in word.args)
    return None if args == word.args else replace(word, args=args, forged=True)


def _off(item: Any, off: int) -> Any:
    number = next((number for number in NUMBERS if hasattr(item, number)), None)
    return item if number is None else with_fields(item, **{number: getattr(item, number) + off})
