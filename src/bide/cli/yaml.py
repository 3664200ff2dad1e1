"""YAML for people to read. JSON would be valid YAML too, but whoever asks for YAML does not ask for braces.

Only what JSON can hold is written. Texts are quoted as JSON quotes them unless they are plainly words, so no reader
takes one for a number, a date or a truth value.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

_PLAIN = re.compile(r"[A-Za-z_/](?:[\w./+ -]*[\w./+-])?", re.ASCII)
# Words that some reader takes for something else than a text.
_TAKEN = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}
_INDENT = "  "


def yaml(value: Any) -> str:
    """Write a value that JSON can hold."""
    if _is_flat(value):
        return _scalar(value) + "\n"
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _entry(f"{_scalar(str(key))}:", item)
        return
    for item in value:
        if _is_flat(item):
            yield from _entry("-", item)
            continue
        # What is nested begins on the line of its dash.
        first, *rest = _lines(item)
        yield f"- {first}"
        yield from (f"{_INDENT}{line}" if line else "" for line in rest)


def _entry(begin: str, value: Any) -> Iterator[str]:
    if not _is_flat(value):
        yield begin
        yield from (f"{_INDENT}{line}" if line else "" for line in _lines(value))
    elif isinstance(value, str) and _is_block(value):
        yield f"{begin} |-"
        yield from (f"{_INDENT}{line}" if line else "" for line in value.split("\n"))
    else:
        yield f"{begin} {_scalar(value)}"


def _is_flat(value: Any) -> bool:
    return not isinstance(value, dict | list) or not value


def _is_block(text: str) -> bool:
    """Say whether a text of several lines can stand as it is: nothing in it is lost or taken for a sign of YAML."""
    lines = text.split("\n")
    return (
        len(lines) > 1
        and all(line.isprintable() and line == line.rstrip() for line in lines)
        and bool(lines[-1])
        and lines[0][:1] not in ("", " ")
    )


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and value.lower() not in _TAKEN else _quoted(value)
    text = msgspec.json.encode(value).decode()
    if isinstance(value, float) and "e" in text:
        # Older readers know an exponent only after a point, and only with a sign.
        mantissa, _, exponent = repr(value).partition("e")
        return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}e{exponent}"
    return text


def _quoted(text: str) -> str:
    return "".join(sign if sign.isprintable() else _escaped(sign) for sign in msgspec.json.encode(text).decode())


def _escaped(sign: str) -> str:
    return f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}"
