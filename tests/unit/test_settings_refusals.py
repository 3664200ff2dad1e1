"""A setting that cannot be used is refused in one sentence: where it stands, what is wrong, and what was meant."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from bide.errors import SettingsError
from bide.sealing import generate_key
from bide.settings import load
from bide.settings.declared import SETTINGS, Setting

URL = "postgresql://me:hush@host/x"
NONE: Mapping[str, str] = MappingProxyType({})


def refusal(
    here: Path, toml: str | bytes = "", environ: Mapping[str, str] = NONE, overrides: Mapping[str, str] = NONE
) -> str:
    """Return what is said, without the path of the file."""
    path = here / "bide.toml"
    path.write_bytes(toml if isinstance(toml, bytes) else toml.encode())
    with pytest.raises(SettingsError) as refused:
        load(directory=here, environ=environ, overrides=overrides)
    said = str(refused.value)
    assert len(said.splitlines()) == 1
    assert said.endswith((".", "?"))
    return said.replace(str(path), "FILE")


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[trigerer]", "FILE: there is no section [trigerer]; did you mean [triggerer]?"),
        ("[Core]", "FILE: there is no section [Core]; did you mean [core]?"),
        (
            "[xyz]",
            "FILE: there is no section [xyz]; the sections are core, database, security, scheduler, "
            "dag_processor, worker, triggerer, operators, logging.",
        ),
        ("capacity = 3", "FILE: capacity stands outside of any section; did you mean triggerer.capacity?"),
        ("triggerer = 3", "FILE: triggerer is a section: write [triggerer] and its settings below."),
        (
            "[triggerer]\ncapacty = 3",
            "FILE: there is no setting triggerer.capacty; did you mean triggerer.capacity?",
        ),
        ("[core]\ncapacity = 3", "FILE: there is no setting core.capacity; did you mean triggerer.capacity?"),
        (
            "[triggerer.capacity]\nnumber = 3",
            "FILE: triggerer.capacity must be a whole number from 1 to 1,000,000, not a table.",
        ),
        ("[core]\nxyz = 3", "FILE: there is no setting core.xyz; `bide config` shows all settings."),
    ],
)
def test_an_unknown_name_in_the_file_is_refused_with_the_near_one(tmp_path: Path, toml: str, said: str) -> None:
    assert refusal(tmp_path, toml) == said


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("BIDE_TRIGGERER__CAPACTY", "did you mean BIDE_TRIGGERER__CAPACITY?"),
        ("BIDE_TRIGERER__CAPACITY", "did you mean BIDE_TRIGGERER__CAPACITY?"),
        ("BIDE_WORKR__JOB_HEARTBEAT_SEC", "did you mean BIDE_WORKER__JOB_HEARTBEAT_SEC?"),
        ("BIDE_NO__SUCH", "`bide config` shows all settings."),
    ],
)
def test_an_unknown_variable_is_refused_with_the_near_one(tmp_path: Path, variable: str, hint: str) -> None:
    said = refusal(tmp_path, environ={variable: "hush"})
    assert said == f"The environment variable {variable} names no setting; {hint}"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("triggerer.capacty", "triggerer.capacty; did you mean triggerer.capacity?"),
        ("capacity", "capacity; did you mean triggerer.capacity?"),
        ("databaseurl", "databaseurl; did you mean database.url?"),
        ("no.such", "no.such; `bide config` shows all settings."),
    ],
)
def test_an_unknown_name_on_the_command_line_is_refused_with_the_near_one(tmp_path: Path, name: str, hint: str) -> None:
    assert refusal(tmp_path, overrides={name: "1"}) == f"--set: there is no setting {hint}"


WHOLE = "triggerer.capacity must be a whole number from 1 to 1,000,000"
PART = "triggerer.kill_deadline_sec must be a number from 0.1 to 3,600"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("capacity = '3'", f"{WHOLE}, not the text '3'."),
        ("capacity = true", f"{WHOLE}, not true."),
        ("capacity = 2.0", f"{WHOLE}, not 2.0."),
        ("capacity = 0", f"{WHOLE}, not 0."),
        ("capacity = 1_000_001", f"{WHOLE}, not 1000001."),
        ("capacity = [1]", f"{WHOLE}, not a list with something else in it."),
        ("capacity = 2024-01-01", f"{WHOLE}, not a date or time."),
        ("kill_deadline_sec = false", f"{PART}, not false."),
        ("kill_deadline_sec = nan", f"{PART}, not nan."),
        ("kill_deadline_sec = inf", f"{PART}, not inf."),
        ("kill_deadline_sec = 0.05", f"{PART}, not 0.05."),
        ("queues_enabled = 1", "triggerer.queues_enabled must be true or false, not 1."),
        ("queues_enabled = 'yes'", "triggerer.queues_enabled must be true or false, not the text 'yes'."),
        ("queues = 'a'", "triggerer.queues must be a list of texts, not the text 'a'."),
        ("queues = ['a', 1]", "triggerer.queues must be a list of texts, not a list with something else in it."),
        ("queues = ['']", "triggerer.queues must be a list of texts, not a list with something else in it."),
    ],
)
def test_a_wrong_value_in_the_file_is_refused(tmp_path: Path, line: str, said: str) -> None:
    assert refusal(tmp_path, f"[triggerer]\n{line}") == f"FILE: {said}"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("triggerer.capacity", "many", f"{WHOLE}, not the text 'many'."),
        ("triggerer.capacity", "", f"{WHOLE}, not an empty text."),
        ("triggerer.capacity", "2.0", f"{WHOLE}, not the text '2.0'."),
        ("triggerer.capacity", "-1", f"{WHOLE}, not -1."),
        ("triggerer.kill_deadline_sec", "nan", f"{PART}, not nan."),
        ("triggerer.kill_deadline_sec", "1,5", f"{PART}, not the text '1,5'."),
        ("triggerer.queues_enabled", "maybe", "triggerer.queues_enabled must be true or false, not the text 'maybe'."),
        ("core.data_dir", "", "core.data_dir must be a path, not an empty text."),
        ("core.data_dir", "~nobody-here/x", "core.data_dir must be a path, not the text '~nobody-here/x'."),
        (
            "logging.level",
            "loud",
            "logging.level must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL, not the text 'loud'.",
        ),
    ],
)
def test_a_wrong_text_is_refused_alike_in_the_environment_and_on_the_command_line(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    variable = SETTINGS[name].variable
    assert refusal(tmp_path, environ={variable: text}) == f"{variable}: {said}"
    assert refusal(tmp_path, overrides={name: text}) == f"--set: {said}"


NUMBERS = [setting for setting in SETTINGS.values() if setting.about.least is not None]


@pytest.mark.parametrize("setting", NUMBERS, ids=lambda setting: setting.name)
def test_every_limit_is_kept_on_both_sides(tmp_path: Path, setting: Setting) -> None:
    least, most = setting.about.least, setting.about.most
    assert least is not None
    assert most is not None
    for text in (str(least), str(most)):
        load(directory=tmp_path, environ={setting.variable: text})
    step = 1 if setting.kind is int else 0.001
    for text in (str(least - step), str(most + step)):
        assert setting.name in refusal(tmp_path, environ={setting.variable: text})


def test_every_number_has_limits() -> None:
    assert {setting.name for setting in SETTINGS.values() if setting.kind in (int, float)} == {
        setting.name for setting in NUMBERS
    }


KEY = generate_key()


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("database.url", "mysql://me:hush@host/x"),
        ("database.url", "hush"),
        ("security.keys", "hush"),
        ("security.keys", f"{KEY},hush"),
        ("security.keys", KEY[:-1]),
        ("security.keys", KEY.replace(KEY[5], "+")),
    ],
    ids=["other server", "no address", "short", "second", "cut", "other letters"],
)
def test_what_a_secret_was_set_to_is_never_repeated(tmp_path: Path, name: str, secret: str) -> None:
    setting = SETTINGS[name]
    raw = str(secret.split(",")) if name == "security.keys" else repr(secret)
    for said in (
        refusal(tmp_path, environ={setting.variable: secret}),
        refusal(tmp_path, f"[{setting.section}]\n{setting.key} = {raw}"),
        refusal(tmp_path, overrides={name: secret}),
    ):
        assert f"{name} must be " in said
        assert "hush" not in said
        assert KEY[:20] not in said


@pytest.mark.parametrize("raw", ["3", "true", "['hush', 3]", "{ hush = 1 }"])
def test_a_secret_of_the_wrong_type_is_not_repeated_either(tmp_path: Path, raw: str) -> None:
    for line in (f"[database]\nurl = {raw}", f"[security]\nkeys = {raw}"):
        assert "hush" not in refusal(tmp_path, line)


def test_the_address_of_the_database_is_given_once(tmp_path: Path) -> None:
    said = refusal(tmp_path, environ={"BIDE_DATABASE_URL": URL, "BIDE_DATABASE__URL": URL})
    assert said == "BIDE_DATABASE_URL and BIDE_DATABASE__URL are both set and mean the same; keep one of them."


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("[core", "line 1, the end of the file"),
        ("[core]\ndags_dir = dags", "line 2, column 12"),
        ("[core]\n[core]", "line 2"),
        ("[worker]\nslots = " + "9" * 5000, ""),
        ("[worker]\nslots = " + "[" * 5000, ""),
    ],
)
def test_a_broken_file_is_refused_with_the_place(tmp_path: Path, content: str, place: str) -> None:
    said = refusal(tmp_path, content)
    assert said.startswith("FILE is not valid TOML: ")
    assert place in said


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, b"[core]\n\xff") == "FILE is not UTF-8 text: byte 8 is wrong."


def test_a_file_that_cannot_be_read_is_refused_and_one_that_is_not_there_sets_nothing(tmp_path: Path) -> None:
    load(directory=tmp_path, environ={})
    (tmp_path / "bide.toml").mkdir()
    with pytest.raises(SettingsError, match=r"bide\.toml cannot be read: Is a directory\."):
        load(directory=tmp_path, environ={})
