"""What was sealed opens unchanged, in its place, with its key; anything else is refused and tells nothing."""

import base64
from collections.abc import Callable

import pytest
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st

from bide import sealing
from bide.errors import SealedElsewhere, SealingError, UnknownKey
from bide.sealing import Place, Sealer, generate_key

OLD, NEW, OTHER = (generate_key() for _ in range(3))
SEALER = Sealer([NEW, OLD])
HERE = sealing.wait(7, "package.Trigger")
TEXT = '{"password":"hush"}'
TOKEN = SEALER.seal(TEXT, HERE)
RAW = base64.urlsafe_b64decode(TOKEN)
PARTS = {  # the parts of a Fernet token, by their bytes
    "version": range(1),
    "date": range(1, 9),
    "initial vector": range(9, 25),
    "content": range(25, len(RAW) - 32),
    "signature": range(len(RAW) - 32, len(RAW)),
}


def refused(token: str, place: Place = HERE, sealer: Sealer = SEALER) -> SealingError:
    with pytest.raises(SealingError) as refusal:
        sealer.open(token, place)
    said = str(refusal.value)
    assert not any(secret in said for secret in ("hush", token[:20].ljust(20), NEW, OLD))
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None
    return refusal.value


@given(st.text(st.characters(codec=None, exclude_categories=())), st.lists(st.text(), max_size=3).map(tuple))
def test_every_text_comes_back_from_every_place(text: str, place: Place) -> None:
    assert SEALER.open(SEALER.seal(text, place), place) == text


def test_a_token_shows_nothing_and_is_another_one_each_time() -> None:
    assert "hush" not in TOKEN
    assert b"hush" not in RAW
    assert SEALER.seal(TEXT, HERE) != TOKEN


PLACES = [
    HERE,
    sealing.wait(8, "package.Trigger"),  # another row
    sealing.wait(7, "package.Other"),  # another class
    sealing.wait(7, ""),
    sealing.wait(77, "package.Trigger"),
    sealing.connection("7"),
    sealing.connection("8"),
    sealing.connection("wait"),
    sealing.variable("7"),  # the same name, but a variable
    sealing.variable("8"),
    ("wait", "7package.Trigger"),  # the same letters, parted elsewhere
    ("wait7", "package.Trigger"),
    (),
]


@pytest.mark.parametrize("sealed_for", PLACES)
def test_a_token_opens_in_its_own_place_and_in_no_other(sealed_for: Place) -> None:
    token = SEALER.seal(TEXT, sealed_for)
    for place in PLACES:
        if place == sealed_for:
            assert SEALER.open(token, place) == TEXT
        else:
            refusal = refused(token, place)
            assert isinstance(refusal, SealedElsewhere)
            assert "sealed for another place" in str(refusal)


def test_a_token_that_was_made_without_a_place_opens_nowhere() -> None:
    for text in (TEXT, ""):
        assert isinstance(refused(Fernet(NEW).encrypt(text.encode()).decode()), SealedElsewhere)


@pytest.mark.parametrize("part", PARTS)
def test_every_flipped_bit_is_noticed(part: str) -> None:
    for position in PARTS[part]:
        for bit in range(8):
            changed = bytearray(RAW)
            changed[position] ^= 1 << bit
            assert isinstance(refused(base64.urlsafe_b64encode(changed).decode()), UnknownKey)


def test_every_changed_letter_is_noticed_even_where_it_means_the_same_bytes() -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    assert TOKEN.endswith("=")
    last = len(TOKEN.rstrip("=")) - 1
    twins = [TOKEN[:last] + letter + TOKEN[last + 1 :] for letter in letters if letter != TOKEN[last]]
    assert any(base64.urlsafe_b64decode(twin) == RAW for twin in twins)
    for changed in (*twins, TOKEN + "=", TOKEN.rstrip("="), TOKEN + "\n", " " + TOKEN, TOKEN[:50] + "\n" + TOKEN[50:]):
        assert isinstance(refused(changed), UnknownKey)


@pytest.mark.parametrize("token", ["", "=", "A", "hello", "é", "\0", "\ud800", '{"plain":"text"}', "gAAAAA=="])
def test_what_is_no_token_is_refused(token: str) -> None:
    assert isinstance(refused(token), UnknownKey)


def test_a_token_that_was_cut_or_grew_is_refused_at_every_length() -> None:
    for length in range(len(RAW)):
        refused(base64.urlsafe_b64encode(RAW[:length]).decode())
        refused(TOKEN[:length])
    for more in (b"\0", RAW):
        refused(base64.urlsafe_b64encode(RAW + more).decode())


def test_pieces_of_two_tokens_make_no_third() -> None:
    other = base64.urlsafe_b64decode(SEALER.seal(TEXT, sealing.wait(8, "package.Trigger")))
    for part in PARTS.values():
        mixed = RAW[: part.start] + other[part.start : part.stop] + RAW[part.stop :]
        if mixed not in (RAW, other):
            assert isinstance(refused(base64.urlsafe_b64encode(mixed).decode()), UnknownKey)


def test_a_wrong_key_is_told_from_a_moved_token_and_the_right_one_opens_later() -> None:
    assert "The only key does not open" in str(refused(TOKEN, sealer=Sealer([OTHER])))
    assert "None of 2 keys opens" in str(refused(TOKEN, sealer=Sealer([OTHER, OLD])))
    assert isinstance(refused(TOKEN, sealer=Sealer([OTHER])), UnknownKey)
    assert Sealer([OTHER, NEW]).open(TOKEN, HERE) == TEXT


@pytest.mark.parametrize(
    "use",
    [
        lambda sealer: sealer.seal(TEXT, HERE),
        lambda sealer: sealer.open(TOKEN, HERE),
        lambda sealer: sealer.renewed(TOKEN),
    ],
    ids=["seal", "open", "renewed"],
)
def test_without_a_key_nothing_is_sealed_or_opened(use: Callable[[Sealer], object]) -> None:
    with pytest.raises(UnknownKey, match=r"There is no key to seal or to open with; set security\.keys"):
        use(Sealer([]))


@pytest.mark.parametrize(
    "key",
    ["", "hush", OLD[:-1], OLD.replace(OLD[3], "é"), OLD[:-2] + "=="],
    ids=["empty", "short", "cut", "no base64", "31 bytes"],
)
def test_what_is_no_key_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(SealingError, match="A key is no Fernet key") as refusal:
        Sealer([NEW, key])
    assert refusal.value.__suppress_context__
    assert key == "" or key not in str(refusal.value)


def test_the_first_key_seals_and_every_key_opens() -> None:
    assert Sealer([NEW]).open(TOKEN, HERE) == TEXT
    refused(TOKEN, sealer=Sealer([OLD]))
    assert SEALER.open(Sealer([OLD]).seal(TEXT, HERE), HERE) == TEXT


def test_keys_are_changed_while_everything_stays_readable() -> None:
    before = Sealer([OLD]).seal(TEXT, HERE)
    renewed = SEALER.renewed(before)
    assert renewed
    assert Sealer([NEW]).open(renewed, HERE) == TEXT
    assert isinstance(refused(renewed, sealer=Sealer([OLD])), UnknownKey)
    # The place was sealed along with the text, so it stays.
    assert isinstance(refused(renewed, sealing.wait(8, "package.Trigger")), SealedElsewhere)
    assert SEALER.renewed(renewed) is None


@pytest.mark.parametrize(
    "token",
    [Sealer([OTHER]).seal(TEXT, HERE), TOKEN[:-1], TOKEN + "\n", ""],
    ids=["other key", "cut", "another spelling", "empty"],
)
def test_what_no_key_opens_is_not_renewed(token: str) -> None:
    with pytest.raises(UnknownKey) as refusal:
        SEALER.renewed(token)
    assert refusal.value.__suppress_context__
