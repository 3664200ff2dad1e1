"""An operator of one's own: arguments, templates, and what it does when it is stopped."""

from collections.abc import Sequence
from typing import Any

from bide import DAG, BaseOperator, Context


class GreetOperator(BaseOperator):
    """Greets somebody. The fields in `template_fields` may hold templates and results of other tasks."""

    template_fields: Sequence[str] = ("name",)
    ui_color = "#ffe4b5"

    def __init__(self, *, name: str, greeting: str = "Hello", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.name = name
        self.greeting = greeting

    def execute(self, context: Context) -> str:
        """Return the greeting, which is then an XCom."""
        text = f"{self.greeting}, {self.name}!"
        self.log.info(text)
        return text

    def on_kill(self) -> None:
        """Stop what has been started elsewhere; here there is nothing."""
        self.log.info("Interrupted while greeting %s.", self.name)


with DAG("own_operator", schedule=None, default_args={"greeting": "Good morning"}, tags=["example"]):
    first = GreetOperator(task_id="first", name="{{ dag.dag_id }}")
    GreetOperator(task_id="second", name=first.output, greeting="You said")
    GreetOperator.partial(task_id="each").expand(name=["Ada", "Bob"])
