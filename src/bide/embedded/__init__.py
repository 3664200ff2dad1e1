"""The PostgreSQL server that Bide brings along: `with running(folder) as server:` and nothing to install.

In the folder stand `data` (PostgreSQL's own), `server.log`, `password` and `port` (the last one used, tried first), and
`lock`. Every process of a server inherits the lock from the one that started it, so the lock is free exactly when no
process of a server of this folder is alive. That one fact answers what pid files cannot: whether a `postmaster.pid` is
stale, whether backends have outlived a killed postmaster, and who of two starters goes first.

The server listens on the loopback interface only and asks for the password. It has a session of its own, so Ctrl-C
reaches its owner alone; it is shut down by its owner, and on Linux by the kernel when the owner is killed. The kernel
looks at the *thread* that started it, so start it from the main thread. On macOS the server of a killed owner stays,
and the next command finds it.
"""

import fcntl
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from bide.embedded.folder import Folder
from bide.errors import EmbeddedServerError

# Crash recovery after a power cut may have gigabytes to read.
START_PATIENCE = 120.0
# Backends of a killed postmaster end by themselves, except in the middle of a long statement.
ORPHAN_PATIENCE = 5.0
STOP_PATIENCE = 60.0
LOOK_EVERY = 0.02
TRIES_FOR_A_PORT = 5

LOOPBACK = "127.0.0.1"
# Given on the command line, so that they stand here and nowhere else.
SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "listen_addresses": LOOPBACK,
        # No socket files: their paths may have 107 bytes, and folders are deeper than that.
        "unix_socket_directories": "",
        "cluster_name": "bide",
        "max_connections": "200",
        "shared_buffers": "128MB",
        "max_wal_size": "2GB",
        "jit": "off",
        # Waits come and go by the thousand. What they leave behind is used again once somebody has swept it up.
        "autovacuum_naptime": "10s",
        # A frozen process must not hold its row locks against the others.
        "idle_in_transaction_session_timeout": "10s",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_checkpoints": "off",
    }
)
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Server:
    """A server that answers."""

    url: str
    owned: bool


@contextmanager
def running(folder: Path, *, settings: Mapping[str, str] = NO_SETTINGS) -> Iterator[Server]:
    """Give the server of a folder: started here and stopped at the end, or found running and left alone."""
    place = Folder(folder.absolute())
    with ExitStack() as ending:
        with usable(place):
            process = start(place, {**SETTINGS, **settings})
            if process:
                ending.callback(stop, process)
            server = Server(place.url(), owned=process is not None)
        yield server


@contextmanager
def usable(place: Folder) -> Iterator[None]:
    """Say in a sentence that the system refuses the folder."""
    try:
        yield
    except OSError as error:
        raise EmbeddedServerError(
            f"The database folder {place.path} cannot be used: {error}. "
            "Make it writable and see that the disk has room, or set core.data_dir to another folder."
        ) from error


def found(folder: Path) -> Server | None:
    """Give the server of a folder if one runs already; nothing is started."""
    place = Folder(folder.absolute())
    # Why there is none is told to whoever starts one.
    with suppress(OSError, EmbeddedServerError):
        state = place.server_state()
        if state is not None and state.status == "ready" and answers(state.port):
            return Server(place.url(), owned=False)
    return None


def is_made(folder: Path) -> bool:
    """Say whether a folder holds a database already; a first start makes one."""
    return Folder(folder.absolute()).data.exists()


def start(place: Folder, settings: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
    """Start the server unless one of this folder answers already; then there is nothing to own."""
    place.prepare()
    deadline = time.monotonic() + START_PATIENCE
    orphaned_since = None
    while time.monotonic() < deadline:
        with place.open_lock() as lock:
            if taken(lock.fileno()):
                return start_alone(place, settings, lock.fileno())
        state = place.server_state()
        if state is None or state.status != "ready":
            orphaned_since = None
        elif answers(state.port):
            return None
        else:
            orphaned_since = orphaned_since or time.monotonic()
            if time.monotonic() - orphaned_since > ORPHAN_PATIENCE:
                raise EmbeddedServerError(
                    f"The database server in {place.path} was killed, and some of its processes are still at work. "
                    "End them (ps shows them as 'postgres: bide: …') and start again."
                )
        time.sleep(LOOK_EVERY)
    raise EmbeddedServerError(
        f"Another process has been starting or stopping the database server in {place.path} for {START_PATIENCE:.0f} "
        f"seconds. See {place.log} for what it is doing, and try again."
    )


def taken(lock: int) -> bool:
    """Take the lock if it is free; it is given back when the last process that inherited it has ended."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def answers(port: int) -> bool:
    """Say whether somebody listens there: a postmaster that was killed cannot, though its backends may live on."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=5).close()
    except OSError:
        return False
    return True


def start_alone(place: Folder, settings: Mapping[str, str], lock: int) -> subprocess.Popen[bytes]:
    """Start the server while holding the lock."""
    place.create_data(lock)
    place.refuse_other_data()
    place.forget_dead_server()
    ports = [place.last_port() or free_port(), *(free_port() for _ in range(TRIES_FOR_A_PORT))]
    for port in ports:
        program = place.launch(
            "postgres", *arguments({"port": str(port), **settings}), data=place.data, keep_open=(lock,)
        )
        try:
            came_up = wait_until_ready(place, program.process)
            if came_up:
                place.remember_port(port)
                return program.process
        except BaseException:
            stop(program.process)
            raise
        if "could not create any TCP/IP sockets" not in program.last_words():
            break
    raise EmbeddedServerError(
        f"The database server in {place.path} does not start: {program.last_words()}. More is in {place.log}."
    )


def arguments(settings: Mapping[str, str]) -> Iterator[str]:
    """Write settings as PostgreSQL's command line takes them."""
    for name, value in settings.items():
        yield from ("-c", f"{name}={value}")


def free_port() -> int:
    """Ask the system for a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_ready(place: Folder, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the server answers (true) or has ended (false)."""
    deadline = time.monotonic() + START_PATIENCE
    while process.poll() is None:
        state = place.server_state()
        if state is not None and state.status == "ready":
            return True
        if time.monotonic() > deadline:
            raise EmbeddedServerError(
                f"The database server in {place.path} was not ready after {START_PATIENCE:.0f} seconds and was "
                f"stopped. See {place.log} for what it was doing, and try again."
            )
        time.sleep(LOOK_EVERY)
    return False


def stop(process: subprocess.Popen[bytes]) -> None:
    """Shut the server down: politely, then at once (it recovers at its next start), then by force."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        process.send_signal(number)
        try:
            process.wait(STOP_PATIENCE)
        except subprocess.TimeoutExpired:
            continue
        return
