"""The codec itself: a value of the user to text, and the text back to the value."""

from collections.abc import Callable
from typing import Any

import msgspec

from bide.errors import CodecError
from bide.model.codec.entry import Unstorable
from bide.model.codec.limits import MAX_SIZE, check_before_reading
from bide.model.codec.reader import Reader
from bide.model.codec.registry import REGISTERED, Registry
from bide.model.codec.writer import Writer


class Codec:
    """Turns values into JSON text and back. Holds no state, so one of them serves a whole process."""

    def __init__(
        self,
        resolve: Callable[[str], object] | None = None,
        registry: Registry = REGISTERED,
        max_size: int = MAX_SIZE,
    ) -> None:
        """Make a codec. `resolve` finds the class that "module:Class.Inner" means; services have none."""
        self._resolve = resolve
        self._registry = registry
        self._max_size = max_size

    def encode(self, value: object, called: str = "value") -> str:
        """Write a value as text, or refuse it with the path of what is wrong, which begins with what it is called."""
        try:
            text = msgspec.json.encode(Writer(self._registry, self._max_size).tree(value))
        except Unstorable as found:
            raise CodecError(found.told(called)) from found.__cause__
        except RecursionError:
            raise CodecError(f"{called} is nested too deeply for what is left of Python's stack.") from None
        if len(text) > self._max_size:
            raise CodecError(f"{called} takes {len(text):,} bytes; at most {self._max_size:,} are stored.")
        return text.decode()

    def decode(self, text: str) -> Any:
        """Read what `encode` has written. Whatever else the text is, it gives a value or a CodecError."""
        check_before_reading(text, self._max_size)
        try:
            tree = msgspec.json.decode(text)
            # Most values have neither tags nor escaped keys, and are what they look like.
            if '"$' not in text and r"\u0024" not in text:
                return tree
            return Reader(self._registry, self._resolve).value(tree)
        except (msgspec.MsgspecError, UnicodeEncodeError) as error:
            raise CodecError(f"A stored value is no JSON: {error}") from None
        except RecursionError:
            raise CodecError("A stored value is nested too deeply for what is left of Python's stack.") from None
