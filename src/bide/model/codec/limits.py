"""How long and how deep a stored value may be, checked on the text alone."""

import re
from itertools import accumulate

from bide.errors import CodecError

MAX_SIZE = 1_000_000
"""Bytes of text that one value may take."""

MAX_DEPTH = 100
"""Brackets that may be open at once in the text of one value. A tuple or a set takes two."""

# A wait's event is appended to the keyword arguments that are stored already, so what is read may be
# as long as two values, and a little deeper than one.
READ_SIZES = 2
_READ_DEPTH = MAX_DEPTH + 8

# The end of the text ends a string too: otherwise unclosed quotes would cost quadratic time.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # as signed bytes: +1 and -1
_NO_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))


def check_before_reading(text: str, max_size: int) -> None:
    """Refuse a text that is too long or too deep, without parsing it."""
    longest = READ_SIZES * max_size
    if len(text) > longest:
        raise CodecError(f"A stored value is {len(text)} characters long; at most {longest} are read.")
    if text.count("[") + text.count("{") > _READ_DEPTH and _depth(text) > _READ_DEPTH:
        raise CodecError(f"A stored value is nested deeper than {_READ_DEPTH} levels, so it is not read.")


def _depth(text: str) -> int:
    brackets = _STRING.sub("", text).encode(errors="replace").translate(_STEPS, _NO_BRACKETS)
    return max(accumulate(memoryview(brackets).cast("b")), default=0)
