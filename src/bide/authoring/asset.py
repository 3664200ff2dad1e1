"""Assets: names for what tasks make. For now they are only kept in the plan."""

from collections.abc import Mapping
from typing import Any

from bide.authoring.checks import Wrong, listed
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


def assets(name: str, given: Any) -> list[Asset | str]:
    """Take assets or their names, or a single one."""
    found = listed(name, given)
    for each in found:
        if not isinstance(each, Asset | str):
            raise Wrong(f"{name} holds {kind_of(each)}; it may hold assets and their names.")
    return found


def asset_name(given: Asset | str) -> str:
    """Return the name of an asset."""
    return given if isinstance(given, str) else given.name
