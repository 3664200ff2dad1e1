"""Read one value of one setting, from text or from TOML, and refuse what does not fit in a sentence."""

import re
from collections.abc import Mapping
from pathlib import Path

from bide.errors import SettingsError
from bide.settings.declared import Setting, Value

TRUE = ("true", "1", "yes", "on")
FALSE = ("false", "0", "no", "off")

IN_WORDS: Mapping[object, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
    tuple[str, ...]: "a list of texts",
}


def from_text(setting: Setting, text: str, where: str) -> Value:
    """Read a value from the environment or the command line, where everything is text."""
    text = text.strip()
    value: Value = text
    if setting.kind == tuple[str, ...]:
        value = tuple(item.strip() for item in text.split(",") if item.strip())
    elif setting.kind is bool:
        if text.lower() not in TRUE + FALSE:
            raise refusal(setting, text, where)
        value = text.lower() in TRUE
    elif setting.kind in (int, float):
        try:
            value = int(text) if setting.kind is int else float(text)
        except ValueError:
            raise refusal(setting, text, where) from None
    elif setting.kind is Path:
        value = path(setting, text, where)
    return checked(setting, value, where)


def from_toml(setting: Setting, raw: object, where: str) -> Value:
    """Take a value from bide.toml, which has types: a text is never taken for a number."""
    value: Value
    if setting.kind == tuple[str, ...] and isinstance(raw, list) and all(isinstance(item, str) for item in raw):
        value = tuple(raw)
    elif (setting.kind is bool and isinstance(raw, bool)) or (
        setting.kind is int and isinstance(raw, int) and not isinstance(raw, bool)
    ):
        value = raw
    elif setting.kind is float and isinstance(raw, int | float) and not isinstance(raw, bool):
        value = float(raw)
    elif setting.kind is str and isinstance(raw, str):
        value = raw
    elif setting.kind is Path and isinstance(raw, str):
        value = path(setting, raw, where)
    else:
        raise refusal(setting, raw, where)
    return checked(setting, value, where)


def path(setting: Setting, text: str, where: str) -> Path:
    """Read a path; an empty one would silently mean the current folder."""
    if not text:
        raise refusal(setting, text, where)
    try:
        return Path(text).expanduser()
    except RuntimeError:  # "~somebody" names nobody on this machine
        raise refusal(setting, text, where) from None


def checked(setting: Setting, value: Value, where: str) -> Value:
    """Return the value if it keeps the setting's limits."""
    about = setting.about
    if about.choices:
        # People write levels in both cases; the program sees one.
        choice = str(value).upper()
        if choice not in about.choices:
            raise refusal(setting, value, where)
        return choice
    if about.least is not None and about.most is not None and isinstance(value, int | float):
        # Written this way round so that "not a number" fails as well.
        if not about.least <= value <= about.most:
            raise refusal(setting, value, where)
    elif isinstance(value, tuple):
        if not all(item and re.fullmatch(about.pattern, item) for item in value):
            raise refusal(setting, value, where)
    elif isinstance(value, str) and value and not re.fullmatch(about.pattern, value):
        raise refusal(setting, value, where)
    return value


def expected(setting: Setting) -> str:
    """Say in words which values a setting takes."""
    about = setting.about
    if about.choices:
        return f"one of {', '.join(about.choices)}"
    if about.pattern_in_words:
        return about.pattern_in_words
    limits = "" if about.least is None else f" from {about.least:,} to {about.most:,}"
    return IN_WORDS[setting.kind] + limits


def refusal(setting: Setting, raw: object, where: str) -> SettingsError:
    """Word the refusal of a value; what a secret was set to is never repeated."""
    given = "" if setting.about.secret else f", not {given_in_words(raw)}"
    return SettingsError(f"{where}: {setting.name} must be {expected(setting)}{given}.")


def given_in_words(raw: object) -> str:
    """Name the value that was given so that its writer recognises it."""
    match raw:
        case bool():
            return str(raw).lower()
        case int() | float():
            return str(raw)
        case str():
            return f"the text {raw!r}" if raw else "an empty text"
        case list() | tuple():
            return "a list with something else in it"
        case dict():
            return "a table"
        case _:
            return "a date or time"
