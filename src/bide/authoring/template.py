"""Templates: what stands in double braces becomes a value of the run. Only what stands in the file is a template.

All of it runs in Jinja's sandbox, because a text may have been put together from what somebody has said about a run.
"""

from __future__ import annotations

import re
from collections import ChainMap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound, UndefinedError
from jinja2.nativetypes import NativeEnvironment
from jinja2.sandbox import SandboxedEnvironment

from bide.authoring.place import near
from bide.authoring.reference import Reference
from bide.exceptions import TaskError

if TYPE_CHECKING:
    from bide.authoring.context import Context
    from bide.authoring.dag import DAG
    from bide.authoring.operator import BaseOperator

_UNDEFINED = re.compile(r"'(\w+)' is undefined")
_NEEDS_DATE = frozenset({"ds", "ds_nodash", "logical_date", "ts", "ts_nodash", "ts_nodash_with_tz"})


class NativeSandbox(SandboxedEnvironment, NativeEnvironment):
    """Gives Python values instead of texts, in the same sandbox."""


class Templates:
    """The templates of one DAG: where their files are, and which names its author has added."""

    def __init__(self, dag: DAG) -> None:
        self._native = dag.render_template_as_native_obj
        self._folders = [str(Path(dag.fileloc).parent / folder) for folder in ("", *dag.template_searchpath)]
        self._options: dict[str, Any] = {
            "undefined": dag.template_undefined or StrictUndefined,
            "extensions": ["jinja2.ext.do"],
            "cache_size": 0,
            **dag.jinja_environment_kwargs,
        }
        self._macros = dag.user_defined_macros
        self._filters = dag.user_defined_filters
        self._environments: dict[bool, SandboxedEnvironment] = {}

    def environment(self, native: bool | None = None) -> SandboxedEnvironment:
        """Return the Jinja environment, made when it is first needed."""
        wanted = self._native if native is None else native
        if wanted not in self._environments:
            kind = NativeSandbox if wanted else SandboxedEnvironment
            made = kind(loader=FileSystemLoader(self._folders), **self._options)
            made.filters.update(self._filters)
            made.globals.update(self._macros)
            self._environments[wanted] = made
        return self._environments[wanted]

    def render_fields(self, task: BaseOperator, context: Context) -> None:
        """Put the values of a run into the templated arguments of a task."""
        for name in task.template_fields:
            if not hasattr(task, name):
                raise TaskError(f"{type(task).__name__} says that {name} is templated, but has no such attribute.")
            setattr(task, name, self._read_files(name, getattr(task, name), task))
        task.prepare_template()
        for name in task.template_fields:
            try:
                setattr(task, name, self.render(getattr(task, name), context, task))
            except TemplateNotFound as error:
                raise TaskError(self._not_found(name, error)) from None
            except TemplateError as error:
                raise TaskError(f"{name}: {error.message}{_hint(error, context)}") from None

    def _read_files(self, name: str, value: Any, task: BaseOperator) -> Any:
        endings = tuple(task.template_ext)
        if isinstance(value, str) and endings and value.endswith(endings):
            try:
                return _source(self.environment(), value)
            except TemplateNotFound as error:
                raise TaskError(self._not_found(name, error)) from None
        if isinstance(value, list) and not _is_data(value, task):
            return [self._read_files(name, item, task) for item in value]
        return value

    def _not_found(self, field: str, error: TemplateNotFound) -> str:
        return (
            f"{field}: there is no file {error.name!r} in {' or '.join(self._folders)}. "
            "If it is no file, but only ends like one, put a blank behind it."
        )

    def render(self, value: Any, context: Context, task: BaseOperator | None = None) -> Any:
        """Render a template, and whatever templates and references are in a list, tuple, set or dict."""
        if isinstance(value, str):
            return value if _is_data(value, task) else self._rendered(value, context, task)
        if isinstance(value, Reference):
            return value.resolve(context)
        if _is_data(value, task):
            return value
        if isinstance(value, dict):
            return {key: self.render(item, context, task) for key, item in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self.render(item, context, task) for item in value))
        if type(value) in (list, tuple, set):
            return type(value)(self.render(item, context, task) for item in value)
        return value

    def _rendered(self, text: str, context: Context, task: BaseOperator | None) -> Any:
        native = self._native if task is None else task.render_template_as_native_obj
        environment = self.environment(native)
        template = environment.from_string(text)
        # The context is shared, not copied: some of its values are only fetched when they are asked for.
        names: Any = ChainMap(context, environment.globals)  # type: ignore[arg-type]
        return environment.concat(template.root_render_func(template.new_context(names, shared=True)))


def _source(environment: SandboxedEnvironment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _is_data(value: object, task: BaseOperator | None) -> bool:
    return task is not None and any(value is given for given in task.data)


def _hint(error: TemplateError, context: Context) -> str:
    found = _UNDEFINED.search(error.message or "") if isinstance(error, UndefinedError) else None
    if found is None:
        return ""
    if found[1] in _NEEDS_DATE:
        return ": this run has no logical date."
    return near(found[1], context)
