"""What counts as a DAG file, and what is left out."""

import os
from pathlib import Path

import pytest

from bide.dagprocessor.finding import MOST_NESTED, Finder, NoFolder, stamp_of

TEXT = "from bide import DAG"


def write(root: Path, path: str, text: str = TEXT) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def found(root: Path) -> list[str]:
    return list(Finder(root).look().files)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("import bide\nbide.DAG('x')", True),
        ("from Bide import dag", True),
        ("from bide import task", False),
        ("a dag of somebody else's", False),
        ("", False),
        ("x" * (10 * 2**20 + 1), True),
    ],
)
def test_a_file_counts_if_it_mentions_both_words(tmp_path: Path, text: str, counts: bool) -> None:
    write(tmp_path, "a.py", text)
    assert found(tmp_path) == (["a.py"] if counts else [])


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ("", ["a.py", "b/a.py", "b/c/d.py", "e.py"]),
        ("# a.py\n\n  \n", ["a.py", "b/a.py", "b/c/d.py", "e.py"]),
        ("a.py", ["b/c/d.py", "e.py"]),
        ("/a.py", ["b/a.py", "b/c/d.py", "e.py"]),
        ("b/a.py", ["a.py", "b/c/d.py", "e.py"]),
        ("b", ["a.py", "e.py"]),
        ("c/\nc", ["a.py", "b/a.py", "e.py"]),
        ("e.py/", ["a.py", "b/a.py", "b/c/d.py", "e.py"]),
        ("b/*", ["a.py", "e.py"]),
        ("[ae].py", ["b/c/d.py"]),
        ("*", []),
        ("A.py", ["a.py", "b/a.py", "b/c/d.py", "e.py"]),
    ],
)
def test_what_an_ignore_file_names_is_left_out(tmp_path: Path, lines: str, left: list[str]) -> None:
    for path in ("a.py", "b/a.py", "b/c/d.py", "e.py"):
        write(tmp_path, path)
    write(tmp_path, ".bideignore", lines)
    assert found(tmp_path) == left


def test_an_ignore_file_speaks_of_what_lies_below_it(tmp_path: Path) -> None:
    for path in ("a.py", "b/a.py", "b/c/a.py", "b/c/d.py"):
        write(tmp_path, path)
    write(tmp_path, "b/.bideignore", "/a.py\nc/d.py")
    assert found(tmp_path) == ["a.py", "b/c/a.py"]


def test_links_are_followed_and_circles_end(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    write(root, "a/one.py")
    write(outside, "two.py")
    (root / "b").symlink_to(outside)
    (root / "c").symlink_to(root / "a")
    (root / "a/up").symlink_to(root)
    (root / "three.py").symlink_to(outside / "two.py")
    assert found(root) == ["a/one.py", "b/two.py", "three.py"]


def test_nothing_is_nested_without_end(tmp_path: Path) -> None:
    write(tmp_path, "/".join(["d"] * MOST_NESTED) + "/a.py")
    write(tmp_path, "/".join(["d"] * (MOST_NESTED + 2)) + "/b.py")
    assert [path.rpartition("/")[2] for path in found(tmp_path)] == ["a.py"]


def test_a_change_shows_in_the_stamp(tmp_path: Path) -> None:
    file, finder = write(tmp_path, "a.py"), Finder(tmp_path)
    first = finder.look().files["a.py"]
    assert finder.look().files["a.py"] == first == stamp_of(str(file))
    os.utime(file, ns=(1, 1))
    assert finder.look().files["a.py"] != first
    # Another file of the same size and date.
    second = finder.look().files["a.py"]
    os.utime(write(tmp_path, "new"), ns=(1, 1))
    (tmp_path / "new").rename(file)
    assert finder.look().files["a.py"] != second


def test_the_words_are_looked_for_again_when_a_file_has_changed(tmp_path: Path) -> None:
    finder = Finder(tmp_path)
    write(tmp_path, "a.py")
    assert list(finder.look().files) == ["a.py"]
    write(tmp_path, "a.py", "nothing of that kind")
    assert list(finder.look().files) == []


def test_a_folder_that_is_not_there_is_an_error_and_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(NoFolder, match="is not there, so its DAGs stay as they are: create it"):
        Finder(tmp_path / "nowhere").look()
    with pytest.raises(NoFolder):
        Finder(write(tmp_path, "a.py")).look()


def test_a_folder_that_cannot_be_looked_into_is_told(tmp_path: Path) -> None:
    write(tmp_path, "a.py")
    # Not even root may list what is not there any more.
    (tmp_path / "b").mkdir()
    (tmp_path / "b/.bideignore").mkdir()
    look = Finder(tmp_path).look()
    assert (list(look.files), look.closed) == (["a.py"], frozenset({"b"}))
