"""The list of all settings: name, type, default, limits, whether it is secret, and one sentence on what it is for."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args, get_origin, get_type_hints

import msgspec

from bide.settings.about import About, about, limited, seconds_between_heartbeats
from bide.settings.mask import POSTGRESQL_URL, mask

Value = str | int | float | bool | Path | tuple[str, ...]

FERNET_KEY = r"[A-Za-z0-9_-]{43}="
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def processors_of_this_machine_and_one() -> int:
    """Reading DAG files is all computing; one more is ready while another one comes or goes."""
    return (os.cpu_count() or 1) + 1


def slots_of_this_machine() -> int:
    """Four children per processor: most tasks wait for something else most of their time."""
    return 4 * (os.cpu_count() or 1)


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table of bide.toml. Its repr shows no secrets, for it ends in logs and tracebacks."""

    def __repr__(self) -> str:
        """Show every value, the secret ones masked."""
        shown = (f"{key}={shown_value(s, getattr(self, key))!r}" for key, s in settings_in(type(self)).items())
        return f"{type(self).__name__}({', '.join(shown)})"


class Core(Section, frozen=True):
    """Where things are."""

    data_dir: Annotated[
        Path, about("Folder for what Bide keeps on this machine, such as the embedded database and the logs.")
    ] = Path(".bide")
    dags_dir: Annotated[Path, about("Folder with your DAG files.")] = Path("dags")


class Database(Section, frozen=True):
    """How PostgreSQL is reached."""

    url: Annotated[
        str,
        About(
            doc="Address of the PostgreSQL server; when empty, Bide starts the embedded one in `core.data_dir`.",
            pattern=POSTGRESQL_URL,
            pattern_in_words="an address such as postgresql://user:password@host:5432/name",
            secret=True,
        ),
    ] = ""
    pool_size: Annotated[int, limited("Most connections that one service keeps open.", 1, 1000)] = 10
    statement_timeout_sec: Annotated[
        float, limited("Seconds after which PostgreSQL gives up on a statement.", 0.1, 3600)
    ] = 30.0
    pooler: Annotated[
        bool,
        about(
            "Set this when a transaction pooler such as PgBouncer stands before the server: "
            "Bide then uses no session locks and no prepared statements."
        ),
    ] = False


class Security(Section, frozen=True):
    """How secrets are kept."""

    keys: Annotated[
        tuple[str, ...],
        About(
            doc="Fernet keys that seal secrets: the first seals, all open; if empty, one is made in `core.data_dir`.",
            pattern=FERNET_KEY,
            pattern_in_words="Fernet keys (44 characters of URL-safe base64 each)",
            secret=True,
        ),
    ] = ()


class Scheduler(Section, frozen=True):
    """The service that decides what runs next."""

    job_heartbeat_sec: Annotated[float, seconds_between_heartbeats("scheduler")] = 5.0
    poll_sec: Annotated[
        float, limited("Most seconds between two looks at the database when nothing wakes the scheduler.", 0.01, 60)
    ] = 1.0
    batch_size: Annotated[int, limited("Most tasks that one statement of the scheduler moves.", 1, 10_000)] = 500


class DagProcessor(Section, frozen=True):
    """The service that reads DAG files."""

    parsing_processes: Annotated[
        int, limited("How many DAG files are read at the same time.", 1, 1000, "1 more than processors")
    ] = msgspec.field(default_factory=processors_of_this_machine_and_one)
    file_timeout_sec: Annotated[
        float, limited("Seconds that a DAG file may take to be imported, before it is stopped.", 0.1, 3600)
    ] = 30.0
    file_memory_mb: Annotated[
        int, limited("Megabytes of memory that a DAG file may take while it is imported.", 64, 1_000_000)
    ] = 2048
    rescan_sec: Annotated[
        float,
        limited(
            "Most seconds between two looks into the folder; saved files are seen at once where it can be.", 0.1, 3600
        ),
    ] = 30.0
    dags_are_paused_at_creation: Annotated[
        bool, about("Whether a new DAG waits to be unpaused by a person when its file does not say.")
    ] = False
    job_heartbeat_sec: Annotated[float, seconds_between_heartbeats("DAG processor")] = 5.0


class Worker(Section, frozen=True):
    """The service that runs tasks."""

    slots: Annotated[int, limited("How many tasks one worker runs at the same time.", 1, 10_000, "4 per processor")] = (
        msgspec.field(default_factory=slots_of_this_machine)
    )
    queues: Annotated[tuple[str, ...], about("Queues whose tasks this worker runs.")] = ("default",)
    job_heartbeat_sec: Annotated[float, seconds_between_heartbeats("worker")] = 5.0
    poll_sec: Annotated[
        float, limited("Most seconds between two looks for tasks when nothing wakes the worker.", 0.01, 60)
    ] = 1.0
    legs_per_child: Annotated[
        int,
        limited(
            "How many tasks one process runs, one after the other; more than 1 trades isolation for speed.",
            1,
            1_000_000,
        ),
    ] = 1
    child_memory_mb: Annotated[
        int, limited("Megabytes of memory that the process of a task may take; 0 sets no limit.", 0, 10_000_000)
    ] = 0
    grace_sec: Annotated[
        float, limited("Seconds that a task which is stopped has to end by itself before it is killed.", 0, 3600)
    ] = 10.0
    drain_sec: Annotated[
        float,
        limited(
            "Seconds that tasks may go on when their worker is told to stop; then they are stopped and run elsewhere.",
            0,
            86_400,
        ),
    ] = 10.0
    callback_timeout_sec: Annotated[
        float, limited("Seconds that the callbacks of a task or a DAG may take, each time they are called.", 1, 3600)
    ] = 60.0
    load_sec: Annotated[float, limited("Seconds that a worker gives a DAG file to be imported.", 1, 3600)] = 120.0
    unused_sec: Annotated[
        float,
        limited("Seconds after which a process that holds a DAG file ready is ended if nobody needs it.", 1, 86_400),
    ] = 600.0
    most_unused: Annotated[
        int,
        limited(
            "How many DAG files a worker holds ready at most beside those whose tasks run; 0: nor a spare process.",
            0,
            1000,
        ),
    ] = 8
    price_per_hour: Annotated[float, limited("What a slot costs in an hour, for `bide savings`.", 0, 1e6)] = 0.0
    log_limit_kb: Annotated[
        int,
        limited("Kilobytes that the log of one try may have; of what is longer the middle is left out.", 16, 1_000_000),
    ] = 10_240


class Triggerer(Section, frozen=True):
    """The service that waits on behalf of deferred tasks."""

    capacity: Annotated[int, limited("How many triggers one triggerer runs at the same time.", 1, 1_000_000)] = 1000
    runners: Annotated[int, limited("Processes, with an event loop each, that share its triggers.", 1, 128)] = 1
    max_trigger_to_select_per_loop: Annotated[
        int, limited("Most triggers it claims at once; small claims spread the waits evenly.", 1, 10_000)
    ] = 50
    queues_enabled: Annotated[bool, about("Whether a wait takes the queue of its task.")] = False
    queues: Annotated[tuple[str, ...], about("Queues that it serves; when empty, only waits without a queue.")] = ()
    job_heartbeat_sec: Annotated[float, seconds_between_heartbeats("triggerer")] = 5.0
    poll_sec: Annotated[
        float, limited("Most seconds between two looks for triggers when nothing wakes the triggerer.", 0.01, 60)
    ] = 1.0
    hold_limit_sec: Annotated[
        float, limited("Seconds that a trigger may hold its event loop; after three times it is failed.", 0.05, 60)
    ] = 0.5
    stuck_sec: Annotated[float, limited("Seconds after which its process is killed then.", 0.1, 3600)] = 30.0
    unused_sec: Annotated[
        float, limited("Seconds until a process for a DAG file ends that nobody uses.", 0, 86_400)
    ] = 60.0
    kill_deadline_sec: Annotated[float, limited("Seconds that an `on_kill` of a trigger may take.", 0.1, 3600)] = 30.0


class Operators(Section, frozen=True):
    """Defaults for operators in DAG files."""

    default_deferrable: Annotated[
        bool, about("Whether operators that can wait in both ways defer when the DAG file does not say.")
    ] = False


class Logging(Section, frozen=True):
    """What the services write about themselves."""

    level: Annotated[str, About(doc="The least important messages that are still written.", choices=LEVELS)] = "INFO"


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that is set, once and for the whole life of a process."""

    core: Core = msgspec.field(default_factory=Core)
    database: Database = msgspec.field(default_factory=Database)
    security: Security = msgspec.field(default_factory=Security)
    scheduler: Scheduler = msgspec.field(default_factory=Scheduler)
    dag_processor: DagProcessor = msgspec.field(default_factory=DagProcessor)
    worker: Worker = msgspec.field(default_factory=Worker)
    triggerer: Triggerer = msgspec.field(default_factory=Triggerer)
    operators: Operators = msgspec.field(default_factory=Operators)
    logging: Logging = msgspec.field(default_factory=Logging)


@dataclass(frozen=True)
class Setting:
    """One declared setting, as the loader and the documentation see it."""

    section: str
    key: str
    kind: object
    default: Value
    about: About

    @property
    def name(self) -> str:
        """The name on the command line and in messages."""
        return f"{self.section}.{self.key}"

    @property
    def variable(self) -> str:
        """The name in the environment."""
        return f"BIDE_{self.section}__{self.key}".upper()


def settings_in(section: type[Section]) -> Mapping[str, Setting]:
    """Read the declaration of one section: key -> setting."""
    defaults = section()
    found = {}
    for key, hint in get_type_hints(section, include_extras=True).items():
        if get_origin(hint) is Annotated:
            kind, described = get_args(hint)
            found[key] = Setting(name_of(section), key, kind, getattr(defaults, key), described)
    return found


def name_of(section: type[Section]) -> str:
    """Return what a section is called in bide.toml: `dag_processor` for DagProcessor."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", section.__name__).lower()


def shown_value(setting: Setting, value: Value) -> str | int | float | bool | list[str]:
    """Turn a value into what may be shown to anyone: plain types, secrets masked."""
    if isinstance(value, tuple):
        return [mask(item) if setting.about.secret else item for item in value]
    if isinstance(value, Path):
        return str(value)
    return mask(str(value)) if setting.about.secret else value


SECTIONS: Mapping[str, type[Section]] = {
    name: section for name, section in get_type_hints(Settings).items() if issubclass(section, Section)
}
SETTINGS: Mapping[str, Setting] = {
    setting.name: setting for section in SECTIONS.values() for setting in settings_in(section).values()
}
