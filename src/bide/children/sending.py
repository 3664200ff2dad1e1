"""Saying to the triggerer what became of triggers: what cannot be written is one trigger's own affair."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bide.model.framing import FrameError, send_all
from bide.model.trigger_messages import News, Told, WaitIsOver
from bide.model.wait_over import Crashes

MOST_AT_ONCE = 500


def send_news(send: Callable[[Told], None], news: Sequence[News]) -> None:
    """Say all of it, in its order."""

    def say(told: Told) -> None:
        try:
            send(told)
        except (FrameError, UnicodeError):
            if len(told.words) > 1:
                raise
            _send_alone(send, _written(told.words[0]))

    for at in range(0, len(news), MOST_AT_ONCE):
        send_all(say, Told, news[at : at + MOST_AT_ONCE])


def _send_alone(send: Callable[[Told], None], news: Any) -> None:
    try:
        send(Told((news,)))
    except FrameError as error:
        send(Told((WaitIsOver(news.number, Crashes(f"What the trigger has said is too long: {error}")),)))


def _written(value: Any) -> Any:
    """Replace what cannot be written: halves of characters, as they come from names of files."""
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            return {_written(key): _written(each) for key, each in value.items()}
        case Struct():
            return replace(value, **{name: _written(getattr(value, name)) for name in value.__struct_fields__})
        case _:
            return value
