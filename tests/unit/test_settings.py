"""Where a setting's value comes from, and how it is shown."""

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.sealing import generate_key
from bide.settings import Settings, document, explain, load
from bide.settings.declared import SETTINGS, Setting
from bide.settings.document import INTRODUCTION
from bide.settings.mask import mask
from tests.meta.tree import ROOT

URL = "postgresql://me:hush@db.example:5432/bide"


def settings(here: Path, toml: str = "", environ: dict[str, str] | None = None, **given: str) -> Settings:
    """Load from a bide.toml, an environment and `--set`, where `__` stands for the dot."""
    (here / "bide.toml").write_text(toml)
    overrides = {name.replace("__", "."): text for name, text in given.items()}
    return load(directory=here, environ=environ or {}, overrides=overrides)


def value(loaded: Settings, setting: Setting) -> Any:
    return getattr(getattr(loaded, setting.section), setting.key)


def test_without_any_source_every_setting_has_its_default(tmp_path: Path) -> None:
    loaded = load(directory=tmp_path, environ={})
    for setting in SETTINGS.values():
        expected = tmp_path / setting.default if isinstance(setting.default, Path) else setting.default
        assert value(loaded, setting) == expected


def test_each_source_is_stronger_than_the_one_before(tmp_path: Path) -> None:
    toml = "[triggerer]\ncapacity = 2\nrunners = 2\nqueues = ['file']"
    environ = {"BIDE_TRIGGERER__RUNNERS": "3", "BIDE_TRIGGERER__QUEUES": "environment"}
    loaded = settings(tmp_path, toml, environ, triggerer__queues="command line").triggerer
    assert loaded.max_trigger_to_select_per_loop == 50
    assert (loaded.capacity, loaded.runners, loaded.queues) == (2, 3, ("command line",))


def test_every_value_tells_where_it_came_from(tmp_path: Path) -> None:
    settings(tmp_path, "[triggerer]\ncapacity = 2\nrunners = 2\nqueues = ['file']")
    environ = {"BIDE_TRIGGERER__RUNNERS": "3", "BIDE_DATABASE_URL": URL}
    told = explain(directory=tmp_path, environ=environ, overrides={"triggerer.queues": "a"})
    assert [f"{one.section}.{one.key}" for one in told] == list(SETTINGS)
    sources = {one.key: one.source for one in told if one.source != "default"}
    assert sources == {
        "url": "BIDE_DATABASE_URL",
        "capacity": str(tmp_path / "bide.toml"),
        "runners": "BIDE_TRIGGERER__RUNNERS",
        "queues": "--set",
    }


def other_than_default(setting: Setting) -> tuple[Any, str]:
    """Choose a value that a setting may have, as a file has it and as text."""
    about = setting.about
    if about.secret:
        secret = generate_key() if setting.kind is not str else URL
        return (secret, secret) if setting.kind is str else ([secret, secret], f"{secret},{secret}")
    if about.choices:
        return about.choices[0], about.choices[0]
    if setting.kind is bool:
        return not setting.default, str(not setting.default)
    if setting.kind is int or setting.kind is float:
        return about.most, str(about.most)
    if setting.kind is Path:
        return "/other", "/other"
    return ["a", "b"], " a, b "


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_can_be_set_in_each_of_the_three_places(tmp_path: Path, name: str) -> None:
    setting = SETTINGS[name]
    raw, text = other_than_default(setting)
    written = f"[{setting.section}]\n{setting.key} = {msgspec.json.encode(raw).decode()}"
    loaded = [
        settings(tmp_path, written),
        settings(tmp_path, environ={setting.variable: text}),
        load(directory=tmp_path, environ={}, overrides={name: text}),
    ]
    values = [value(one, setting) for one in loaded]
    assert values[0] not in (setting.default, tmp_path / str(setting.default))
    assert values == [values[0]] * 3
    assert {type(one) for one in values} == {type(setting.default) if setting.kind is not Path else type(tmp_path)}


@pytest.mark.parametrize(
    ("text", "meant"),
    [(word, True) for word in ("true", "YES", " on ", "1")] + [(word, False) for word in ("False", "no", "off", "0")],
)
def test_truth_may_be_written_as_people_write_it(tmp_path: Path, text: str, meant: bool) -> None:
    assert settings(tmp_path, triggerer__queues_enabled=text).triggerer.queues_enabled is meant


def test_levels_may_be_written_in_small_letters(tmp_path: Path) -> None:
    assert settings(tmp_path, "[logging]\nlevel = 'debug'").logging.level == "DEBUG"


def test_relative_paths_start_at_the_folder_and_not_where_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home-of-somebody")
    places = {"data": tmp_path / "data", "/data": Path("/data"), "~/d": Path("/home-of-somebody/d")}
    for text, expected in places.items():
        loaded = load(environ={"BIDE_CORE__DATA_DIR": text})
        assert loaded.core.data_dir == expected
        assert loaded.core.dags_dir == tmp_path / "dags"


def test_the_address_of_the_database_may_have_the_name_that_others_use(tmp_path: Path) -> None:
    assert settings(tmp_path, environ={"BIDE_DATABASE_URL": URL}).database.url == URL
    assert settings(tmp_path, environ={"BIDE_DATABASE__URL": URL}).database.url == URL
    # Set to nothing it means the embedded server, whatever the file says.
    toml = f"[database]\nurl = '{URL}'"
    assert settings(tmp_path, toml).database.url == URL
    assert settings(tmp_path, toml, {"BIDE_DATABASE_URL": ""}).database.url == ""


def test_variables_that_are_no_settings_are_none_of_its_business(tmp_path: Path) -> None:
    environ = {"BIDE_TEST_DATABASE_URL": URL, "BIDE_HOME": "/x", "bide_core__dags_dir": "y", "OTHER__KEY": "1"}
    assert settings(tmp_path, environ=environ) == settings(tmp_path)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "bide.toml").write_bytes(b"\xef\xbb\xbf[triggerer]\r\ncapacity = 7\r\n")
    assert load(directory=tmp_path, environ={}).triggerer.capacity == 7


def test_settings_do_not_change(tmp_path: Path) -> None:
    loaded = settings(tmp_path)
    with pytest.raises(AttributeError):
        loaded.triggerer.capacity = 3  # type: ignore[misc]


def test_what_is_shown_holds_no_secret(tmp_path: Path) -> None:
    key = generate_key()
    environ = {"BIDE_DATABASE_URL": URL, "BIDE_SECURITY__KEYS": f"{key},{key}"}
    shown = msgspec.json.encode(explain(directory=tmp_path, environ=environ)).decode()
    shown += repr(settings(tmp_path, environ=environ))
    assert key not in shown
    assert "hush" not in shown
    assert shown.count("postgresql://me:***@db.example:5432/bide") == 2
    assert '["***","***"]' in shown


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me:hush@host:5432/x", "postgresql://me:***@host:5432/x"),
        ("postgres://me:hu@sh?h/us:h@host/x", "postgres://me:***@host/x"),
        ("postgresql://:hush@host/x", "postgresql://:***@host/x"),
        ("postgresql://me@host/x?password=hush&sslmode=on", "postgresql://me@host/x?password=***&sslmode=on"),
        ("postgresql:///x?user=me&sslpassword=hush", "postgresql:///x?user=me&sslpassword=***"),
        ("postgresql://me:hu\nsh@host/x", "postgresql://me:***@host/x"),
        ("postgresql://host/x", "postgresql://host/x"),
        ("hush", "***"),
        ("", ""),
    ],
)
def test_of_an_address_the_passwords_are_hidden_and_the_server_is_not(address: str, shown: str) -> None:
    assert mask(address) == shown


@given(st.text(st.characters(codec="utf-8"), min_size=4).filter(lambda text: text not in "postgresql://me:***@host/x"))
def test_no_password_whatever_is_in_it_is_shown(password: str) -> None:
    assert password not in mask(f"postgresql://me:{password}@host/x")


def test_the_page_has_every_setting_with_its_default_limits_and_purpose() -> None:
    page = document()
    for setting in SETTINGS.values():
        section = page.partition(f"## [{setting.section}]")[2].partition("\n## ")[0]
        (row,) = (line for line in section.splitlines() if line.startswith(f"| `{setting.key}` |"))
        assert setting.about.doc in row
        assert ("(secret)" in row) is setting.about.secret
        if setting.about.most is not None:
            assert f"{setting.about.least:,} to {setting.about.most:,}" in row
        assert all(f"`{choice}`" in row for choice in setting.about.choices)
    assert (ROOT / "docs" / "configuration.md").read_text() == page


def test_the_example_of_the_page_can_be_used(tmp_path: Path) -> None:
    example = INTRODUCTION.partition("```toml\n")[2].partition("```")[0]
    assert len(tomllib.loads(example)) == 2
    assert settings(tmp_path, example).triggerer.queues == ("default", "reports")


def test_every_default_keeps_its_own_limits(tmp_path: Path) -> None:
    for name, setting in SETTINGS.items():
        text = ",".join(setting.default) if isinstance(setting.default, tuple) else str(setting.default)
        loaded = load(directory=tmp_path, environ={}, overrides={name: text})
        assert value(loaded, setting) == value(load(directory=tmp_path, environ={}), setting)
