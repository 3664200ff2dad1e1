"""Refuse names that are not settings, and suggest the one that was probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches

from bide.errors import SettingsError
from bide.settings.declared import SECTIONS, SETTINGS

SEE_ALL = "`bide config` shows all settings"


def unknown_section(section: str, where: str, *, is_table: bool) -> SettingsError:
    """Word the refusal of a name at the top of bide.toml."""
    if is_table:
        near = nearest(section, SECTIONS)
        hint = f"did you mean [{near}]?" if near else f"the sections are {', '.join(SECTIONS)}."
        return SettingsError(f"{where}: there is no section [{section}]; {hint}")
    meant = near_setting(section)
    hint = f"did you mean {meant}?" if meant else f"the sections are {', '.join(SECTIONS)}."
    return SettingsError(f"{where}: {section} stands outside of any section; {hint}")


def unknown_key(name: str, where: str) -> SettingsError:
    """Word the refusal of `section.key`."""
    meant = near_setting(name)
    hint = f"did you mean {meant}?" if meant else f"{SEE_ALL}."
    return SettingsError(f"{where}: there is no setting {name}; {hint}")


def unknown_variable(variable: str) -> SettingsError:
    """Word the refusal of an environment variable."""
    section, _, key = variable.removeprefix("BIDE_").lower().partition("__")
    meant = near_setting(f"{section}.{key}")
    hint = f"did you mean {SETTINGS[meant].variable}?" if meant else f"{SEE_ALL}."
    return SettingsError(f"The environment variable {variable} names no setting; {hint}")


def near_setting(name: str) -> str | None:
    """Find the setting that was meant: a slip within the section, the right key elsewhere, or a slip anywhere."""
    section, _, key = name.rpartition(".")
    in_section = {setting.key: full for full, setting in SETTINGS.items() if setting.section == section}
    slip = nearest(key, in_section)
    if slip:
        return in_section[slip]
    elsewhere = [full for full, setting in SETTINGS.items() if setting.key == key]
    return nearest(name, elsewhere) or next(iter(elsewhere), None) or nearest(name, SETTINGS)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that looks most like the given one, if any looks like it."""
    matches = get_close_matches(name.lower(), list(known), n=1)
    return matches[0] if matches else None
