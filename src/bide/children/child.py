"""A child: a forked process that runs the legs it is sent, one after the other, and ends without a word to anybody.

Whatever the task's code does, one of two things reaches the worker: an outcome, or the end of this process. The code
may use descriptors, threads, processes, the working directory and the environment as it likes; a child in which
something of that is not as it was takes no further leg.
"""

import os
import resource
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NoReturn

from bide import kernel
from bide.children.channel import Channel
from bide.children.port import SocketPort
from bide.model.messages import EXIT_CUT_OFF, Ended, Fork, RunCallback, RunLeg, ToChild
from bide.model.outcome import Failed, Outcome

STDOUT, STDERR = 1, 2

Order = RunLeg | RunCallback
RunLegFunction = Callable[[Any, Any, SocketPort], Outcome]


def live(
    fork: Fork, sock: socket.socket, log: int, dags: Mapping[str, Any], run_leg: RunLegFunction, parent: int
) -> NoReturn:
    """Be a child from its fork to its end."""
    try:
        separate(log, parent, fork.memory_mb)
        port = SocketPort(Channel(sock, ToChild))
        untouched = surroundings() if fork.legs > 1 else None
        for left in range(fork.legs - 1, -1, -1):
            order = port.next_leg()
            if order is None or not serve(order, dags, run_leg, port, untouched if left else None):
                break
        os._exit(0)
    except BaseException:
        # The socket is gone, closed by the task's code or with the worker. The log is all that is left.
        with suppress(BaseException):
            traceback.print_exc()
        os._exit(EXIT_CUT_OFF)


def separate(log: int, parent: int, memory_mb: int) -> None:
    """Leave what was shared with the process that this one was forked from."""
    os.setsid()
    kernel.die_with_parent(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(EXIT_CUT_OFF)
    # What the task's code leaves behind comes to this process, and at its end to the warm one, which kills it.
    kernel.adopt_orphans()
    os.dup2(log, STDOUT)
    os.dup2(log, STDERR)
    os.close(log)
    if memory_mb:
        limit = memory_mb * 2**20
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def serve(
    order: Order,
    dags: Mapping[str, Any],
    run_leg: RunLegFunction,
    port: SocketPort,
    untouched: tuple[object, ...] | None,
) -> bool:
    """Run one leg and tell how it ended; true if there may be another one, for which all has to be `untouched`."""
    cpu_before = cpu_sec()
    outcome = outcome_of(order, dags, run_leg, port)
    if not port.is_mine():
        # The task's code has forked, and its copy of the process came all the way back here.
        os._exit(0)
    if isinstance(outcome, Failed):
        print_failure(outcome)
    flush()
    again = untouched is not None and untouched == surroundings()
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    say(port, outcome, Ended(outcome, again, used, cpu_sec() - cpu_before))
    return again


def outcome_of(order: Order, dags: Mapping[str, Any], run_leg: RunLegFunction, port: SocketPort) -> Outcome:
    """Run user code so that it gives an outcome, whatever it raises."""
    if order.run.dag_id not in dags:
        return Failed(f"The file of this version has no DAG {order.run.dag_id!r}.", retryable=False)
    try:
        return run_leg(order, dags[order.run.dag_id], port)
    except BaseException as error:
        return Failed(in_words(error), traceback.format_exc())


def in_words(error: BaseException) -> str:
    """Say in one line what was raised."""
    with suppress(BaseException):
        return "".join(traceback.format_exception_only(error)).strip()
    return type(error).__name__


def say(port: SocketPort, outcome: Outcome, ended: Ended) -> None:
    """Send the outcome, or that it could not be sent."""
    try:
        port.say_ended(ended)
    except (TypeError, ValueError) as error:
        failed = Failed(f"The outcome {type(outcome).__name__} could not be sent: {error}")
        print_failure(failed)
        port.say_ended(Ended(failed))


def print_failure(failed: Failed) -> None:
    """Leave in the log why the task failed."""
    with suppress(Exception):
        print((failed.traceback or failed.error).rstrip("\n"), file=sys.stderr, flush=True)


def flush() -> None:
    """Write what was printed, so that it is in the log before the leg ends."""
    for stream in {sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__}:
        with suppress(Exception):
            if stream is not None:
                stream.flush()


def surroundings() -> tuple[object, ...]:
    """Take down what a task's code can change about its process, as far as that can be seen."""
    return (
        _folder(),
        # Its variables as the system has them: decoding them all takes longer than many a task.
        dict(vars(os.environ)["_data"]),
        tuple(sys.path),
        threading.active_count(),
        _has_children(),
        signal.getsignal(signal.SIGTERM),
        signal.getsignal(signal.SIGALRM),
        sys.stdout,
        sys.stderr,
    )


def _folder() -> str | None:
    with suppress(OSError):
        return os.getcwd()
    return None


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def cpu_sec() -> float:
    """Seconds of processor time of this process and of those children of it that have ended."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
