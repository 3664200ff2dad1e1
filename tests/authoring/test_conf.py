"""What an author's code may ask of the settings, and how its process is told."""

import pytest

from bide import conf
from bide.errors import PlanError
from bide.process.spawn import environment
from bide.settings.declared import Operators

VARIABLE = "BIDE_OPERATORS__DEFAULT_DEFERRABLE"


def test_children_are_told_the_settings_for_operators_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = environment({"BIDE_DATABASE__URL": "secret", VARIABLE: "no", "HOME": "/"}, (), Operators(True))
    assert seen == {"HOME": "/", VARIABLE: "true"}
    monkeypatch.setenv(VARIABLE, seen[VARIABLE])
    assert conf.getboolean("operators", "default_deferrable") is True
    assert conf.getboolean("operators", "DEFAULT_DEFERRABLE", fallback=False) is True


def test_without_a_word_the_default_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert conf.getboolean("operators", "default_deferrable", fallback=True) is False


def test_other_settings_are_nobody_s_business() -> None:
    assert conf.getint("core", "parallelism", fallback=3) == 3
    assert conf.get("database", "url", fallback=None) is None
    with pytest.raises(PlanError, match=r"database.url is none of them"):
        conf.get("database", "url")


def test_a_setting_that_is_no_such_thing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "perhaps")
    with pytest.raises(PlanError, match="is 'perhaps', which is not what is asked for"):
        conf.getboolean("operators", "default_deferrable")
