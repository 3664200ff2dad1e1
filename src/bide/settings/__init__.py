"""Everything that can be set, from one place: defaults < bide.toml < environment < command line.

`declared` is the list (add a setting there and nowhere else), `value` reads one value, `load` lays the sources over one
another, `document` writes the page for people.
"""

from bide.settings.declared import Settings
from bide.settings.document import document
from bide.settings.load import Explained, explain, load

__all__ = ["Explained", "Settings", "document", "explain", "load"]
