"""The talk with one child that parses: it asks, one question after the other, and tells what is in each file."""

import asyncio
import socket
import time
from contextlib import suppress

from bide.channel import Channel
from bide.hosting.file_reader import FileReader
from bide.model.framing import FrameError
from bide.model.messages import Answer, FromParser, Parsed
from bide.model.questions import ReadByFile


class Talk:
    """`parsed` is what was told, and when; `refused` says why the child is not listened to any more."""

    def __init__(self, sock: socket.socket, reader: FileReader | None) -> None:
        """Without a reader nothing is answered: whoever asks is not listened to any more."""
        self.parsed: list[tuple[Parsed, float]] = []
        self.refused = ""
        self._news = asyncio.Event()
        self._reader = reader
        self._answering: asyncio.Task[None] | None = None
        self.channel = Channel(sock, FromParser, self._heard, self._closed)

    def close(self) -> None:
        """Say no more."""
        if self._answering is not None:
            self._answering.cancel()
        self.channel.close()

    async def goes_on(self, within_sec: float) -> bool:
        """Wait for what is told next; false if that takes too long, or if nothing will be told any more."""
        self._news.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(within_sec):
                await self._news.wait()
        return self._news.is_set() and self.channel.is_open

    def _heard(self, message: Parsed | ReadByFile) -> None:
        if isinstance(message, Parsed):
            self.parsed.append((message, time.monotonic()))
            self._news.set()
        elif self._reader is None:
            self._closed("it asks for something")
            self.channel.close()
        elif self._answering is not None and not self._answering.done():
            self._closed("a question came before the last one was answered")
            self.channel.close()
        else:
            self._answering = asyncio.create_task(self._answer(self._reader, message))

    def _closed(self, why: str) -> None:
        self.refused = why
        self._news.set()

    async def _answer(self, reader: FileReader, question: ReadByFile) -> None:
        answer = await reader.answer(question)
        try:
            self.channel.send(answer)
        except FrameError as error:
            self.channel.send(Answer(refused=f"The answer is too long: {error}"))
