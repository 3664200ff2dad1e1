"""Secrets at rest: a text is sealed for one place, and opens there and nowhere else.

The place is sealed together with the text, so a token that somebody copies to another row or under another class path
is recognised as what it is. Of several keys the first one seals and all of them open, so keys are changed online: put
the new key in front everywhere, let `renewed` seal anew what older keys have sealed, and take the old key out.
"""

import base64
import hashlib
from collections.abc import Sequence

import msgspec
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from bide.errors import SealedElsewhere, SealingError, UnknownKey

Place = tuple[str, ...]


def wait(trigger_id: int, classpath: str) -> Place:
    """Where the arguments of a wait belong, whether it is going on or its on_kill is still to run."""
    return ("wait", str(trigger_id), classpath)


def connection(conn_id: str) -> Place:
    """Where a connection's secrets belong."""
    return ("connection", conn_id)


def variable(key: str) -> Place:
    """Where the value of a variable belongs."""
    return ("variable", key)


def generate_key() -> str:
    """Make a new key."""
    return Fernet.generate_key().decode()


class Sealer:
    """Seals with the first of its keys, and opens with any of them."""

    def __init__(self, keys: Sequence[str]) -> None:
        try:
            self._fernets = [Fernet(key) for key in keys]
        except ValueError:
            # Without the key and what led here: neither belongs into a log.
            raise SealingError("A key is no Fernet key: those are 44 characters of URL-safe base64.") from None

    def seal(self, text: str, place: Place) -> str:
        """Encrypt a text so that it opens in this place only."""
        first, _ = self._keys()
        return first.encrypt(_mark(place) + text.encode(errors="surrogatepass")).decode()

    def open(self, token: str, place: Place) -> str:
        """Decrypt a text that was sealed for this place."""
        _, every = self._keys()
        try:
            opened = every.decrypt(_canonical(token))
        except InvalidToken:
            raise self._unknown() from None
        mark = _mark(place)
        if not opened.startswith(mark):
            raise SealedElsewhere(f"What is stored for {' '.join(place)} was sealed for another place: it was moved.")
        return opened[len(mark) :].decode(errors="surrogatepass")

    def renewed(self, token: str) -> str | None:
        """Seal anew, for the same place, what an older key has sealed; None if the first key has sealed it."""
        first, every = self._keys()
        try:
            exact = _canonical(token)
            try:
                first.decrypt(exact)
            except InvalidToken:
                return every.rotate(exact).decode()
        except InvalidToken:
            raise self._unknown() from None
        return None

    def _keys(self) -> tuple[Fernet, MultiFernet]:
        if not self._fernets:
            raise UnknownKey("There is no key to seal or to open with; set security.keys.")
        return self._fernets[0], MultiFernet(self._fernets)

    def _unknown(self) -> UnknownKey:
        keys = "The only key does not open" if len(self._fernets) == 1 else f"None of {len(self._fernets)} keys opens"
        return UnknownKey(f"{keys} what is stored: it was sealed with another key, or damaged.")


def _mark(place: Place) -> bytes:
    return hashlib.sha256(msgspec.json.encode(place)).digest()


def _canonical(token: str) -> bytes:
    # Base64 has several spellings of the same bytes. Only the one that was written is taken for unchanged.
    try:
        if base64.urlsafe_b64encode(base64.urlsafe_b64decode(token)).decode() == token:
            return token.encode()
    except ValueError:
        pass
    raise InvalidToken
