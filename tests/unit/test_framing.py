"""Messages cross a stream in any pieces, and what is no message is refused before it costs anything."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.model.framing import HEAD, LONGEST_FRAME, FrameError, Frames, framed
from bide.model.messages import Answer, Ended, FromChild, ToChild
from bide.model.outcome import Failed, Skipped, Succeeded
from bide.model.questions import GetVariable, PutXCom

messages = st.one_of(
    st.builds(GetVariable, st.text()),
    st.builds(PutXCom, key=st.text(), value=st.text()),
    st.builds(Ended, st.builds(Failed, st.text()) | st.builds(Skipped, st.text()) | st.just(Succeeded({"k": "1"}))),
)


@given(st.lists(messages), st.lists(st.integers(1, 9)))
def test_messages_come_out_as_they_went_in_whatever_the_pieces(sent: list[object], sizes: list[int]) -> None:
    stream, frames, heard = b"".join(map(framed, sent)), Frames(FromChild), list[object]()
    for size in sizes:
        heard += frames.feed(stream[:size])
        stream = stream[size:]
    heard += frames.feed(stream)
    assert heard == sent


@pytest.mark.parametrize(
    "stream",
    [
        framed(Answer(1)),
        (5).to_bytes(HEAD) + b"hello",
        (0).to_bytes(HEAD),
        (6).to_bytes(HEAD) + msgspec.msgpack.encode("\ud800hello"[1:]),
        (1000).to_bytes(HEAD) + b"\x91" * 1000,
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_message_is_refused(stream: bytes) -> None:
    with pytest.raises(FrameError):
        list(Frames(FromChild).feed(stream))


def test_a_length_that_is_too_great_is_refused_before_its_bytes_come() -> None:
    with pytest.raises(FrameError, match="at most"):
        list(Frames(FromChild).feed((LONGEST_FRAME + 1).to_bytes(HEAD)))


def test_a_message_that_is_too_long_is_not_sent() -> None:
    with pytest.raises(FrameError, match="is too long"):
        framed(Answer("x" * LONGEST_FRAME))


def test_a_message_before_one_that_is_none_is_heard() -> None:
    frames = Frames(ToChild).feed(framed(Answer(1)) + b"\0\0\0\1\xc1")
    assert next(frames) == Answer(1)
    with pytest.raises(FrameError):
        next(frames)
