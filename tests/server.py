"""A web server on loopback, for tests and for the demonstration.

It serves a folder, writes down every path that is asked for, and answers some paths as a test wants them answered:

>>> from http.client import HTTPConnection
>>> with SiteServer(routes={"/old": lambda path: (301, {"Location": "/new"}, b"")}) as server:
...     connection = HTTPConnection(server.host, server.port)
...     connection.request("GET", "/old")
...     reply = connection.getresponse()
...     reply.status, reply.getheader("Location"), server.hits
(301, '/new', ['/old'])
>>> connection.close()

As a program it serves a folder as long as a command runs, and returns the command's exit code::

    python tests/server.py FOLDER -- scrapy crawl site -a url={url} -O feed.jsonl
"""

from __future__ import annotations

import select
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, NamedTuple, Self


class Reply(NamedTuple):
    """What a route answers. A plain tuple of the same shape, with or without the delay, does as well."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes = b""
    #: Seconds to wait before the answer, or an event to wait for.
    delay: float | Event = 0.0


#: From the path that was asked for, with its query, to the answer.
Route = Callable[[str], tuple[int, Mapping[str, str], bytes] | tuple[int, Mapping[str, str], bytes, float | Event]]


def html(body: str | bytes, *, charset: str = "utf-8", status: int = 200, **headers: str) -> Reply:
    """Return the reply that carries a page; the charset is not declared unless the page or a header does so."""
    content = body.encode(charset) if isinstance(body, str) else body
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, {"Content-Type": "text/html"} | named, content)


def redirect(location: str, status: int = 302) -> Reply:
    """Return the reply that sends the client elsewhere."""
    return Reply(status, {"Location": location})


class SiteServer:
    """Serve a folder and some routes on a free port of loopback, each request in a thread of its own.

    Parameters
    ----------
    folder : path, optional
        Its files are served, ``index.html`` for a folder. Without it only the routes answer, everything else is a 404.
    routes : mapping, optional
        Functions by path. They go before the files. A key holds a path with its query, a path for whatever query, or
        the beginning of paths with ``*`` at its end; they are tried in this order, the longest beginning first.
    host : str
        An address of this machine.

    Attributes
    ----------
    hits : list of str
        Every path that was asked for, with its query, in the order of arrival. ``/robots.txt`` counts too.
    requests : list of tuple
        The path and the headers of every request, in the order of arrival.
    headers : dict
        Those of the last request for each path.
    routes : dict
        May be changed while the server runs.

    """

    def __init__(
        self,
        folder: str | Path | None = None,
        routes: Mapping[str, Route] | None = None,
        *,
        host: str = "127.0.0.1",
    ) -> None:
        self.host = host
        self.folder = None if folder is None else Path(folder).resolve()
        if self.folder is not None and not self.folder.is_dir():
            raise NotADirectoryError(f"{folder} is not a folder that could be served")
        self.routes: dict[str, Route] = dict(routes or {})
        self.hits: list[str] = []
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.headers: dict[str, dict[str, str]] = {}
        self.closing = Event()
        self._http = _Server((self.host, 0), _Handler, self)
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    def url(self, path: str = "/") -> str:
        """Return the absolute URL of a path."""
        return f"http://{self.host}:{self.port}/{path.removeprefix('/')}"

    def route(self, path: str) -> Route | None:
        """Return the function that answers a path, if there is one."""
        beginnings = [key for key in self.routes if key.endswith("*") and path.startswith(key[:-1])]
        keys = [path, path.partition("?")[0], *sorted(beginnings, key=len, reverse=True)]
        return next((self.routes[key] for key in keys if key in self.routes), None)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class PacketServer:
    """Listen on one port of loopback for datagrams and connections, and keep what arrives in ``packets``."""

    def __init__(self) -> None:
        self.packets: list[str] = []
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(self._tcp.getsockname())
        self.address = "{}:{}".format(*self._tcp.getsockname())
        self._ended, self._end = socket.socketpair()
        self._thread = Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.close()
        self._thread.join()
        for listening in (self._tcp, self._udp, self._ended):
            listening.close()

    def _listen(self) -> None:
        while self._ended not in (ready := select.select([self._ended, self._tcp, self._udp], [], [])[0]):
            if self._udp in ready:
                self.packets.append(f"UDP {self._udp.recv(20)!r}")
            if self._tcp in ready:
                connection, _ = self._tcp.accept()
                self.packets.append("TCP")
                connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # the default of 5 turns a burst of connections into resets

    def __init__(self, address: tuple[str, int], handler: type[_Handler], site: SiteServer) -> None:
        self.site = site
        super().__init__(address, handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away, as crawlers do at their end, is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes: 40 ms between them on a kept connection
    server: _Server

    def send_head(self) -> BytesIO | Any:
        """Both GET and HEAD come through here."""
        site = self.server.site
        site.hits.append(self.path)
        site.headers[self.path] = dict(self.headers)
        site.requests.append((self.path, site.headers[self.path]))
        if (route := site.route(self.path)) is not None:
            return self._send(Reply(*route(self.path)))
        if site.folder is None:
            self.send_error(404)
            return None
        self.directory = str(site.folder)
        return super().send_head()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def _send(self, reply: Reply) -> BytesIO:
        closing = self.server.site.closing
        if isinstance(reply.delay, Event):
            while not (reply.delay.wait(0.02) or closing.is_set()):
                pass
        elif reply.delay:
            closing.wait(reply.delay)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if not any(name.lower() == "content-length" for name in reply.headers):
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        return BytesIO(reply.body)

    def list_directory(self, path: Any) -> None:
        """A folder without ``index.html`` is a 404: a listing would be one more page of the site."""
        self.send_error(404)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: ``hits`` has it."""


def main(arguments: Sequence[str]) -> int:
    """Serve a folder while a command runs, ``{url}`` in it replaced by the server's, and return its exit code."""
    if len(arguments) < 3 or arguments[1] != "--":
        print("usage: python tests/server.py FOLDER -- COMMAND [with {url}]", file=sys.stderr)
        return 2
    with SiteServer(arguments[0]) as server:
        return subprocess.call([part.replace("{url}", server.url()) for part in arguments[2:]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
