"""Why a value cannot be stored, and what its author can do instead. Values are never shown: they may be secrets."""

from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)

from bide.model.codec.builtin import BUILTIN
from bide.model.codec.classes import has_fields, is_found_by_name

_KEPT = (bool, *BUILTIN, list)
_CALLABLE = (FunctionType, BuiltinFunctionType, MethodType)
_RUNNING = (GeneratorType, CoroutineType, AsyncGeneratorType)
# Whatever library they are of, this is how they are called.
_OPEN = ("Connection", "Cursor", "Client", "Session", "Socket")


def why_not(value: object) -> str:
    """Word the refusal of a value, to be put behind its path."""
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, _CALLABLE):
        what = "a lambda" if getattr(value, "__name__", "") == "<lambda>" else "a function"
        return f"is {what}, and code is not stored. Pass its name, or call it where the value is used."
    if isinstance(value, type):
        return "is a class, and code is not stored. Pass its name."
    if isinstance(value, ModuleType):
        return "is a module, and code is not stored. Pass its name."
    if isinstance(value, _RUNNING):
        return f"is a {name} that can run only here and once. Pass what it yields, as a list."
    if hasattr(kind, "fileno") or kind.__name__.endswith(_OPEN):
        return (
            f"is a {name}, which is open in this process only. Pass its path or address, and open it where it is used."
        )
    if has_fields(kind) and not is_found_by_name(kind):
        return f"is a {name}, whose class cannot be found again by its name. Define it at the top of a module."
    for known in _KEPT:
        if isinstance(value, known):
            return (
                f"is a {name}, and would come back as a plain {known.__name__}. "
                f"Pass a plain {known.__name__}, or register {kind.__qualname__} with the codec."
            )
    return f"is a {name}, of which the codec knows nothing. Pass plain values, make it a dataclass, or register it."
