"""Responses: which are pages, which end early, which were rendered; and their stores, on disk and in Redis."""

import json
import logging
import shutil
import tempfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, TypeGuard
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Headers, HtmlResponse, Response
from scrapy.responsetypes import responsetypes

from scrapy_pagelets.archives.unpacking import other_type
from scrapy_pagelets.base.transactions import whole_file
from scrapy_pagelets.rendering.snapshot import Frame
from scrapy_pagelets.shared.server import RedisProblem, Server

logger = logging.getLogger(__name__)

_META: Final = ("download_latency", "download_slot")  # keys of request meta that are stored with a response
_REST: Final = 32  # hexadecimal digits of a key of `prober.key_of_response` behind the fingerprint of the request
_LENGTH: Final = 4  # bytes at the end of a gzip body with the length of what is packed, modulo (RFC 1952)
_UNFINISHED: Final = ".new"  # suffix of a file that is being written


class ResponseStore:
    """A folder of responses, by key. What cannot be written stays in memory; ``failed`` is told of that."""

    def __init__(self, lasting: Path | None, failed: Callable[[str], None] = logger.warning) -> None:
        self._lasting = lasting  # a folder that outlives the process; None for a temporary one
        self._folder = lasting  # None until a temporary one is needed
        self._failed = failed
        self._in_memory: dict[str, bytes] = {}
        #: The responses on disk: each request asks for one, and a look into the folder takes longer than the answer.
        self._on_disk: set[str] = set()
        if lasting is not None:
            with suppress(OSError):  # there is no folder yet, or it cannot be used, which `put` reports
                self._on_disk.update(path.name for path in lasting.iterdir() if path.suffix != _UNFINISHED)
                for new in lasting.glob(f"*{_UNFINISHED}"):  # a killed process was writing it
                    new.unlink()

    @cached_property
    def _writable(self) -> Path | None:
        """The folder, which is made when it is first needed; None if it cannot be used."""
        try:
            self._folder = self._folder or Path(tempfile.mkdtemp(prefix="pagelets-"))
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._failed(f"pages cannot be stored on disk and stay in memory: {error}")
            return None
        return self._folder

    def put(self, key: str, response: Response) -> None:
        """Store a response, replacing one with the same key."""
        self._in_memory[key] = packed(response)
        self._on_disk.discard(key)
        if (folder := self._writable) is None:
            return
        try:
            with whole_file(folder / key, _UNFINISHED) as new:
                new.write_bytes(self._in_memory[key])
        except OSError as error:
            self._failed(f"a page cannot be stored on disk and stays in memory: {error}")
        else:
            self._on_disk.add(key)
            del self._in_memory[key]

    def has(self, key: str) -> bool:
        """True if a response with this key is stored."""
        return key in self._in_memory or self.lasts(key)

    def lasts(self, key: str) -> bool:
        """True if a response with this key is stored on disk, where it outlives the process if the folder does."""
        return key in self._on_disk

    def keys(self, prefix: str) -> list[str]:
        """Return the keys with a prefix of the responses on disk, those of earlier runs included."""
        return [key for key in sorted(self._on_disk) if key.startswith(prefix)]

    def take(self, key: str) -> Response | None:
        """Remove and return a response, None if there is none; its request has the stored meta."""
        response = self.read(key)
        self.remove(key)
        return response

    def remove(self, key: str) -> None:
        """Remove a response, if there is one."""
        self._in_memory.pop(key, None)
        self._on_disk.discard(key)
        if self._folder is not None:
            with suppress(NotADirectoryError):  # the folder could not be made
                (self._folder / key).unlink(missing_ok=True)

    def read(self, key: str) -> Response | None:
        """Return a response without removing it; None if there is none, or if it cannot be read."""
        try:
            if (content := self._in_memory.get(key)) is None:
                if self._folder is None or not (path := self._folder / key).exists():
                    return None
                content = path.read_bytes()
            return unpacked(content)
        except OSError as error:
            self._failed(f"{path} cannot be read: {error}")
        except Exception as error:  # damaged: what is made of it can raise anything
            self._failed(f"the stored page {key} cannot be read: {error!r}")
        return None

    def close(self) -> None:
        """Remove a temporary folder."""
        if self._lasting is None and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def fingerprint_in(key: str) -> str:
    """Return the fingerprint of the request in a key of `prober.key_of_response`."""
    return key[:-_REST]


def packed(response: Response) -> bytes:
    """Serialise a response to bytes: a line of JSON, and the body."""
    request, address = response.request, response.ip_address
    about = {
        "url": response.url,
        "status": response.status,
        "headers": {
            name.decode("latin-1"): [value.decode("latin-1") for value in values]
            for name, values in response.headers.items()
        },
        "flags": response.flags,
        "ip_address": None if address is None else str(address),
        "protocol": response.protocol,
        "frames": response.frames if isinstance(response, RenderedResponse) else (),
        "meta": {key: request.meta[key] for key in _META if key in request.meta} if request is not None else {},
        "length": len(response.body),
    }
    return json.dumps(about).encode() + b"\n" + response.body


def unpacked(content: bytes) -> Response:
    """Restore a response from the result of ``packed``; anything else raises some exception."""
    head, _, body = content.partition(b"\n")
    about = json.loads(head)
    frames, meta, address = about.pop("frames"), about.pop("meta"), about.pop("ip_address")
    if len(body) != about.pop("length"):
        raise ValueError("it is cut")
    about["headers"] = Headers(about["headers"], encoding="latin-1")
    about["ip_address"] = None if address is None else ip_address(address)
    about["request"] = Request(about["url"], meta=meta) if meta else None
    if frames:
        return RenderedResponse(body=body, frames=[Frame(*frame) for frame in frames], **about)
    return responsetypes.from_args(headers=about["headers"], url=about["url"], body=body)(body=body, **about)


FRAMES: Final = "_pagelets_frames"  # request meta: the frames of a page rendered for a template


class RenderedResponse(HtmlResponse):
    """A response as it was received, with its rendered frames, see `snapshot.page_of`; copies keep them."""

    attributes = (*HtmlResponse.attributes, "frames")

    def __init__(self, *args: Any, frames: Sequence[Frame] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.frames = tuple(frames)


class SharedResponses:
    """Responses in Redis, by key, for pages that are loaded for templates: lost ones are fetched again."""

    def __init__(self, server: Server, failed: Callable[[str], None]) -> None:
        self._server = server
        self._failed = failed
        self._expected: set[str] = set()  # fingerprints of requests in this process whose responses may be stored

    def expect(self, page: str) -> None:
        """Note that the response of a request may be stored: `has` does not ask Redis, the reactor calls it."""
        self._expected.add(page)

    def has(self, key: str) -> bool:
        """True if the response may be stored."""
        return fingerprint_in(key) in self._expected

    def put(self, key: str, response: Response) -> None:
        """Store a response."""
        prefix, content = self._server.key, zlib.compress(packed(response), 1)

        def put(redis: Any) -> None:
            with redis.pipeline() as pipe:  # both or none: what nothing names would stay
                pipe.hset(prefix + "responses", key, content)
                pipe.sadd(prefix + "probed", fingerprint_in(key))
                pipe.execute()

        try:
            self._server.call(put)
        except RedisProblem as error:
            self._failed(f"a page that was loaded for a template cannot be stored and will be fetched again: {error}")

    def take(self, key: str) -> Response | None:
        """Remove and return a response, None if there is none."""
        prefix = self._server.key
        self._expected.discard(fingerprint_in(key))
        try:
            # No transaction: Redis refuses those when it is full. No other process asks for this response.
            content: Any = self._server.call(lambda redis: redis.hget(prefix + "responses", key))
            self._server.call(lambda redis: redis.hdel(prefix + "responses", key))
            return None if content is None else unpacked(zlib.decompress(content))
        except RedisProblem as error:  # the crawl is closing, or stops for this
            logger.warning("the stored page %s cannot be read: %s", key, error)
        except Exception as error:  # damaged: what is made of it can raise anything
            self._failed(f"the stored page {key} cannot be read and will be fetched again: {error!r}")
        return None


def is_html(response: Response) -> TypeGuard[HtmlResponse]:
    """Return True for a response that is labelled HTML and is not something else by its first bytes."""
    return isinstance(response, HtmlResponse) and not other_type(response.body)


class CutBodies:
    """Reports the URLs of pages whose gzip ends early, which Scrapy unpacks as far as it goes."""

    def __init__(self, crawler: Crawler, report: Callable[[str], None]) -> None:
        self._report = report
        self._lengths: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        crawler.signals.connect(self.response_received, signals.response_received)

    def arrived(self, request: Request, response: Response) -> None:
        """Remember the length that the page of a packed response should have."""
        if (response.headers.get("Content-Encoding") or b"").strip().lower() in (b"gzip", b"x-gzip"):
            self._lengths[request] = int.from_bytes(response.body[-_LENGTH:], "little")

    def response_received(self, response: Response, request: Request) -> None:
        """Compare the length that it has."""
        length = self._lengths.pop(request, None)
        is_cut = length is not None and length != len(response.body) % (1 << 8 * _LENGTH)
        if is_html(response) and (is_cut or "dataloss" in response.flags):
            self._report(response.url)
