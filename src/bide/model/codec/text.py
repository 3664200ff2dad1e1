"""Strings and keys that PostgreSQL would refuse or that would look like a tag, in escapes of plain ASCII."""

import re

TAG = "$"
"""The reserved key: an object that has it is a tagged value."""

VALUE = "v"
"""The key of a tagged value's content."""

_UNSAFE = re.compile("[\0\ud800-\udfff]")
_ESCAPED = re.compile(r"(?:[^\\]|\\[\\tnr]|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8})*+", re.ASCII)


def is_safe(text: str) -> bool:
    """Tell whether PostgreSQL takes the text as it is: it has no NUL and no half of a surrogate pair."""
    if text.isascii():
        return "\0" not in text
    return _UNSAFE.search(text) is None


def escape(text: str) -> str:
    r"""Write a string in ASCII, such as a\x00b."""
    return text.encode("unicode_escape").decode("ascii")


def unescape(text: str) -> str:
    """Read what `escape` has written."""
    if not text.isascii() or not _ESCAPED.fullmatch(text):
        raise ValueError("bad escapes")
    return text.encode("ascii").decode("unicode_escape")


def write_key(key: str) -> str:
    """Write a key of a user's dict so that it is no tag and safe."""
    if key[:1] != TAG and is_safe(key):
        return key
    return TAG + escape(key)


def read_key(key: str) -> str:
    """Read what `write_key` has written."""
    if key[:1] != TAG:
        return key
    read = unescape(key[1:])
    if write_key(read) != key:
        raise ValueError("a key that is escaped without need")
    return read
