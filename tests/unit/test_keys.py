"""The key that is kept: made once, for its owner, and never exchanged for another one."""

import threading
from pathlib import Path

import pytest

from bide import keys
from bide.errors import SealingError
from bide.sealing import generate_key, variable
from bide.settings import Settings, load


def settings(folder: Path, **overrides: str) -> Settings:
    given = {name.replace("__", "."): value for name, value in overrides.items()}
    return load(directory=folder, environ={}, overrides=given)


def test_keys_that_were_set_are_used_and_none_is_made(tmp_path: Path) -> None:
    first, second = generate_key(), generate_key()
    assert keys.keys(settings(tmp_path, security__keys=f"{first},{second}")) == (first, second)
    assert list(tmp_path.iterdir()) == []


def test_the_first_need_makes_a_key_and_later_ones_find_it(tmp_path: Path) -> None:
    sealed = keys.sealer(settings(tmp_path)).seal("text", variable("a"))
    assert keys.sealer(settings(tmp_path)).open(sealed, variable("a")) == "text"
    assert [path.name for path in (tmp_path / ".bide").iterdir()] == ["key"]
    assert keys.place(settings(tmp_path)).stat().st_mode & 0o777 == 0o600


def test_all_who_need_one_at_the_same_time_get_the_same(tmp_path: Path) -> None:
    found: list[tuple[str, ...]] = []
    start = threading.Barrier(8)

    def need() -> None:
        start.wait()
        found.append(keys.keys(settings(tmp_path)))

    threads = [threading.Thread(target=need) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert len(found) == 8
    assert [path.name for path in (tmp_path / ".bide").iterdir()] == ["key"]


@pytest.mark.parametrize("content", [b"", b"damaged", b"\xff\xfe", b"x" * 44])
def test_a_damaged_key_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = keys.place(settings(tmp_path))
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(SealingError, match="holds no key") as refusal:
        keys.keys(settings(tmp_path))
    assert "damaged or written" in str(refusal.value)
    assert path.read_bytes() == content


def test_a_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / ".bide").touch()
    with pytest.raises(SealingError, match="cannot be used: "):
        keys.keys(settings(tmp_path))
