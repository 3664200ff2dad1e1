"""A wire between a client and a server that a test can spoil."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit


class Wire:
    """Carries connections, until it is told to freeze them or to lose an answer."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._open: set[asyncio.StreamWriter] = set()
        self._frozen: set[asyncio.StreamWriter] = set()
        self._lose = False
        self.carried = 0
        self.answers = 0

    def freeze(self) -> None:
        """Carry nothing more on the connections that are open, and do not close them either; new ones work."""
        self._frozen |= self._open

    def lose_next_answer(self) -> None:
        """Cut the connection on which the server answers next, without the answer."""
        self._lose = True

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection until an end closes it."""
        self.carried += 1
        answers, asks = await asyncio.open_connection(*self._server)
        self._open |= {writer, asks}
        try:
            await asyncio.gather(self._pump(reader, asks, False), self._pump(answers, writer, True))
        except OSError:
            pass
        finally:
            self._open -= {writer, asks}
            writer.transport.abort()
            asks.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, is_answer: bool) -> None:
        while data := await source.read(65536):
            if sink in self._frozen:
                continue
            if is_answer and self._lose:
                self._lose = False
                break
            self.answers += is_answer
            sink.write(data)
            await sink.drain()
        if sink not in self._frozen:
            raise ConnectionResetError


@asynccontextmanager
async def wire(url: str) -> AsyncIterator[tuple[Wire, str]]:
    """Put a wire before a server; gives the wire and the address to use."""
    server = urlsplit(url)
    carrier = Wire(server.hostname or "127.0.0.1", server.port or 5432)
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(carrier.carry(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    user = server.netloc.rpartition("@")[0]
    try:
        yield carrier, urlunsplit(server._replace(netloc=f"{user}@127.0.0.1:{port}"))
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
