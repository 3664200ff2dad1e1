"""Params: what may be said about a single run, each with its default and a JSON schema of what it may be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, MutableMapping
from datetime import datetime
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError

from bide.authoring.place import Place, mistake
from bide.exceptions import ParamsRefused

NOTHING: Any = object()
_formats = FormatChecker()


def _is_moment(given: object) -> bool:
    return not isinstance(given, str) or datetime.fromisoformat(given).utcoffset() is not None


_formats.checks("date-time", raises=ValueError)(_is_moment)


class Param:
    """One param: its default, what it is for, and as further arguments the JSON schema that it must fit."""

    def __init__(self, default: Any = NOTHING, description: str | None = None, **schema: Any) -> None:
        self.value = default
        self.description = description
        self.schema: dict[str, Any] = schema.pop("schema", None) or schema
        try:
            Draft202012Validator.check_schema(self.schema)
            json.dumps([None if default is NOTHING else default, self.schema], allow_nan=False)
        except SchemaError as error:
            raise mistake(f"A param has a schema that is no JSON schema: {error.message}.") from None
        except (TypeError, ValueError) as error:
            raise mistake(f"A param holds what JSON cannot: {error}.") from None

    @property
    def has_value(self) -> bool:
        """Whether it has a default, or somebody has given it a value."""
        return self.value is not NOTHING

    def problem(self) -> str | None:
        """Tell why its value does not do."""
        if not self.has_value:
            return "it has no default, and nobody has given it a value"
        try:
            Draft202012Validator(self.schema, format_checker=_formats).validate(self.value)
        except ValidationError as error:
            return str(error.message)
        return None

    def resolve(self, value: Any = NOTHING) -> Any:
        """Return its value, or the one that is given instead, if it fits the schema."""
        asked = self if value is NOTHING else self.having(value)
        problem = asked.problem()
        if problem:
            raise ParamsRefused(problem)
        return asked.value

    def having(self, value: Any) -> Param:
        """Make the same param with another value."""
        twin = Param(description=self.description, schema=self.schema)
        twin.value = value
        return twin


class ParamsDict(MutableMapping[str, Any]):
    """Params by name. Reading gives values; a value that is set keeps the schema of its param."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self._params: dict[str, Param] = {}
        for name, value in (given.params() if isinstance(given, ParamsDict) else dict(given or {})).items():
            self[name] = value

    def params(self) -> dict[str, Param]:
        """Return the params themselves."""
        return dict(self._params)

    def get_param(self, name: str) -> Param:
        """Return a param itself."""
        return self._params[name]

    def __getitem__(self, name: str) -> Any:
        param = self._params[name]
        return param.value if param.has_value else None

    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(value, Param):
            self._params[name] = value
        elif name in self._params:
            self._params[name] = self._params[name].having(value)
        else:
            self._params[name] = Param(value)

    def __delitem__(self, name: str) -> None:
        del self._params[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __repr__(self) -> str:
        return repr(self.dump())

    def dump(self) -> dict[str, Any]:
        """Return all values."""
        return dict(self)

    def validate(self) -> dict[str, Any]:
        """Return all values, or say of the first that does not fit why not."""
        for name, param in self._params.items():
            problem = param.problem()
            if problem:
                raise ParamsRefused(f"Param {name!r} is not right: {problem}.")
        return self.dump()

    def refuse_bad_defaults(self, owner: str, place: Place | None = None) -> None:
        """Refuse defaults that do not fit their own schema."""
        for name, param in self._params.items():
            problem = param.problem() if param.has_value else None
            if problem:
                raise mistake(f"{owner}: the default of param {name!r} does not fit its own schema: {problem}.", place)
