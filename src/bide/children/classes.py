"""From the path of a trigger's class to the class: imported in a thread, once, since that may take seconds."""

import asyncio
import importlib
import sys
import threading
from contextlib import suppress

from bide.authoring.imports import DAG_FILES
from bide.children.driving import CodeUnavailable, find_trigger
from bide.children.steps import Page
from bide.model.trigger_messages import Word


class Classes:
    """The classes that are known, and those that are on their way."""

    def __init__(self) -> None:
        self._known: dict[str, type] = {}
        self._outdated: set[str] = set()
        self._coming: dict[str, asyncio.Future[type]] = {}
        # For whom each is imported. Code that ends its process, or holds it, while it is imported is known by this.
        self._for: dict[str, int] = {}

    def get(self, classpath: str) -> type | None:
        """Return a class that was found before."""
        return self._known.get(classpath)

    def outdate(self, classpath: str) -> None:
        """It was not what it should be: when it is asked for again, its module is read anew."""
        self._known.pop(classpath, None)
        self._outdated.add(classpath)

    async def find(self, classpath: str, number: int) -> type:
        """Import a class for a trigger; raises CodeUnavailable, or what its module has raised."""
        coming = self._coming.get(classpath)
        if coming is None:
            coming = self._coming[classpath] = asyncio.get_running_loop().create_future()
            coming.add_done_callback(lambda _: self._no_longer(classpath))
            self._for[classpath] = number
            self._say_for_whom()
            threading.Thread(target=self._import, args=(classpath, coming), daemon=True).start()
        return await asyncio.shield(coming)

    def _no_longer(self, classpath: str) -> None:
        self._coming.pop(classpath, None)
        self._for.pop(classpath, None)
        self._say_for_whom()

    def _say_for_whom(self) -> None:
        Page.words[Word.IMPORT] = next(iter(self._for.values()), 0)

    def _import(self, classpath: str, coming: "asyncio.Future[type]") -> None:
        found: type | None = None
        error: BaseException | None = None
        try:
            found = load_class(classpath, anew=classpath in self._outdated)
        except (SystemExit, KeyboardInterrupt, StopIteration) as raised:
            error = RuntimeError(f"Its module ends the process while it is imported ({raised!r}).")
            error.__cause__ = raised
        except BaseException as raised:
            error = raised
        # The loop may be closed by now.
        with suppress(RuntimeError):
            coming.get_loop().call_soon_threadsafe(self._arrive, classpath, coming, found, error)

    def _arrive(
        self, classpath: str, coming: "asyncio.Future[type]", found: type | None, error: BaseException | None
    ) -> None:
        if found is not None:
            self._known[classpath] = found
            self._outdated.discard(classpath)
            coming.set_result(found)
        elif error is not None:
            coming.set_exception(error)
            # Nobody may wait for it any more.
            coming.exception()


def load_class(classpath: str, *, anew: bool = False) -> type:
    """Find a class, also one that was added to its module after that was imported."""
    importlib.invalidate_caches()
    if not anew:
        with suppress(CodeUnavailable):
            return find_trigger(classpath)
    module = _module_of(classpath)
    if module is None:
        return find_trigger(classpath)
    # It may have been replaced since. Who has the old one keeps it.
    old = sys.modules.pop(module)
    try:
        return find_trigger(classpath)
    except BaseException:
        sys.modules[module] = old
        raise


def _module_of(classpath: str) -> str | None:
    """Find the imported module that a class should be in, if it may be imported again."""
    if classpath.startswith(f"{DAG_FILES}."):
        return None
    name = classpath
    while "." in name:
        name = name.rpartition(".")[0]
        if name in sys.modules:
            return name
    return None
