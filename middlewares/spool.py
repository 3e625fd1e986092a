"""Responses on disk, until somebody asks for them."""

from __future__ import annotations

import logging
import pickle
import shutil
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Final

from scrapy import Request
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from scrapy_pagelets.middlewares.rendered import RenderedResponse

logger = logging.getLogger(__name__)

#: Meta of the request that belongs to its response.
_META: Final = ("download_latency",)


class Spool:
    """A folder of responses by token.

    Parameters
    ----------
    lasting : the folder, if it shall outlive the process; else there is one for the time of the crawl
    failed : is called with a sentence if a response cannot be written; it is then kept in memory
    """

    def __init__(self, lasting: Path | None, failed: Callable[[str], None] = logger.warning) -> None:
        self._lasting = lasting
        self._failed = failed
        self._unwritten: dict[str, Response] = {}

    @cached_property
    def _folder(self) -> Path:
        """Made when first used."""
        folder = self._lasting or Path(tempfile.mkdtemp(prefix="pagelets-"))
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def put(self, token: str, response: Response) -> None:
        """Store a response; one of the same token is replaced."""
        try:
            _replace(self._folder / token, _packed(response))
        except OSError as error:
            self._unwritten[token] = response
            self._failed(f"a page cannot be put aside on disk and stays in memory: {error}")

    def has(self, token: str) -> bool:
        """True if a response of this token is stored."""
        return token in self._unwritten or (self._folder / token).exists()

    def take(self, token: str) -> Response | None:
        """Take a response out, None if there is none of this token; its request has the meta that came with it."""
        if token in self._unwritten:
            return self._unwritten.pop(token)
        path = self._folder / token
        if not path.exists():
            return None
        try:
            return _unpacked(path.read_bytes())
        except Exception as error:  # cut off, or of another version: whatever unpickling ends with
            logger.warning("%s cannot be read, the page is fetched again: %r", path, error)
            return None
        finally:
            path.unlink()

    def close(self) -> None:
        """Remove the folder of a crawl without job directory."""
        if self._lasting is None and "_folder" in vars(self):
            shutil.rmtree(self._folder, ignore_errors=True)


def _packed(response: Response) -> bytes:
    frames = response.frames if isinstance(response, RenderedResponse) else ()
    about = {name: getattr(response, name) for name in ("flags", "ip_address", "protocol")}
    request = response.request
    meta = {key: request.meta[key] for key in _META if key in request.meta} if request is not None else {}
    kept = (response.url, response.status, dict(response.headers), response.body, frames, about, meta)
    return pickle.dumps(kept, pickle.HIGHEST_PROTOCOL)


def _unpacked(packed: bytes) -> Response:
    url, status, headers, body, frames, about, meta = pickle.loads(packed)
    about["request"] = Request(url, meta=meta) if meta else None
    if frames:
        return RenderedResponse(url=url, status=status, headers=headers, body=body, frames=frames, **about)
    kind = responsetypes.from_args(headers=Headers(headers), url=url, body=body)
    return kind(url=url, status=status, headers=headers, body=body, **about)


def _replace(path: Path, content: bytes) -> None:
    """Write a file that is never seen half-written."""
    new = path.with_name(path.name + ".new")
    try:
        new.write_bytes(content)
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
