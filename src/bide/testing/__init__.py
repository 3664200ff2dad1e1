"""For authors of DAGs: run a DAG on the real engine, in this process, with a clock that never makes anybody wait.

    from bide.testing import run

    def test_hello():
        result = run(hello(), conf={"name": "Ada"})
        assert result.state == "success"
        assert result["greet"].value == "Hello, Ada!"

`run` schedules, retries, maps and skips as in production, on a PostgreSQL server that it brings along. Tasks run here,
in the thread of the caller, so that breakpoints and patches work. When nothing is left but to wait, for the next try or
the next look of a sensor, the clock moves there at once. `Engine` is the same with all its handles.
"""

from bide.testing.engine import Engine
from bide.testing.results import RunResult, TaskResult, run

__all__ = ["Engine", "RunResult", "TaskResult", "run"]
