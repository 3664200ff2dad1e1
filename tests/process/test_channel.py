"""Messages and descriptors reach a child however slowly it reads, and what a child sends is heard whatever it is."""

import asyncio
import logging
import os
import socket
from typing import Any

import pytest

from bide.channel import Channel
from bide.children import channel as blocking
from bide.model.messages import Answer, Fork, FromChild, ToWarm
from bide.model.questions import GetVariable
from tests.process.eventually import eventually


class Ear:
    """What was heard, and why the channel was closed."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.closed: list[str] = []


def pair(ear: Ear) -> tuple[Channel, socket.socket]:
    ours, theirs = socket.socketpair()
    return Channel(ours, FromChild, ear.heard.append, ear.closed.append), theirs


async def test_many_messages_with_descriptors_come_in_their_order_to_a_slow_reader() -> None:
    ours, theirs = pair(Ear())
    number = 3000
    for count in range(number):
        reading, writing = os.pipe()
        os.write(writing, str(count).encode())
        os.close(writing)
        ours.send(Fork(count), [reading])
        os.close(reading)
        if count % 500 == 0:
            # Between them what is too long for any buffer.
            ours.send(Fork(-1, legs=10**9))
    assert isinstance(theirs, socket.socket)

    def read() -> list[tuple[int, str]]:
        child, found = blocking.Channel(theirs, ToWarm), list[tuple[int, str]]()
        while len(found) < number:
            message = child.receive()
            assert message
            if message.number >= 0:
                descriptor = child.descriptors.popleft()
                found.append((message.number, os.read(descriptor, 10).decode()))
                os.close(descriptor)
        return found

    found = await asyncio.to_thread(read)
    assert found == [(count, str(count)) for count in range(number)]
    ours.close()
    theirs.close()


async def test_a_long_message_does_not_wait_for_its_reader() -> None:
    ear = Ear()
    ours, theirs = pair(ear)
    ours.send(Answer("x" * 10_000_000))
    ours.send(Answer("y"))
    child = blocking.Channel(theirs, Answer)
    first = await asyncio.to_thread(child.receive)
    second = await asyncio.to_thread(child.receive)
    assert first
    assert second
    assert (len(first.value), second.value) == (10_000_000, "y")
    child.send(GetVariable("k"))
    await eventually(lambda: ear.heard == [GetVariable("k")])
    ours.close()
    assert await asyncio.to_thread(child.receive) is None
    child.close()


async def test_the_end_of_the_other_side_is_told_once() -> None:
    ear = Ear()
    ours, theirs = pair(ear)
    theirs.close()
    await eventually(lambda: ear.closed == [""])
    ours.send(Answer(1))
    ours.close()
    assert ear.closed == [""]


async def test_what_is_no_message_closes_the_channel() -> None:
    ear = Ear()
    ours, theirs = pair(ear)
    theirs.send(b"\0\0\0\5hello")
    await eventually(lambda: len(ear.closed) == 1)
    assert "no message that was expected" in ear.closed[0]
    assert not ours.is_open
    theirs.close()


async def test_a_message_that_somebody_stumbles_over_does_not_hide_the_next(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Any] = []

    def stumble(message: Any) -> None:
        heard.append(message)
        if len(heard) == 1:
            raise ValueError("stumbled")

    ours, theirs = socket.socketpair()
    channel = Channel(ours, FromChild, stumble, lambda why: None)
    child = blocking.Channel(theirs, Answer)
    with caplog.at_level(logging.ERROR):
        child.send(GetVariable("one"))
        child.send(GetVariable("two"))
        await eventually(lambda: heard == [GetVariable("one"), GetVariable("two")])
    assert "stumbled" in caplog.text
    channel.close()
    child.close()


def test_a_child_does_not_write_into_what_took_the_place_of_its_socket() -> None:
    ours, theirs = socket.socketpair()
    child = blocking.Channel(theirs, Answer)
    elsewhere, reader = socket.socketpair()
    os.dup2(elsewhere.fileno(), theirs.fileno())
    with pytest.raises(OSError, match="was closed"):
        child.send(GetVariable("k"))
    reader.setblocking(False)
    with pytest.raises(BlockingIOError):
        reader.recv(1)
    for sock in (ours, theirs, elsewhere, reader):
        sock.close()
