"""Tasks that are on their way to a worker, or with one."""

from bide.control.why.facts import NAMED, Cause, Facts
from bide.control.why.words import NO_SCHEDULER, of, since, soon
from bide.model.wording import count, duration, listed, moment
from bide.store.why import Alive


def _serving(facts: Facts) -> list[Alive]:
    return [worker for worker in facts.helpers if facts.task.queue in worker.queues]


def _full(facts: Facts) -> str:
    loads = [f"{one.id} on {one.hostname} ({one.load:,} of {one.capacity:,})" for one in _serving(facts)]
    return (
        f"It is queued{since(facts)} in {facts.task.queue!r}, and every worker that serves this queue is full: "
        f"{listed(loads, NAMED)}; one takes it when a task of theirs ends, or start another worker."
    )


def _try(facts: Facts) -> str:
    task = facts.task
    return f"try {task.try_number} of {max(task.max_tries + 1, task.try_number)}"


def _running(facts: Facts) -> str:
    task = facts.task
    began = f" since {moment(facts.led_here.at)}, for {duration(facts.since())}" if facts.led_here else ""
    limit = f"; its execution_timeout is at {moment(task.try_deadline)}" if task.try_deadline else ""
    return (
        f"It runs on the worker {task.worker_id} on {task.worker_host}{began}, {_try(facts)}{limit}. `bide tasks logs "
        f"{of(facts)} -f` shows what it does."
    )


def _lost(facts: Facts) -> str:
    task = facts.task
    where = f"Its worker {task.worker_id} on {task.worker_host} has been silent for {duration(task.worker_silence)}"
    return f"{where}: the worker is given up, and the task tries again or fails, {soon(facts)}."


QUEUED = (
    Cause(
        "queue unserved",
        lambda facts: not _serving(facts),
        lambda facts: (
            f"It is queued{since(facts)} in {facts.task.queue!r}, which no living worker serves: start one with "
            f"`bide --set worker.queues={facts.task.queue} worker`, or correct the queue in the DAG."
        ),
    ),
    Cause("workers full", lambda facts: all(one.is_full for one in _serving(facts)), _full),
    Cause(
        "queued",
        lambda facts: True,
        lambda facts: (
            f"It is queued{since(facts)} in {facts.task.queue!r}, which {count(len(_serving(facts)), 'living worker')} "
            f"{'serves' if len(_serving(facts)) == 1 else 'serve'}: it is taken as soon as one looks."
        ),
    ),
)
WORKER_SILENT = Cause("worker silent", lambda facts: not facts.task.worker_is_alive, _lost)
RUNNING = (
    WORKER_SILENT,
    Cause("running", lambda facts: True, _running),
)
SHUTDOWN = (
    WORKER_SILENT,
    Cause(
        "worker leaves",
        lambda facts: True,
        lambda facts: (
            f"Its worker {facts.task.worker_id} on {facts.task.worker_host} leaves and stops it; then it runs "
            f"elsewhere, and that costs no try{'' if facts.is_watched else f', but {NO_SCHEDULER}'}."
        ),
    ),
)
