"""Lay the sources over one another, the later the stronger: defaults, bide.toml, environment, command line."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from bide.errors import SettingsError
from bide.settings.declared import SETTINGS, Setting, Settings, Value, shown_value
from bide.settings.names import unknown_key, unknown_section, unknown_variable
from bide.settings.value import from_text, from_toml

FILE = "bide.toml"
PREFIX = "BIDE_"
# The name that deployments everywhere use for the database; it stands beside BIDE_DATABASE__URL.
DATABASE_URL = "BIDE_DATABASE_URL"
HERE = Path()
NONE: Mapping[str, str] = MappingProxyType({})

Given = Iterator[tuple[Setting, Value, str]]


class Explained(msgspec.Struct, frozen=True):
    """One setting as `bide config` shows it: secrets are masked, and the source is named."""

    section: str
    key: str
    value: str | int | float | bool | list[str]
    source: str
    doc: str


def load(
    *, directory: Path = HERE, environ: Mapping[str, str] = os.environ, overrides: Mapping[str, str] = NONE
) -> Settings:
    """Build the settings for a folder; relative paths in them start at that folder, wherever the process goes later."""
    sections: dict[str, dict[str, Value]] = {}
    for setting, value, _ in resolved(directory, environ, overrides):
        sections.setdefault(setting.section, {})[setting.key] = value
    return msgspec.convert(sections, Settings)


def explain(
    *, directory: Path = HERE, environ: Mapping[str, str] = os.environ, overrides: Mapping[str, str] = NONE
) -> list[Explained]:
    """Say of every setting what it is and where that came from."""
    return [
        Explained(setting.section, setting.key, shown_value(setting, value), source, setting.about.doc)
        for setting, value, source in resolved(directory, environ, overrides)
    ]


def resolved(directory: Path, environ: Mapping[str, str], overrides: Mapping[str, str]) -> Given:
    """Yield every setting once, with its strongest value and that value's source."""
    strongest: dict[str, tuple[Value, str]] = {name: (s.default, "default") for name, s in SETTINGS.items()}
    for given in (from_file(directory / FILE), from_environment(environ), from_command_line(overrides)):
        strongest.update({setting.name: (value, source) for setting, value, source in given})
    for name, (value, source) in strongest.items():
        anchored = directory.absolute() / value if isinstance(value, Path) else value
        yield SETTINGS[name], anchored, source


def from_file(path: Path) -> Given:
    """Yield what bide.toml sets; no file sets nothing."""
    for section, table in parsed(path).items():
        if not any(setting.section == section for setting in SETTINGS.values()):
            raise unknown_section(section, str(path), is_table=isinstance(table, dict))
        if not isinstance(table, dict):
            raise SettingsError(f"{path}: {section} is a section: write [{section}] and its settings below.")
        for key, raw in table.items():
            setting = SETTINGS.get(f"{section}.{key}")
            if setting is None:
                raise unknown_key(f"{section}.{key}", str(path))
            yield setting, from_toml(setting, raw, str(path)), str(path)


def parsed(path: Path) -> dict[str, object]:
    """Read the file, and say where it is broken if it is."""
    try:
        # Some editors on Windows put a byte order mark first, which TOML does not allow.
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8 text: byte {error.start + 1} is wrong.") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOML's own error, a number that is too long, nesting without end
        last_line = text.count("\n") + 1
        reason = str(error).replace("at end of document", f"at line {last_line}, the end of the file")
        raise SettingsError(f"{path} is not valid TOML: {reason}.") from None


def from_environment(environ: Mapping[str, str]) -> Given:
    """Yield what the environment sets; of the BIDE_ variables those with two underscores are settings."""
    known = {setting.variable: setting for setting in SETTINGS.values()}
    url = SETTINGS["database.url"]
    if environ.get(DATABASE_URL) is not None and url.variable in environ:
        raise SettingsError(f"{DATABASE_URL} and {url.variable} are both set and mean the same; keep one of them.")
    known[DATABASE_URL] = url
    for variable, text in environ.items():
        if variable in known:
            yield known[variable], from_text(known[variable], text, variable), variable
        elif variable.startswith(PREFIX) and "__" in variable:
            raise unknown_variable(variable)


def from_command_line(overrides: Mapping[str, str]) -> Given:
    """Yield what `--set section.key=value` sets."""
    for name, text in overrides.items():
        setting = SETTINGS.get(name)
        if setting is None:
            raise unknown_key(name, "--set")
        yield setting, from_text(setting, text, "--set"), "--set"
