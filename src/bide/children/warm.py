"""A warm process: it has imported one DAG file, and forks a child for each leg in an instant.

    python -m bide.children.warm DESCRIPTOR [MODULE]

Before it hears which file, it does everything once that is the same for all legs. Code that runs for the first time is
slow, and changes memory that is then copied for each child that runs it.

Nothing of the user runs here any more once the file is imported, so this process always answers. When its socket
closes, the worker is gone or wants it no longer: it kills what it has forked, with all that this has begun, and ends.
Descendants that have left their process group are found too: on Linux they become children of this process when their
parents end.
"""

import contextlib
import faulthandler
import gc
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TextIO

from bide import kernel
from bide.children import child
from bide.children.channel import Channel
from bide.children.port import FilePort
from bide.model.messages import Fork, Forked, Gone, Kill, Loaded, LoadFile, NotLoaded, Stop, ToWarm

SWEEP_EVERY_SEC = 1.0
"""Looking for descendants that have left their group may mean looking at all processes of the machine."""
LEAVE_WITHIN_SEC = 5.0


class Warm:
    """Forks children, ends them, and tells of their ends."""

    def __init__(self, channel: Channel, dags: Mapping[str, Any], run_leg: child.RunLegFunction) -> None:
        self._channel = channel
        self._dags = dags
        self._run_leg = run_leg
        self._pids: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        # What the import itself has begun is no orphan.
        self._pid = os.getpid()
        self._own = all_children_of(self._pid) if has_children() else set[int]()
        self._swept_at = 0.0
        self._some_ended = False
        self._woken, self._wakes = os.pipe()
        os.set_blocking(self._wakes, False)
        # Who ends a whole group or service with SIGTERM means the worker, which then says what becomes of the children.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        self._reset = [number for number in signal.valid_signals() if changed(number)]

    def serve(self) -> None:
        """Do what the worker says until it is gone."""
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll(SWEEP_EVERY_SEC * 1000 if self._some_ended else None)}
            if self._woken in ready:
                os.read(self._woken, 65_536)
            self.reap()
            if self._channel.fileno() in ready and not self.listen():
                return
            if self._some_ended and time.monotonic() - self._swept_at >= SWEEP_EVERY_SEC:
                self.sweep()

    def listen(self) -> bool:
        """Take in what the worker says; false when it says no more."""
        open_still = self._channel.pull()
        while (message := self._channel.taken_in()) is not None:
            match message:
                case Fork():
                    self.fork(message)
                case Stop(number=number) if number in self._pids:
                    kernel.send_signal(self._pids[number], signal.SIGTERM)
                case Kill(number=number) if number in self._pids:
                    kernel.kill_group(self._pids[number])
        return open_still

    def fork(self, order: Fork) -> None:
        """Fork one child."""
        sock, log = self._channel.descriptors.popleft(), self._channel.descriptors.popleft()
        try:
            pid = os.fork()
        except OSError as error:
            self._channel.send(Gone(order.number, 1, why=f"no process could be forked: {error.strerror}"))
        else:
            if pid == 0:
                self.become_child(order, sock, log)
            self._pids[order.number], self._numbers[pid] = pid, order.number
            self._channel.send(Forked(order.number, pid))
        os.close(sock)
        os.close(log)

    def become_child(self, order: Fork, sock: int, log: int) -> None:
        """Forget in the child what belongs to this process, and never come back."""
        signal.set_wakeup_fd(-1)
        for number in self._reset:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for descriptor in self._channel.descriptors:
            os.close(descriptor)
        os.close(self._woken)
        os.close(self._wakes)
        gc.enable()
        self.live(order, socket.socket(fileno=sock), log)

    def live(self, order: Fork, sock: socket.socket, log: int) -> NoReturn:
        """Be the child."""
        child.live(order, sock, log, self._dags, self._run_leg, self._pid)

    def reap(self) -> None:
        """Tell of those that have ended. Before a child's number is free for others, its group is killed."""
        while (pid := one_that_ended()) is not None:
            number = self._numbers.pop(pid, None)
            if number is not None:
                del self._pids[number]
                kernel.kill_group(pid)
            _, status, used = os.wait4(pid, 0)
            if number is not None:
                self._some_ended = True
                code, cpu = os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
                # A worker that is gone hears nothing; that is found where it is listened to.
                with contextlib.suppress(ConnectionError):
                    self._channel.send(Gone(number, code, used.ru_maxrss, cpu))

    def sweep(self) -> None:
        """Kill what ended children have left behind: whoever is a child of this process and was not forked by it."""
        self._swept_at, orphans = time.monotonic(), children_of(self._pid) - self._own - self._numbers.keys()
        for pid in orphans:
            kernel.send_signal(pid, signal.SIGKILL)
        # Their own children come next.
        self._some_ended = bool(orphans)

    def leave(self) -> None:
        """Kill everybody, and wait until they are gone."""
        self._own = set()
        deadline = time.monotonic() + LEAVE_WITHIN_SEC
        for pid in self._numbers:
            kernel.kill_group(pid)
        while has_children() and time.monotonic() < deadline:
            self.sweep()
            select.select([self._woken], [], [], 0.05)
            self.reap()


def one_that_ended() -> int | None:
    """Find a child that has ended and was not waited for."""
    with contextlib.suppress(ChildProcessError):
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return ended.si_pid if ended else None
    return None


def has_children() -> bool:
    """Say whether anybody is left to wait for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def children_of(parent: int) -> set[int]:
    """Find the children of a process that have not ended. One may be overlooked while another one ends, but not twice.

    Where the kernel has no list of them all processes are looked at; without /proc none are seen.
    """
    lists = list(Path(f"/proc/{parent}/task").glob("*/children"))
    if not lists:
        return all_children_of(parent)
    found = set[int]()
    for file in lists:
        with contextlib.suppress(OSError):
            found.update(map(int, file.read_text().split()))
    return {pid for pid in found if is_child(pid, parent)}


def all_children_of(parent: int) -> set[int]:
    """Find the children of a process by looking at all there are, which overlooks nobody and takes long."""
    pids = (int(folder.name) for folder in Path("/proc").glob("[0-9]*"))
    return {pid for pid in pids if is_child(pid, parent)}


def is_child(pid: int, parent: int) -> bool:
    """Say whether a process is a child of another one, and has not ended."""
    with contextlib.suppress(OSError):
        # The name of the program stands in brackets and may hold anything.
        after_name = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return after_name[0] != "Z" and int(after_name[1]) == parent
    return False


def changed(number: int) -> bool:
    """Say whether a signal has another effect here than in a fresh interpreter."""
    untouched = (signal.SIG_DFL, signal.default_int_handler, None)
    if number in (signal.SIGPIPE, getattr(signal, "SIGXFSZ", None)):
        return False
    return signal.getsignal(number) not in untouched


def load(channel: Channel, code: Any) -> Mapping[str, Any] | None:
    """Import the file that the worker names, and tell whether that went well."""
    order = channel.receive()
    if not isinstance(order, LoadFile):
        return None
    me = os.getpid()
    try:
        with code.answering(FilePort(channel)):
            dags: Mapping[str, Any] = code.load(order.path, order.root, order.source)
    except BaseException as error:
        if os.getpid() == me:
            channel.send(NotLoaded(child.in_words(error), traceback.format_exc()))
        return None
    if os.getpid() != me:
        return None
    channel.send(Loaded(tuple(dags)))
    return dags


def prepare_output() -> None:
    """Let everything that a child will write be UTF-8, come out line by line, and be there when it dies."""
    sys.stdout, sys.stderr = written_to(child.STDOUT), written_to(child.STDERR)


def written_to(descriptor: int) -> TextIO:
    """Open a text stream onto a descriptor that is not its own."""
    return open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def main(descriptor: int, module: str) -> None:
    """Be a warm process from its start to its end."""
    # While a file is imported nobody listens to the worker, so the kernel tells of its end.
    kernel.die_with_parent(signal.SIGKILL)
    kernel.drop_capabilities()
    faulthandler.enable()
    prepare_output()
    sock = socket.socket(fileno=descriptor)
    channel = Channel(sock, ToWarm)
    os.register_at_fork(after_in_child=channel.close)
    code = import_module(module)
    code.rehearse()
    # What is here already is not gone through again when somebody waits for the first leg of the file.
    gc.collect()
    gc.freeze()
    dags = load(channel, code)
    if dags is None:
        return
    prepare_output()
    kernel.adopt_orphans()
    gc.collect()
    gc.freeze()
    gc.disable()
    warm = Warm(channel, dags, code.run_leg)
    kernel.die_with_parent(0)
    try:
        warm.serve()
    finally:
        warm.leave()


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
    # Threads that the file has started hold nobody up.
    os._exit(0)
