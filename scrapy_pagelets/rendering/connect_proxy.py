"""A proxy that resolves the names that a browser's driver connects to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

from scrapy_pagelets.base.ip_addresses import is_private

#: From a host name to the addresses that it may be reached at.
Resolve = Callable[[str], Awaitable[list[str]]]


class ConnectProxy:
    """Open tunnels (HTTP ``CONNECT``), so that Playwright's driver does not look up names without a check of its own.

    Attributes
    ----------
    url : the address of the proxy, on loopback
    """

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._server: asyncio.Server | None = None
        self.url = "http://{}:{}".format(*self._socket.getsockname())

    async def start(self) -> None:
        """Accept connections."""
        self._server = await asyncio.start_server(self._tunnel, sock=self._socket)

    def close(self) -> None:
        """Accept no more connections."""
        if self._server is not None:
            self._server.close()
        self._socket.close()

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            host, _, port = head.split()[1].decode("ascii").rpartition(":")
            there = await self._connected(host.strip("[]"), int(port))
        except (OSError, ValueError, IndexError, EOFError, asyncio.LimitOverrunError):
            writer.close()  # the driver reports that the connection has failed
            return
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))

    async def _connected(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        error = OSError(f"{host} has no permitted address")
        for address in [host] if is_private(host) is not None else await self._resolve(host):
            try:
                return await asyncio.open_connection(address, port)
            except OSError as failed:
                error = failed
        raise error


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what one side sends until it ends; then nobody needs the other side any more."""
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # a side has gone away
    finally:
        writer.close()
