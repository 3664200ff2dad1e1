"""For authors of DAGs: run a DAG on the real engine, in this process, with a clock that never makes anybody wait.

    from bide.testing import run

    def test_hello():
        result = run(hello(), conf={"name": "Ada"})
        assert result.state == "success"
        assert result["greet"].value == "Hello, Ada!"

`run` schedules, retries, maps and skips as in production, on a PostgreSQL server that it brings along. Tasks run here,
in the thread of the caller, so that breakpoints and patches work. When nothing is left but to wait, for the next try or
the next look of a sensor, the clock moves there at once. `Engine` is the same with all its handles.

Triggers of deferred tasks run here too, on an event loop whose clock jumps wherever they only sleep; code that looks at
a clock takes `bide.utcnow()`. To say what a trigger yields instead of running it:

    result = run(hello(), events={"wait_for_job": {"status": "done"}})

`engine.go(by_hand=["wait_for_job"])` and `engine.fire(run, "wait_for_job", payload)` are the same step by step.
`try_dag` and `try_task` let somebody look on: `dag.test()`, `bide dags test` and `bide tasks test` are made of them.
"""

from bide.authoring.results import RunResult, TaskResult
from bide.testing.engine import Engine
from bide.testing.files import load
from bide.testing.results import run
from bide.testing.trial import Given, shown_plainly, try_dag, try_task

__all__ = ["Engine", "Given", "RunResult", "TaskResult", "load", "run", "shown_plainly", "try_dag", "try_task"]
