"""The program itself: what it says of its settings, how it refuses, and how it ends."""

import json
import os
from pathlib import Path

import pytest

import bide
from bide.sealing import generate_key
from bide.settings.declared import SETTINGS
from tests.process.alive import LINUX
from tests.process.command import ran

URL = "postgresql://me:hush@host/x"


def test_every_setting_is_shown_with_its_value_and_where_it_came_from(tmp_path: Path) -> None:
    (tmp_path / "bide.toml").write_text("[triggerer]\ncapacity = 7\n")
    environ = {"BIDE_DATABASE_URL": URL, "BIDE_SECURITY__KEYS": generate_key()}
    code, said, complained = ran(tmp_path, "--set", "triggerer.queues=a, b", "config", environ=environ)
    assert (code, complained) == (0, "")
    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines()}
    assert list(rows) == ["setting", *SETTINGS]
    assert rows["triggerer.capacity"] == ["7", "bide.toml"]
    assert rows["triggerer.queues"] == ["a,b", "--set"]
    assert rows["database.url"] == ["postgresql://me:***@host/x", "BIDE_DATABASE_URL"]
    assert rows["security.keys"] == ["***", "BIDE_SECURITY__KEYS"]
    assert rows["core.dags_dir"] == [str(tmp_path / "dags"), "default"]
    assert rows["operators.default_deferrable"] == ["false", "default"]


def test_programs_get_the_same_as_json_with_types(tmp_path: Path) -> None:
    environ = {"BIDE_DATABASE_URL": URL, "BIDE_TRIGGERER__QUEUES": "a,b"}
    code, said, complained = ran(tmp_path, "config", "--output", "json", environ=environ)
    assert (code, complained) == (0, "")
    told = {f"{one['section']}.{one['key']}": one for one in json.loads(said)}
    assert told.keys() == SETTINGS.keys()
    assert told["triggerer.queues"]["value"] == ["a", "b"]
    assert told["triggerer.capacity"] == {
        "section": "triggerer",
        "key": "capacity",
        "value": 1000,
        "source": "default",
        "doc": SETTINGS["triggerer.capacity"].about.doc,
    }
    assert "hush" not in said


def test_the_last_of_two_settings_of_one_name_holds_and_a_value_may_have_the_sign_in_it(tmp_path: Path) -> None:
    arguments = ["--set", "core.dags_dir=a", "--set", "core.dags_dir=b=c", "config", "-o", "json"]
    _, said, _ = ran(tmp_path, *arguments)
    assert [one["value"] for one in json.loads(said) if one["key"] == "dags_dir"] == [str(tmp_path / "b=c")]


def test_what_cannot_be_used_is_said_in_one_sentence_with_exit_code_1(tmp_path: Path) -> None:
    code, said, complained = ran(tmp_path, "--set", "triggerer.capacty=3", "config")
    assert (code, said) == (1, "")
    assert complained == "Error: --set: there is no setting triggerer.capacty; did you mean triggerer.capacity?\n"
    for command in (["config"], ["db", "migrate"], ["db", "reset", "--yes"]):
        code, said, complained = ran(tmp_path, *command, environ={"BIDE_DATABASE_URL": "mysql://me:hush@host/x"})
        assert (code, said) == (1, "")
        assert complained.startswith("Error: BIDE_DATABASE_URL: database.url must be an address such as ")
        assert "hush" not in complained
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["config", "--output", "xml"],
        ["db", "reset", "--no-such-option"],
        ["--set", "database.url", "config"],
        ["--set", f"{URL}?sslmode=require", "config"],
        ["--set", generate_key(), "config"],
    ],
)
def test_what_is_no_command_has_exit_code_2_and_repeats_no_secret(tmp_path: Path, arguments: list[str]) -> None:
    code, said, complained = ran(tmp_path, *arguments)
    assert (code, said) == (2, "")
    assert complained.startswith("Usage: bide")
    assert "hush" not in complained
    assert arguments[1:2] != ["--set"] or arguments[1] not in complained


def test_it_says_which_version_it_is_and_how_it_is_used(tmp_path: Path) -> None:
    assert ran(tmp_path, "--version") == (0, f"bide {bide.__version__}\n", "")
    for arguments in (["-h"], ["db", "reset", "--help"]):
        code, said, complained = ran(tmp_path, *arguments)
        assert (code, complained) == (0, "")
        assert "Usage: bide" in said


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["config"], ["config", "-o", "json"]])
def test_a_reader_who_has_seen_enough_is_no_fault(tmp_path: Path, arguments: list[str], unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        code, _, complained = ran(tmp_path, *arguments, stdout=writer, environ={"PYTHONUNBUFFERED": unbuffered})
    finally:
        os.close(writer)
    assert (code, complained) == (1, "")


@pytest.mark.skipif(not LINUX, reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["config"], ["config", "-o", "json"]])
def test_an_answer_that_cannot_be_written_is_complained_about(tmp_path: Path, arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        code, _, complained = ran(tmp_path, *arguments, stdout=full)
    assert (code, complained) == (1, "Error: The system refused: [Errno 28] No space left on device.\n")
