"""What an author derives operators from."""

from __future__ import annotations

import copy
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

from bide.authoring import deferring
from bide.authoring.arguments import OperatorArguments
from bide.authoring.mapping import Partial
from bide.authoring.node import Node
from bide.authoring.place import here, near
from bide.authoring.reference import needed_by
from bide.authoring.trigger import BaseTrigger, StartTriggerArgs
from bide.exceptions import TaskFailed

if TYPE_CHECKING:
    from bide.authoring.context import Context


class BaseOperator(Node):
    """One step of work. A class of your own says in `execute` what is to be done.

    The arguments that are named in `template_fields` may hold templates, and what other tasks return.
    """

    template_fields: Collection[str] = ()
    # Endings of file names: an argument that ends so names a file that holds the template.
    template_ext: Collection[str] = ()
    template_fields_renderers: Mapping[str, str] = {}
    # It says by `ti.skip_tasks` which tasks after it are to be skipped.
    branches: bool = False
    # There is nothing to execute, so no worker is needed.
    is_empty: bool = False
    # Values that came from elsewhere: they are no templates, whatever they look like.
    data: Sequence[Any] = ()
    ui_color: str = "#fff"
    ui_fgcolor: str = "#000"
    # With `start_from_trigger` it begins in the trigger of which `start_trigger_args` tells, and not in `execute`.
    start_from_trigger: bool = False
    start_trigger_args: StartTriggerArgs | None = None

    def __init__(
        self,
        *,
        start_from_trigger: bool | None = None,
        trigger_kwargs: dict[str, Any] | None = None,
        **kwargs: Unpack[OperatorArguments],
    ) -> None:
        """`trigger_kwargs` are the arguments of the trigger that it begins in, instead of those of its class."""
        super().__init__(**kwargs)
        if start_from_trigger is not None:
            self.start_from_trigger = start_from_trigger
        if self.start_trigger_args is not None:
            # A copy: what one task changes in it is not meant for the others of its class.
            self.start_trigger_args = copy.copy(self.start_trigger_args)
            if trigger_kwargs is not None:
                self.start_trigger_args.trigger_kwargs = trigger_kwargs

    def execute(self, context: Context) -> Any:
        """Do the work. What is returned can be used by other tasks."""
        raise TaskFailed(f"{type(self).__name__} has no method execute(self, context), so there is nothing to do.")

    def pre_execute(self, context: Context) -> None:
        """Prepare for `execute`. By default this calls the function that was given as `pre_execute`."""
        if self.pre_execute_hook is not None:
            self.pre_execute_hook(context)

    def post_execute(self, context: Context, result: Any = None) -> None:
        """Look at what `execute` has returned. By default this calls the function given as `post_execute`."""
        if self.post_execute_hook is not None:
            self.post_execute_hook(context, result)

    def on_kill(self) -> None:
        """Stop what the task has started elsewhere. Called when its time is up or somebody stops it."""

    def defer(
        self,
        *,
        trigger: BaseTrigger,
        method_name: str | None = None,
        kwargs: Mapping[str, Any] | None = None,
        timeout: timedelta | float | None = None,
    ) -> NoReturn:
        """Leave the worker until the trigger yields an event; then a new instance goes on in this method.

        The method is called with the context, with `kwargs`, and with what the event carries as `event`. Without a
        name that is `execute` again.
        """
        self._warn_of_no_way_back(deferring.name_of(method_name))
        deferring.defer(trigger, method_name, kwargs, timeout)

    def _warn_of_no_way_back(self, name: str) -> None:
        """Say it now and not only after the wait. It is no mistake where the trigger itself ends the task."""
        kind = type(self)
        if not callable(getattr(self, name, None)):
            own = [known for known in dir(kind) if known not in dir(BaseOperator) and callable(getattr(kind, known))]
            said = "%s has no method %r, so after this wait it cannot go on; only its trigger can end it%s"
            self.log.warning(said, kind.__name__, name, near(name, own))

    def resume_execution(self, next_method: str, next_kwargs: Mapping[str, Any], context: Context) -> Any:
        """Go on after a wait: in the method that the task has named when it deferred."""
        method = getattr(self, next_method, None)
        if method is None:
            raise TaskFailed(f"{type(self).__name__} has no method {next_method!r} to go on in.")
        return method(context, **next_kwargs)

    def prepare_template(self) -> None:
        """Change arguments after the files of templates have been read, and before anything is rendered."""

    @property
    def log(self) -> logging.Logger:
        """Where the task writes its log."""
        return logging.getLogger(f"bide.task.{type(self).__name__}")

    def argument(self, name: str, default: Any = None) -> Any:
        """Return what was decided about the task beforehand under a name that not all operators know."""
        return getattr(self, name, default)

    @classmethod
    def partial(cls, **kwargs: Any) -> Partial[Self]:
        """Give the arguments that are the same for all elements; `.expand()` takes those that differ."""
        return Partial(cls, kwargs)

    def needed(self) -> Iterator[Node]:
        """List the tasks whose results stand in its templated arguments."""
        for name in self.template_fields:
            yield from needed_by(getattr(self, name, None))
        if self.start_from_trigger and self.start_trigger_args is not None:
            yield from needed_by([self.start_trigger_args.trigger_kwargs, self.start_trigger_args.next_kwargs])

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name in self.template_fields and self.__dict__.get("_settled"):
            for task in needed_by(value):
                task.comes_before(self, here())

    def stand_for(self, mapped: Node, data: Sequence[Any]) -> None:
        """Take the place of a mapped task, as one of its instances."""
        self._dag = mapped.dag
        self.task_group, self.upstream, self.downstream = mapped.task_group, mapped.upstream, mapped.downstream
        self.data = data

    def for_one_leg(self) -> Self:
        """Copy it, so that what one leg makes of its arguments is not seen by another."""
        twin = copy.copy(self)
        twin.__dict__["_settled"] = False
        return twin

    # What templates are made into. ----------------------------------------------------------------------------

    def render_template_fields(self, context: Context) -> None:
        """Put the values of this run into the templated arguments."""
        self.dag.templates.render_fields(self, context)

    def render_template(self, content: Any, context: Context) -> Any:
        """Put the values of this run into a template, or into all templates in a list or dict."""
        return self.dag.templates.render(content, context, self)
