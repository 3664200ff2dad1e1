"""Assets: names for what tasks make. For now they are only kept in the plan."""

from collections.abc import Mapping
from typing import Any

from bide.authoring.place import kind_of, mistake


class Asset:
    """Something that tasks make or use, such as a table or a file, known by its name or address."""

    def __init__(
        self,
        name: str | None = None,
        uri: str | None = None,
        *,
        group: str = "asset",
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        if not (name or uri):
            raise mistake("An Asset needs a name or a uri.")
        self.name = name or uri or ""
        self.uri = uri or name or ""
        self.group = group
        self.extra = dict(extra or {})

    def __repr__(self) -> str:
        return f"Asset({self.name!r})"


def asset_name(given: object) -> str:
    """Return the name of what stands among the outlets of a task."""
    if isinstance(given, Asset):
        return given.name
    if isinstance(given, str):
        return given
    raise mistake(f"outlets hold assets or their names, not {kind_of(given)}.")
