"""What a process that has none of the user's code makes of a value of the user's class."""

from dataclasses import dataclass, field


# Two of them are never equal: what equality means, only their class knows.
@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """A stored value whose class is not known here: its name, and its data as the text that was stored."""

    name: str
    text: str = field(repr=False)  # it may hold a secret
