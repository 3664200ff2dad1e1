"""Values of users as JSON text and back, exactly: keyword arguments, events, XComs.

What JSON knows is written as JSON: `{"a":[1,null]}` stays as it is, so that it can be read in SQL. Everything
else is an object with the reserved key "$", which names the type, and "v", which holds the value:
`{"$":"tuple","v":[1,2]}`. Keys of users that begin with "$" get one more in front, so nothing a user writes can be
mistaken for a tag, and a dict with string keys is always a plain object to which a key can be appended.

The text is fit for every JSON type and function of PostgreSQL: strings with NUL or half a surrogate pair, which
those refuse, are written in escapes of plain ASCII. Equal sets of equal types give equal texts.

What cannot come back exactly is refused with its path: subclasses of built-in types, functions, open files,
cycles. Aliases are not kept: a list that is referred to twice becomes two equal lists.

Decoding looks at length and depth before anything else and never imports a module. `Codec()` knows no class of
a user and leaves such values as `Opaque`; a child that runs the user's code passes `resolve`, which turns a name
into a class, and of such a class only an Enum, a dataclass, a msgspec Struct or a type of pendulum is ever built.
"""

from bide.model.codec.codec import Codec
from bide.model.codec.limits import MAX_DEPTH, MAX_SIZE
from bide.model.codec.opaque import Opaque
from bide.model.codec.registry import Registry, register

__all__ = ["MAX_DEPTH", "MAX_SIZE", "Codec", "Opaque", "Registry", "register"]
