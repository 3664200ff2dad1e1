"""Variables: named values that many DAGs share."""

from __future__ import annotations

import json
from typing import Any

from bide.authoring.port import ask, async_ask
from bide.exceptions import NotFound, TaskError
from bide.model.questions import DeleteVariable, GetVariable, PutVariable

_NEEDED: Any = object()


class Variable:
    """A named value. All values are texts; JSON in them is read and written if asked for."""

    @classmethod
    def get(cls, key: str, default: Any = _NEEDED, deserialize_json: bool = False) -> Any:
        """Return the value of a variable. Without a default it must be there."""
        return cls._from_answer(ask(GetVariable(key)), key, default, deserialize_json)

    @classmethod
    async def aget(cls, key: str, default: Any = _NEEDED, deserialize_json: bool = False) -> Any:
        """Return the value of a variable, to a trigger. Without a default it must be there."""
        return cls._from_answer(await async_ask(GetVariable(key)), key, default, deserialize_json)

    @classmethod
    def _from_answer(cls, found: str | None, key: str, default: Any, deserialize_json: bool) -> Any:
        if found is None:
            if default is _NEEDED:
                raise NotFound(f"There is no variable {key!r}. Set it, or give a default.")
            return default
        if not deserialize_json:
            return found
        try:
            return json.loads(found)
        except ValueError as error:
            raise TaskError(f"Variable {key!r} holds no JSON: {error}.") from None

    @classmethod
    def set(cls, key: str, value: Any, description: str | None = None, serialize_json: bool = False) -> None:
        """Give a variable a value."""
        text = json.dumps(value, indent=2) if serialize_json else str(value)
        ask(PutVariable(key, text, description or ""))

    @classmethod
    def delete(cls, key: str) -> bool:
        """Remove a variable. Tells whether it was there."""
        return bool(ask(DeleteVariable(key)))
