"""A wire to a server on which hints get lost, as behind a transaction pooler."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

HINT = b"A"


async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Carry everything."""
    while data := await source.read(65536):
        sink.write(data)
    sink.close()


async def carry_all_but_hints(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Carry what a server says, message by message."""
    try:
        while True:
            head = await source.readexactly(5)
            rest = await source.readexactly(int.from_bytes(head[1:], "big") - 4)
            if head[:1] != HINT:
                sink.write(head + rest)
    except asyncio.IncompleteReadError:
        sink.close()


@asynccontextmanager
async def deaf_wire(url: str) -> AsyncIterator[str]:
    """Put such a wire before a server, and give the address to use."""
    server = urlsplit(url)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asks = await asyncio.open_connection(server.hostname, server.port)
        await asyncio.gather(carry(reader, asks), carry_all_but_hints(answers, writer), return_exceptions=True)

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    user = server.netloc.rpartition("@")[0]
    async with listener:
        # Without encryption every word of the server is a message.
        yield urlunsplit(server._replace(netloc=f"{user}@127.0.0.1:{port}", query="sslmode=disable"))
