"""`bide doctor`: each check in its good and its bad case, with what to do."""

from pathlib import Path

import asyncpg
import pytest
import yaml

from bide.cli import checks
from bide.cli.checks import Finding, Level
from bide.sealing import generate_key
from bide.settings import load
from bide.store.situation import ServerFacts
from tests.cli.deaf import deaf_wire
from tests.cli.person import Person
from tests.scheduler.town import NOW

EVERY_CHECK = [
    "settings",
    "disk",
    "DAG files",
    "key",
    "database",
    "migrations",
    "clock",
    "connections",
    "durability",
    "pooler",
    "secrets",
    "services",
    "waits",
]


@pytest.fixture
async def made(newcomer: Person, empty_database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The address of a database that `bide db migrate` has made, for somebody who has DAG files."""
    (tmp_path / "dags").mkdir()
    monkeypatch.setenv("BIDE_DATABASE_URL", empty_database)
    await newcomer.done("db", "migrate")
    return empty_database


async def examined(newcomer: Person, *arguments: str, code: int = 0) -> dict[str, tuple[str, str, str]]:
    """Hear what each check has found: its level, what it is, and what to do."""
    said = await newcomer.says(*arguments, "doctor", "-o", "yaml")
    assert said.code == code, said
    return {one["check"]: (one["level"], one["found"], one["advice"]) for one in yaml.safe_load(said.out)}


async def execute(url: str, statement: str) -> None:
    """Arrange something in a database."""
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


async def test_a_healthy_installation(newcomer: Person, made: str) -> None:
    found = await examined(newcomer)
    assert list(found) == EVERY_CHECK
    # The server of these tests keeps nothing after a power cut.
    assert found.pop("durability") == ("warn", "fsync is off: a crash may destroy the database", "switch fsync on")
    level, at_work, advice = found.pop("services")
    assert (level, advice) == ("warn", "`bide up` starts all of them; see `bide status`")
    assert at_work.startswith("nobody is at work; No scheduler is alive")
    assert {level for level, _, _ in found.values()} == {"ok"}
    assert all(advice == "" for _, _, advice in found.values())
    lines = await newcomer.done("doctor")
    assert lines[0] == "check found what to do"
    assert lines[1] == "settings ok 1 setting made, see `bide config`"


async def test_settings_that_cannot_be_used_end_the_examination(newcomer: Person) -> None:
    found = await examined(newcomer, "--set", "worker.slots=many", code=1)
    assert list(found) == ["settings"]
    assert found["settings"][0] == "fail"
    assert "worker.slots must be a whole number" in found["settings"][1]


def test_a_folder_without_a_database_stays_without_one(newcomer: Person, tmp_path: Path) -> None:
    assert newcomer.say("doctor").lines[-1] == (
        "database warn there is none yet `bide up` makes one here; or set database.url"
    )
    assert list(tmp_path.iterdir()) == []


async def test_a_server_that_does_not_answer(newcomer: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIDE_DATABASE_URL", "postgresql://me:hush@127.0.0.1:1/x")
    found = await examined(newcomer, code=1)
    assert (found["database"][0], found["database"][1][:28]) == ("fail", "PostgreSQL cannot be reached")
    assert "hush" not in str(found)


async def test_a_database_that_lacks_migrations(
    newcomer: Person, empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIDE_DATABASE_URL", empty_database)
    found = await examined(newcomer, code=1)
    assert found["migrations"] == ("fail", "it lacks 0001_heart", "run `bide db migrate`")
    assert list(found)[-1] == "migrations"


async def test_waits_that_nobody_watches_are_told(newcomer: Person, made: str) -> None:
    await execute(made, "insert into trigger (classpath, kwargs, created_date) values ('a.B', 'x', bide_now())")
    found = (await examined(newcomer))["waits"]
    assert found[0] == "warn"
    assert found[1].startswith("no task waits; 1 wait without a queue, which no living triggerer serves")


async def test_a_moved_clock_is_found(newcomer: Person, made: str) -> None:
    await execute(made, "update clock set shift = interval '1 day'")
    assert (await examined(newcomer, code=1))["clock"][0] == "fail"


async def test_lost_hints_betray_a_pooler(newcomer: Person, made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with deaf_wire(made) as url:
        monkeypatch.setenv("BIDE_DATABASE_URL", url)
        found = (await examined(newcomer, code=1))["pooler"]
        assert found[0] == "fail"
        assert found[2] == "set database.pooler"
        found = (await examined(newcomer, "--set", "database.pooler=true"))["pooler"]
        assert found[0] == "ok"


async def test_secrets_that_no_key_opens_are_found(
    newcomer: Person, made: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    await newcomer.done("variables", "set", "region", "eu")
    await newcomer.done("connections", "add", "api", "http://host")
    assert (await examined(newcomer))["secrets"] == ("ok", "the key opens them (2 tried)", "")
    await execute(made, "update connection set sealed = (select sealed from variable)")
    found = (await examined(newcomer, code=1))["secrets"]
    assert found[1].startswith("1 of 2 tried cannot be opened, such as the connection api: What is stored for")
    monkeypatch.setenv("BIDE_SECURITY__KEYS", generate_key())
    assert (await examined(newcomer, code=1))["secrets"][1].startswith("2 of 2 tried cannot be opened")
    monkeypatch.delenv("BIDE_SECURITY__KEYS")
    (tmp_path / ".bide" / "key").unlink()
    found = (await examined(newcomer, code=1))["secrets"]
    assert (found[1], found[2]) == ("some are stored, but there is no key here", "put theirs into security.keys")
    # A doctor changes nothing.
    assert not (tmp_path / ".bide" / "key").exists()


def test_the_key_is_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(**settings: str) -> Finding:
        given = {name.replace("__", "."): value for name, value in settings.items()}
        return checks.of_key(load(directory=tmp_path, environ={}, overrides=given))

    assert found() == Finding("key", Level.OK, "none yet; it is made when the first secret is stored")
    assert found(security__keys=f"{generate_key()},{generate_key()}").found == "2 keys in security.keys"
    key = tmp_path / ".bide" / "key"
    key.parent.mkdir()
    key.write_text(generate_key())
    key.chmod(0o600)
    assert found().level is Level.OK
    assert found(database__url="postgresql://h/x").advice.startswith("put it into security.keys")
    key.chmod(0o644)
    assert (found().level, found().advice) == (Level.WARN, f"chmod 600 {key}")
    key.write_text("damaged")
    assert found().level is Level.FAIL
    assert "holds no key" in found().found


def test_the_folder_of_dag_files_is_examined(tmp_path: Path) -> None:
    assert checks.of_dags(tmp_path).level is Level.OK
    assert checks.of_dags(tmp_path / "gone").level is Level.WARN
    (tmp_path / "file").touch()
    assert checks.of_dags(tmp_path / "file").level is Level.FAIL


def test_the_disk_is_examined_where_the_folder_will_be(tmp_path: Path) -> None:
    assert checks.of_disk(tmp_path / "not" / "yet").found.endswith(f"free for {tmp_path}/not/yet")


@pytest.mark.parametrize(
    ("free", "level"), [(5_000_000_000, Level.OK), (500_000_000, Level.WARN), (50_000_000, Level.FAIL)]
)
def test_little_room_is_said_in_time(free: int, level: Level) -> None:
    assert checks.judged_disk(Path("data"), free).level is level


@pytest.mark.parametrize(
    ("skew_sec", "level", "said"),
    [(0.01, Level.OK, "0.0 s behind"), (3, Level.WARN, "3.0 s behind"), (-90, Level.WARN, "90.0 s ahead of")],
)
def test_clocks_that_differ_are_told(skew_sec: float, level: Level, said: str) -> None:
    found = checks.of_clock(ServerFacts(NOW, False, 100, 1, True, 0), skew_sec)
    assert found.level is level
    assert said in found.found


@pytest.mark.parametrize(("taken", "level"), [(50, Level.OK), (95, Level.WARN)])
def test_taken_connections_are_told(taken: int, level: Level) -> None:
    assert checks.of_room(ServerFacts(NOW, False, 100, taken, True, 0)).level is level
