"""A store of responses on disk."""

from __future__ import annotations

import logging
import pickle
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from scrapy import Request
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from scrapy_pagelets.session.rendered_response import RenderedResponse

logger = logging.getLogger(__name__)

#: Keys of request meta that are stored with a response.
_META: Final = ("download_latency", "download_slot")
#: Number of hexadecimal digits of a token of `identity.token_of` behind the fingerprint of the request.
_REST: Final = 32
#: Suffix of a file that is being written.
_UNFINISHED: Final = ".new"
#: The modules of pickled classes in an earlier version -> in this one.
_MOVED: Final = {"scrapy_pagelets.rendered": "scrapy_pagelets.rendering.snapshot"}


class ResponseStore:
    """A folder of responses, by token.

    Parameters
    ----------
    lasting : a folder that outlives the process; None for a temporary one
    failed : called with a sentence if a response cannot be written; the response then stays in memory
    """

    def __init__(self, lasting: Path | None, failed: Callable[[str], None] = logger.warning) -> None:
        self._lasting = lasting
        self._failed = failed
        self._unwritten: dict[str, bytes] = {}
        if lasting is not None:
            _remove_unfinished(lasting)
        #: The responses on disk: each request asks for one, and a look into the folder takes longer than the answer.
        self._written = set(self._listed())

    @cached_property
    def _folder(self) -> Path | None:
        """The folder, created when first used; None if that fails."""
        try:
            folder = self._lasting or Path(tempfile.mkdtemp(prefix="pagelets-"))
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._failed(f"pages cannot be stored on disk and stay in memory: {error}")
            return None
        return folder

    def put(self, token: str, response: Response) -> None:
        """Store a response, replacing one with the same token."""
        content = packed(response)
        self._unwritten[token] = content
        self._written.discard(token)
        if self._folder is None:
            return
        try:
            _replace(self._folder / token, content)
        except OSError as error:
            self._failed(f"a page cannot be stored on disk and stays in memory: {error}")
        else:
            self._written.add(token)
            del self._unwritten[token]

    def has(self, token: str) -> bool:
        """True if a response with this token is stored."""
        return token in self._unwritten or self.lasts(token)

    def lasts(self, token: str) -> bool:
        """True if a response with this token is stored on disk, where it outlives the process if the folder does."""
        return token in self._written

    def _path(self, token: str) -> Path | None:
        """The path for a response, without creating the folder; None if there is no folder."""
        folder: Path | None = vars(self).get("_folder", self._lasting)
        return None if folder is None else folder / token

    def tokens(self, prefix: str) -> list[str]:
        """Return the tokens with a prefix in a lasting folder, those of earlier runs included."""
        return sorted(token for token in self._listed() if token.startswith(prefix))

    def _listed(self) -> list[str]:
        """The names of the files in a lasting folder."""
        if self._lasting is not None:
            with suppress(OSError):  # there is no folder yet, or it cannot be used, which `put` reports
                return [path.name for path in self._lasting.iterdir() if path.suffix != _UNFINISHED]
        return []

    def take(self, token: str) -> Response | None:
        """Remove and return a response, None if there is none; its request has the stored meta."""
        response = self.read(token)
        self._unwritten.pop(token, None)
        self._written.discard(token)
        if (path := self._path(token)) is not None:
            path.unlink(missing_ok=True)
        return response

    def read(self, token: str) -> Response | None:
        """Return a response without removing it; None if there is none, or if it cannot be read."""
        if (content := self._unwritten.get(token)) is None:
            if (path := self._path(token)) is None or not path.exists():
                return None
            try:
                content = path.read_bytes()
            except OSError as error:
                logger.warning("%s cannot be read: %s", path, error)
                return None
        try:
            return unpacked(content)
        except Exception as error:  # truncated, or of another version: unpickling can raise anything
            logger.warning("the stored page %s cannot be read: %r", token, error)
            return None

    def close(self) -> None:
        """Remove a temporary folder."""
        if self._lasting is None and (folder := vars(self).get("_folder")) is not None:
            shutil.rmtree(folder, ignore_errors=True)


def page_of_token(token: str) -> str:
    """Return the fingerprint of the request in a token of `identity.token_of`."""
    return token[:-_REST]


def packed(response: Response) -> bytes:
    """Serialise a response to bytes."""
    frames = response.frames if isinstance(response, RenderedResponse) else ()
    about = {name: getattr(response, name) for name in ("flags", "ip_address", "protocol")}
    request = response.request
    meta = {key: request.meta[key] for key in _META if key in request.meta} if request is not None else {}
    parts = (response.url, response.status, dict(response.headers), response.body, frames, about, meta)
    return pickle.dumps(parts, pickle.HIGHEST_PROTOCOL)


def unpacked(content: bytes) -> Response:
    """Restore a response from the result of ``packed``."""
    # An earlier version did not store the last two parts.
    url, status, headers, body, frames, about, meta = (*_Unpickler(BytesIO(content)).load(), {}, {})[:7]
    about["request"] = Request(url, meta=meta) if meta else None
    if frames:
        return RenderedResponse(url=url, status=status, headers=headers, body=body, frames=frames, **about)
    kind = responsetypes.from_args(headers=Headers(headers), url=url, body=body)
    return kind(url=url, status=status, headers=headers, body=body, **about)


class _Unpickler(pickle.Unpickler):
    """An unpickler that finds classes that have moved."""

    def find_class(self, module: str, name: str) -> Any:
        return super().find_class(_MOVED.get(module, module), name)


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    new = path.with_name(path.name + _UNFINISHED)
    try:
        new.write_bytes(content)
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def _remove_unfinished(folder: Path) -> None:
    """Remove files that a killed process was writing."""
    with suppress(OSError):  # a folder that cannot be changed is reported when a response is stored
        for new in folder.glob(f"*{_UNFINISHED}"):
            new.unlink()
