"""D13 and S6: sensors and operators that wait in both ways, and what their limits mean while nobody works on them."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from bide import DAG, BaseSensorOperator, PokeReturnValue, task
from bide.authoring.plan import to_plan
from bide.authoring.results import RunResult
from bide.exceptions import TaskFailed, TaskSkipped
from bide.operators.python import PythonOperator
from bide.operators.trigger_dagrun import TriggerDagRunOperator
from bide.sensors.bash import BashSensor
from bide.sensors.date_time import DateTimeSensor
from bide.sensors.external_task import ExternalTaskSensor
from bide.sensors.filesystem import FileSensor
from bide.sensors.http import HttpSensor
from bide.sensors.python import PythonSensor
from bide.sensors.time import TimeSensor
from bide.sensors.time_delta import TimeDeltaSensor
from bide.sensors.weekday import DayOfWeekSensor
from bide.testing import Engine
from bide.testing.results import result_of
from tests.deferral.triggers import After
from tests.testing.conftest import NOON

HOUR = timedelta(hours=1)
SOFTLY = {"soft_fail": True, "timeout": HOUR}


class Looks(BaseSensorOperator):
    """Looks as often as it is told, in whichever process, and then says or raises something."""

    seen: ClassVar[list[str]] = []

    def __init__(self, *, times: int, then: str = "found", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.times, self.then = times, then

    def poke(self, context: Any) -> bool | PokeReturnValue:
        self.seen.append(threading.current_thread().name)
        if len(self.seen) < self.times:
            return False
        if self.then == "found":
            return PokeReturnValue(True, [self.then, context["run_id"], context["ti"].task_id])
        raise {"skip": TaskSkipped("no need"), "final": TaskFailed("never"), "error": ValueError("broken")}[self.then]


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    Looks.seen.clear()


def went(engine: Engine, made: DAG, logical_date: datetime | None = NOON) -> tuple[int, RunResult]:
    number = engine.launch(made, logical_date=logical_date)
    engine.go()
    return number, result_of(engine, number)


def legs(engine: Engine, number: int, task_id: str) -> int:
    """How often the task was on a worker."""
    return [entry.verb for entry in engine.history(number, task_id)].count("start")


def alone(sensor: Any, **given: Any) -> DAG:
    with DAG("one", schedule=None, start_date=datetime(2029, 1, 1, tzinfo=UTC)) as made:
        sensor(task_id="t", deferrable=True, **given)
    return made


def test_any_sensor_looks_without_a_worker(engine: Engine) -> None:
    number, result = went(engine, alone(Looks, times=4, poke_interval=HOUR))
    assert result["t"].value == ["found", result.run_id, "t"]
    assert engine.now == NOON + 2 * HOUR
    assert legs(engine, number, "t") == 1
    assert len(Looks.seen) == 4
    assert Looks.seen[0] == threading.current_thread().name
    assert threading.current_thread().name not in Looks.seen[1:]


def test_what_is_there_at_once_needs_no_trigger(engine: Engine) -> None:
    number, _ = went(engine, alone(Looks, times=1))
    assert "defer" not in [entry.verb for entry in engine.history(number, "t")]


def test_pauses_grow_where_they_shall(engine: Engine) -> None:
    went(engine, alone(Looks, times=5, poke_interval=60, exponential_backoff=True, max_wait=200))
    assert engine.now == NOON + timedelta(seconds=60 + 120 + 200)


@pytest.mark.parametrize(
    ("then", "given", "state", "tries"),
    [
        ("skip", {}, "skipped", 1),
        ("final", {"retries": 2}, "failed", 1),
        ("final", {"soft_fail": True}, "skipped", 1),
        ("error", {"retries": 1, "retry_delay": 1}, "failed", 2),
        ("error", {"soft_fail": True}, "failed", 1),
        ("error", {"never_fail": True}, "skipped", 1),
        ("error", {"silent_fail": True, "timeout": HOUR}, "failed", 1),
    ],
)
def test_failures_are_what_the_author_wants_them_to_be(
    engine: Engine, then: str, given: dict[str, Any], state: str, tries: int
) -> None:
    _, result = went(engine, alone(Looks, times=2, then=then, **given))
    assert (result["t"].state, result["t"].tries) == (state, tries)


@pytest.mark.parametrize(
    ("soft", "state"), [({}, "failed"), ({"soft_fail": True}, "skipped"), ({"never_fail": True}, "skipped")]
)
def test_the_timeout_of_a_sensor_limits_all_of_its_looks(engine: Engine, soft: dict[str, Any], state: str) -> None:
    number, result = went(engine, alone(Looks, times=99, poke_interval=600, timeout=HOUR, retries=3, **soft))
    assert (result["t"].state, result["t"].tries) == (state, 1)
    assert engine.now == NOON + HOUR
    assert legs(engine, number, "t") == 1


class Twice(Looks):
    """Waits twice, in two legs."""

    def execute_complete(self, context: Any, event: Any = None) -> Any:
        self.defer(trigger=self.trigger(context))

    def trigger(self, context: Any) -> Any:
        return After(40 * 60)


def test_a_timeout_holds_across_legs(engine: Engine) -> None:
    number, result = went(engine, alone(Twice, times=99, timeout=HOUR))
    assert (result["t"].state, engine.now) == ("failed", NOON + HOUR)
    assert legs(engine, number, "t") == 2


def is_there(limit: int, ti: Any) -> PokeReturnValue:
    Looks.seen.append(ti.task_id)
    return PokeReturnValue(len(Looks.seen) >= limit, "by a function")


@task.sensor(deferrable=True, poke_interval=60)
def is_ready(limit: int) -> bool:
    Looks.seen.append("decorated")
    return len(Looks.seen) >= limit


def test_functions_are_asked_without_a_worker(engine: Engine) -> None:
    made = alone(PythonSensor, python_callable=is_there, op_args=[3])
    with made:
        is_ready(8)
    _, result = went(engine, made)
    assert result["t"].value == "by a function"
    assert result["is_ready"].state == "success"


def test_a_function_that_nobody_can_find_is_refused(engine: Engine) -> None:
    _, result = went(engine, alone(PythonSensor, python_callable=lambda: False))
    assert result["t"].state == "failed"
    assert "cannot be found again by its name" in result["t"].log


@pytest.mark.parametrize(
    ("sensor", "given", "until"),
    [
        (DateTimeSensor, {"target_time": "{{ logical_date.add(hours=5) }}"}, NOON + 5 * HOUR),
        (DateTimeSensor, {"target_time": NOON - HOUR}, NOON),
        (TimeSensor, {"target_time": time(18)}, NOON + 6 * HOUR),
        (TimeDeltaSensor, {"delta": timedelta(days=2)}, NOON + timedelta(days=2)),
        (DayOfWeekSensor, {"week_day": "thursday"}, datetime(2030, 1, 3, tzinfo=UTC)),
        (DayOfWeekSensor, {"week_day": "tuesday"}, NOON),
        (DayOfWeekSensor, {"week_day": "friday", "use_task_logical_date": True, **SOFTLY}, NOON + HOUR),
    ],
)  # fmt: skip
def test_dates_are_rows_that_need_nobody(engine: Engine, sensor: Any, given: dict[str, Any], until: datetime) -> None:
    number, result = went(engine, alone(sensor, **given))
    assert result["t"].state == ("skipped" if "soft_fail" in given else "success")
    assert engine.now == until
    verbs = [entry.verb for entry in engine.history(number, "t")]
    assert verbs[:4] == ["ready", "enqueue", "start", "defer"]
    assert legs(engine, number, "t") == 1


def test_a_file_is_waited_for(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "part_1.csv"
    with DAG("files", schedule=None) as made:
        FileSensor(task_id="t", filepath=str(tmp_path / "*.csv"), deferrable=True)
        PythonOperator(task_id="slow", python_callable=fails_once, op_args=[str(path)], retries=1, retry_delay=300)
    _, result = went(engine, made)
    assert (result.state, result["t"].value) == ("success", None)
    assert NOON + timedelta(minutes=5) <= engine.now < NOON + timedelta(minutes=7)


def fails_once(path: str, ti: Any) -> None:
    if ti.try_number == 1:
        raise ValueError("not yet")
    Path(path).touch()


def test_a_command_is_asked(engine: Engine, tmp_path: Path) -> None:
    count = f"echo x >> {tmp_path}/n; test $(wc -l < {tmp_path}/n) -ge $MOST"
    _, result = went(engine, alone(BashSensor, bash_command=count, env={"MOST": "3", "PATH": "/usr/bin:/bin"}))
    assert (result["t"].state, result["t"].value) == ("success", None)
    assert (tmp_path / "n").read_text().count("x") == 3


class Answers(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.headers["authorization"] or "")
        self.send_response(200 if len(self.asked) >= 3 else 404)
        self.end_headers()
        self.wfile.write(b"ready")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    Answers.asked.clear()
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def says_ready(response: Any) -> bool:
    return bool(response.text == "ready")


@pytest.mark.parametrize("check", [None, says_ready])
def test_a_web_service_is_asked(engine: Engine, port: int, check: Any) -> None:
    engine.set_connection("api", "http", f"http://ada:secret@127.0.0.1:{port}")
    _, result = went(engine, alone(HttpSensor, endpoint="x", http_conn_id="api", response_check=check))
    assert (result["t"].state, result["t"].value) == ("success", None)
    assert len(Answers.asked) == 3
    assert all(given.startswith("Basic ") for given in Answers.asked)


def other_dag() -> DAG:
    with DAG("other", schedule=None) as made:
        PythonOperator(task_id="work", python_callable=fails_before, op_args=[2], retries=2, retry_delay=HOUR)
    return made


def fails_before(tries: int, ti: Any) -> None:
    if ti.try_number < tries:
        raise ValueError("not yet")


def test_other_dags_are_waited_for_by_one_question(engine: Engine) -> None:
    engine.launch(other_dag(), logical_date=NOON)
    with DAG("waiting", schedule=None) as made:
        for number in range(3):
            ExternalTaskSensor(task_id=f"t{number}", external_dag_id="other", deferrable=True)
        ExternalTaskSensor(task_id="task", external_dag_id="other", external_task_id="work", deferrable=True)
        TriggerDagRunOperator(
            task_id="run", trigger_dag_id="other", trigger_run_id="again", wait_for_completion=True, deferrable=True
        )
    number, result = went(engine, made)
    assert result.state == "success"
    assert [legs(engine, number, task_id) for task_id in ("t0", "task", "run")] == [1, 1, 2]
    assert engine.now < NOON + 3 * HOUR


def test_whether_batteries_defer_without_being_told_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    def deferring() -> dict[str, bool]:
        with DAG("d", schedule=None) as made:
            DateTimeSensor(task_id="battery", target_time=NOON)
            DateTimeSensor(task_id="told", target_time=NOON, deferrable=False)
            Looks(task_id="own", times=1)
            TriggerDagRunOperator(task_id="launch", trigger_dag_id="x")
        return {it.task_id: it.deferrable for it in to_plan(made).tasks}

    nobody = {"battery": False, "told": False, "own": False, "launch": False}
    assert deferring() == nobody
    monkeypatch.setenv("BIDE_OPERATORS__DEFAULT_DEFERRABLE", "true")
    assert deferring() == {**nobody, "battery": True}
