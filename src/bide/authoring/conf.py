"""The settings that an author's code may ask for: those of the section `operators`, and no secret.

Children are told them in their environment, by whoever starts them. In a process of one's own, as in a test, it is the
environment that says what differs from the default.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from bide.authoring.place import mistake
from bide.settings.declared import SETTINGS

_NEEDED: Any = object()
_SECTION = "operators"
_YES, _NO = ("true", "t", "yes", "y", "on", "1"), ("false", "f", "no", "n", "off", "0")


class Conf:
    """`conf.getboolean("operators", "default_deferrable")` and its like, as DAG files written for Airflow ask."""

    def get(self, section: str, key: str, fallback: Any = _NEEDED) -> Any:
        """Return a setting as a text; what is none here is the fallback."""
        setting = SETTINGS.get(f"{section}.{key}".lower())
        if setting is not None and setting.section == _SECTION:
            return os.environ.get(setting.variable, str(setting.default))
        if fallback is _NEEDED:
            raise mistake(
                f"The code of DAG files can ask for the settings of [{_SECTION}] only, and {section}.{key} is none of "
                "them: give a fallback, or use a variable."
            )
        return fallback

    def getboolean(self, section: str, key: str, fallback: Any = _NEEDED) -> bool:
        """Return a setting as True or False."""
        return bool(self._read(_boolean, section, key, fallback))

    def getint(self, section: str, key: str, fallback: Any = _NEEDED) -> int:
        """Return a setting as a whole number."""
        return int(self._read(int, section, key, fallback))

    def getfloat(self, section: str, key: str, fallback: Any = _NEEDED) -> float:
        """Return a setting as a number."""
        return float(self._read(float, section, key, fallback))

    def _read(self, kind: Callable[[str], Any], section: str, key: str, fallback: Any) -> Any:
        found = self.get(section, key, fallback)
        if not isinstance(found, str):
            return found
        try:
            return kind(found)
        except ValueError:
            raise mistake(f"The setting {section}.{key} is {found!r}, which is not what is asked for.") from None


def _boolean(text: str) -> bool:
    if text.lower() in _YES:
        return True
    if text.lower() in _NO:
        return False
    raise ValueError(text)


conf = Conf()
