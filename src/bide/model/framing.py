"""Messages as bytes on a stream: four bytes that say how long it is, then the message as MessagePack.

Both ends of every socket between a service and its children use this. The length is looked at before anything is kept
or decoded: a child runs a user's code, and what it sends may be anything.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import msgspec

LONGEST_FRAME = 64 * 2**20
"""Bytes of one message. A single value of a user may have a megabyte, and a message a few dozen of them."""

HEAD = 4

_encoder = msgspec.msgpack.Encoder()


class FrameError(ValueError):
    """What came over the socket is no message."""


def framed(message: object) -> bytes:
    """Write a message as a frame."""
    frame = bytearray(HEAD)
    _encoder.encode_into(message, frame, HEAD)
    length = len(frame) - HEAD
    if length > LONGEST_FRAME:
        raise FrameError(f"A message of {length:,} bytes is too long; at most {LONGEST_FRAME:,} are sent.")
    frame[:HEAD] = length.to_bytes(HEAD)
    return bytes(frame)


def send_all(send: Callable[[Any], None], kind: Callable[[tuple[Any, ...]], Any], items: Sequence[Any]) -> None:
    """Send messages of a kind that hold these items, in as few messages as they fit in. ValueError if one does not."""
    try:
        send(kind(tuple(items)))
    except (FrameError, UnicodeError):
        half = len(items) // 2
        if not half:
            raise
        send_all(send, kind, items[:half])
        send_all(send, kind, items[half:])


class Frames:
    """Puts what comes from a stream together again: bytes in any pieces go in, messages come out."""

    def __init__(self, kind: Any) -> None:
        """`kind` is the union of the messages that may come."""
        self._decoder = _decoder(kind)
        self._pending = bytearray()

    def feed(self, data: bytes) -> Iterator[Any]:
        """Yield the messages that are complete now; raises FrameError for what is none."""
        self._pending += data
        pending, at = self._pending, 0
        try:
            while len(pending) - at >= HEAD:
                length = int.from_bytes(pending[at : at + HEAD])
                if length > LONGEST_FRAME:
                    raise FrameError(f"It announces {length:,} bytes; at most {LONGEST_FRAME:,} are read.")
                if len(pending) - at - HEAD < length:
                    break
                start = at + HEAD
                at = start + length
                yield self._message(bytes(pending[start:at]))
        finally:
            del pending[:at]

    def _message(self, payload: bytes) -> Any:
        try:
            return self._decoder.decode(payload)
        except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError) as error:
            raise FrameError(f"It is no message that was expected: {error}.") from None


@cache
def _decoder(kind: Any) -> "msgspec.msgpack.Decoder[Any]":
    # Making one takes longer than reading a hundred messages.
    return msgspec.msgpack.Decoder(kind)
