"""Which file is parsed next, and which again."""

import pytest

from bide.dagprocessor.book import OTHERS_PAUSE_SEC, Book
from bide.dagprocessor.finding import Found, Stamp

ONE, TWO, THREE = Stamp(10**18, 1, 1), Stamp(2 * 10**18, 1, 1), Stamp(3 * 10**18, 1, 1)
LATER = OTHERS_PAUSE_SEC * 2
NONE: frozenset[str] = frozenset()


def look(book: Book, others: dict[str, Stamp | None] | None = None, now: float = 0.0, **files: Stamp) -> list[str]:
    return book.looked(Found(files, NONE), others or {}, now)


def parse_next(book: Book, stamp: Stamp = ONE, now: float = 0.0) -> str | None:
    file = book.first()
    return book.begin(lambda _: stamp, now).path if file else None


def parse_all(book: Book, stamp: Stamp = ONE, others: dict[str, Stamp | None] | None = None) -> list[str]:
    paths = []
    while path := parse_next(book, stamp):
        paths.append(path)
        book.end(path, others or {}, THREE.mtime_ns, 0.1)
    return paths


def test_new_and_changed_files_are_parsed_once() -> None:
    book = Book({})
    look(book, a=ONE, b=ONE)
    look(book, a=ONE, b=ONE)
    assert parse_all(book) == ["a", "b"]
    look(book, a=ONE, b=TWO)
    assert parse_all(book, TWO) == ["b"]
    look(book, a=ONE, b=TWO)
    assert parse_all(book) == []


def test_the_slow_ones_come_last_and_what_was_saved_just_now_first() -> None:
    book = Book({"a": 9.0, "b": 1.0})
    look(book, a=ONE, b=ONE, c=ONE)
    look(book, a=ONE, b=ONE, c=ONE, d=ONE)
    assert parse_all(book) == ["d", "c", "b", "a"]


def test_files_that_are_gone_are_told_also_those_that_only_the_database_knows() -> None:
    book = Book({"old": 1.0, "a": 1.0})
    assert look(book, a=ONE, b=ONE) == ["old"]
    assert look(book, a=ONE, b=ONE) == ["old"]
    book.forgotten(["old"])
    assert look(book, b=ONE) == ["a"]
    book.forgotten(["a"])
    assert look(book, b=ONE) == []
    assert parse_all(book) == ["b"]


def test_files_in_folders_that_cannot_be_looked_into_are_not_gone() -> None:
    book = Book({"x/a": 1.0, "y/a": 1.0, "xy/a": 1.0})
    assert book.looked(Found({}, frozenset({"x"})), {}, 0.0) == ["xy/a", "y/a"]
    assert book.looked(Found({}, frozenset({""})), {}, 0.0) == []


def test_a_file_that_changes_while_it_is_parsed_is_parsed_again() -> None:
    book = Book({})
    look(book, a=ONE)
    assert parse_next(book) == "a"
    look(book, a=TWO)
    assert book.first() is None
    book.end("a", {}, THREE.mtime_ns, 0.1)
    assert parse_next(book, TWO) == "a"


def test_a_file_follows_what_it_reads_but_not_too_often() -> None:
    book = Book({})
    look(book, a=ONE, b=ONE)
    assert parse_all(book, others={"/data": ONE}) == ["a", "b"]
    assert book.others() == {"/data"}
    look(book, {"/data": ONE}, now=LATER, a=ONE, b=ONE)
    assert book.first() is None
    look(book, {"/data": TWO}, now=OTHERS_PAUSE_SEC / 2, a=ONE, b=ONE)
    assert book.first() is None
    assert book.is_held_back({"/data": TWO}, OTHERS_PAUSE_SEC / 2)
    assert not book.is_held_back({"/data": TWO}, LATER)
    look(book, {"/data": TWO}, now=LATER, a=ONE, b=ONE)
    assert parse_all(book, others={"/data": TWO}) == ["a", "b"]
    look(book, {"/data": None}, now=2 * LATER, a=ONE, b=ONE)
    assert parse_all(book, others={"/data": None}) == ["a", "b"]


@pytest.mark.parametrize(
    ("known", "now", "again"),
    [
        ({}, ONE, False),  # older than the beginning
        ({}, THREE, True),  # younger: perhaps read before it changed
        ({"/data": THREE}, THREE, False),  # the same as ever, however far ahead that clock is
        ({"/data": TWO}, THREE, True),
        ({"/data": TWO}, None, False),
    ],
)
def test_what_changed_since_the_beginning_is_looked_at_once_more(
    known: dict[str, Stamp | None], now: Stamp | None, again: bool
) -> None:
    book = Book({})
    look(book, a=ONE)
    parse_all(book, others=known)
    book.wants("a")
    parse_next(book)
    assert book.end("a", {"/data": now}, TWO.mtime_ns + 10**9, 0.1) is again
    look(book, {"/data": now}, now=LATER, a=ONE)
    assert (book.first() is not None) is again


def test_a_file_that_was_lost_is_parsed_again_and_is_suspect_if_it_had_begun() -> None:
    book = Book({})
    look(book, a=ONE, b=ONE, c=ONE)
    for path in ("a", "b"):
        assert parse_next(book) == path
    book.lost("a", suspect=True)
    book.lost("b", suspect=False)
    assert parse_all(book) == ["c", "b", "a"]
    look(book, a=ONE)
    book.lost("a", suspect=True)
    first = book.first()
    assert first
    assert first.suspect
    parse_all(book)
    book.wants("a")
    again = book.first()
    assert again
    assert not again.suspect


def test_nobody_minds_what_is_said_of_files_that_are_gone() -> None:
    book = Book({})
    look(book, a=ONE, b=ONE)
    assert parse_next(book) == "a"
    look(book)
    book.wants("a")
    book.lost("a", suspect=True)
    assert not book.end("a", {}, 0, 0.1)
    assert "a" not in book
    assert book.first() is None


def look_at(book: Book, files: dict[str, Stamp]) -> None:
    book.looked(Found(files, NONE), {}, 0.0)


def together(book: Book, most: int = 5) -> list[str]:
    return [file.path for file in book.begin_together(most, lambda _: ONE, 0.0)] if book.first() else []


def test_of_very_many_several_are_parsed_together() -> None:
    book = Book({})
    look_at(book, {f"f{number}": ONE for number in range(24)})
    assert [len(together(book)) for _ in range(8)] == [5, 4, 3, 3, 2, 1, 1, 1]


def test_what_takes_long_or_is_waited_for_is_parsed_by_itself() -> None:
    book = Book({"slow": 3.0})
    many: dict[str, Stamp] = {f"f{number}": ONE for number in range(40)}
    look_at(book, {"slow": ONE, **many})
    look_at(book, {"slow": ONE, **many, "f30": TWO, "new": ONE})
    assert [together(book), together(book)] == [["f30"], ["new"]]
    left = [together(book) for _ in range(40)]
    assert [paths for paths in left if "slow" in paths] == [["slow"]]
    assert sorted(path for paths in left for path in paths) == sorted({*many, "slow"} - {"f30"})


def test_what_was_left_over_is_parsed_again_and_what_was_wrong_by_itself() -> None:
    book = Book({})
    look_at(book, {f"f{number}": ONE for number in range(30)})
    first = together(book)
    book.end(first[0], {}, THREE.mtime_ns, 0.1)
    book.left_over(first[1:])
    rest = [together(book) for _ in range(20)]
    assert [first[1]] in rest
    assert sorted(path for paths in rest for path in paths) == sorted(
        {f"f{number}" for number in range(30)} - {first[0]}
    )
