"""Keeping secrets out of what is stored and shown: logs, errors, reasons.

A masker knows the secrets of one place, such as those that a leg has asked for. A secret is found as it is, and in the
spellings that it takes in addresses and in JSON.
"""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

SHOWN = "***"
SHORTEST = 3
"""Shorter ones would take apart every other word, and hide nothing."""

SENSITIVE = re.compile(
    r"passw|passphrase|secret|token|api_?key|access_?key|private_?key|authorization|credential|key_?file|key_?path",
    re.IGNORECASE,
)


class Masker:
    """Replaces secrets by stars in whatever it is given."""

    def __init__(self) -> None:
        self._spellings: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def learn(self, *secrets: str) -> None:
        """Mask these from now on; of a text with several lines also each line."""
        for secret in secrets:
            for part in {secret, *secret.splitlines()}:
                if len(part.strip()) >= SHORTEST:
                    self._spellings.update(_spellings(part))
        if self._spellings:
            # The longest first: a secret may begin like another one.
            known = sorted(self._spellings, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, known)))

    @property
    def is_empty(self) -> bool:
        """Whether it knows no secret yet."""
        return self._pattern is None

    def include(self, other: "Masker") -> None:
        """Mask what another one masks, too."""
        if other._spellings - self._spellings:
            self._spellings |= other._spellings
            self.learn()

    def __call__(self, text: str) -> str:
        """Return the text without its secrets."""
        return text if self._pattern is None else self._pattern.sub(SHOWN, text)

    def unfinished(self, text: str) -> int:
        """Count the characters at the end that may be the beginning of a secret, of which the rest is still to come."""
        return max((_overlap(text, spelling) for spelling in self._spellings), default=0)


def is_sensitive(name: str) -> bool:
    """Say whether what has such a name is likely to be a secret."""
    return SENSITIVE.search(name) is not None


def secrets_of_variable(name: str, value: str) -> Iterator[str]:
    """Find what is secret about a variable: all of it, or what has a telling name inside."""
    if is_sensitive(name):
        yield value
    yield from secrets_inside(value)


def secrets_of_connection(text: str) -> Iterator[str]:
    """Find the secrets in a connection, which is an address or a JSON object."""
    if text.lstrip().startswith("{"):
        yield from secrets_inside(text)
        return
    try:
        parts = urlsplit(text)
        password = parts.password
    except ValueError:
        # Nobody can take it apart, so all of it is kept back.
        yield text
        return
    if password:
        yield from {password, unquote(password)}
    for name, value in parse_qsl(parts.query):
        if is_sensitive(name):
            yield value
        yield from secrets_inside(value)


def secrets_inside(text: str) -> Iterator[str]:
    """Find the values with telling names in a JSON object, also in texts of it that are JSON themselves."""
    if not text.lstrip().startswith(("{", "[")):
        return
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return
    yield from _sensitive_values(tree)


def _sensitive_values(tree: Any) -> Iterator[str]:
    pending = [(False, tree)]
    while pending:
        sensitive, value = pending.pop()
        if isinstance(value, dict):
            pending += [(sensitive or is_sensitive(name), inner) for name, inner in value.items()]
        elif isinstance(value, list):
            pending += [(sensitive, inner) for inner in value]
        elif isinstance(value, str):
            if sensitive:
                yield value
            yield from secrets_inside(value)


def _spellings(secret: str) -> Iterator[str]:
    yield from (secret, quote(secret, "", errors="replace"), quote_plus(secret, errors="replace"), repr(secret)[1:-1])
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])


def _overlap(text: str, secret: str) -> int:
    for length in range(min(len(secret) - 1, len(text)), 0, -1):
        if text.endswith(secret[:length]):
            return length
    return 0
