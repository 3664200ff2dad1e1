"""Saying once that a connection was lost, and once that it is back: it may be tried again many times in between."""

import logging

log = logging.getLogger(__name__)


class Interruption:
    """What a person is told about one connection that is made again and again."""

    def __init__(self, what: str, meanwhile: str) -> None:
        """`what` begins a sentence: it is lost, or it is back."""
        self._what, self._meanwhile = what, meanwhile
        self._is_lost = False

    def lost(self, error: Exception) -> None:
        """It was lost, or could not be made again."""
        if not self._is_lost:
            log.warning("%s is lost; %s: %r", self._what, self._meanwhile, error)
        self._is_lost = True

    def back(self) -> None:
        """It is there."""
        if self._is_lost:
            log.warning("%s is back.", self._what)
        self._is_lost = False
