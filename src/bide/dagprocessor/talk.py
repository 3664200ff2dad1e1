"""The talk with one child that parses a file: it asks, one question after the other, and tells what is in the file."""

import asyncio
import socket

from bide.channel import Channel
from bide.hosting.file_reader import FileReader
from bide.model.framing import FrameError
from bide.model.messages import Answer, FromParser, Parsed
from bide.model.questions import ReadByFile


class Talk:
    """`parsed` is what was told; `refused` says why the child is not listened to any more."""

    def __init__(self, sock: socket.socket, reader: FileReader) -> None:
        self.parsed: Parsed | None = None
        self.refused = ""
        self._reader = reader
        self._answering: asyncio.Task[None] | None = None
        self.channel = Channel(sock, FromParser, self._heard, self._closed)

    def close(self) -> None:
        """Say no more."""
        if self._answering is not None:
            self._answering.cancel()
        self.channel.close()

    def _heard(self, message: Parsed | ReadByFile) -> None:
        if isinstance(message, Parsed):
            self.parsed = message
        elif self._answering is not None and not self._answering.done():
            self._closed("a question came before the last one was answered")
            self.channel.close()
        else:
            self._answering = asyncio.create_task(self._answer(message))

    def _closed(self, why: str) -> None:
        self.refused = why

    async def _answer(self, question: ReadByFile) -> None:
        answer = await self._reader.answer(question)
        try:
            self.channel.send(answer)
        except FrameError as error:
            self.channel.send(Answer(refused=f"The answer is too long: {error}"))
