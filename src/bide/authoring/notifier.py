"""Notifiers: callbacks that are objects, with templates in their arguments."""

from __future__ import annotations

import logging
from collections.abc import Collection
from copy import copy
from typing import TYPE_CHECKING, Any

from bide.exceptions import TaskError

if TYPE_CHECKING:
    from bide.authoring.context import Context


class BaseNotifier:
    """What an author derives callbacks from that tell somebody of something: `on_failure_callback=Chat(text="…")`."""

    template_fields: Collection[str] = ()

    @property
    def log(self) -> logging.Logger:
        """Where it writes into the log of the try that it tells of."""
        return logging.getLogger(f"bide.task.{type(self).__name__}")

    def notify(self, context: Context) -> object:
        """Tell it. The arguments that `template_fields` names have their values by now."""
        raise TaskError(f"{type(self).__name__} has no method notify(self, context).")

    def __call__(self, context: Context) -> None:
        """Be called back: on a copy, so that the next call finds the templates again."""
        mine = copy(self)
        for name in self.template_fields:
            value: Any = getattr(self, name)
            setattr(mine, name, context["dag"].templates.render(value, context))
        mine.notify(context)
