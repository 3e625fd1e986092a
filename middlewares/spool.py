"""Responses on disk, until somebody asks for them."""

from __future__ import annotations

import logging
import pickle
import shutil
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from scrapy_pagelets.middlewares.rendered import RenderedResponse

logger = logging.getLogger(__name__)


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
        self._unwritten: dict[str, bytes] = {}

    @cached_property
    def _folder(self) -> Path | None:
        """Made when first used; None if that fails."""
        try:
            folder = self._lasting or Path(tempfile.mkdtemp(prefix="pagelets-"))
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._failed(f"pages cannot be put aside on disk and stay in memory: {error}")
            return None
        return folder

    def put(self, token: str, response: Response) -> None:
        """Store a response; one of the same token is replaced."""
        frames = response.frames if isinstance(response, RenderedResponse) else ()
        kept = (response.url, response.status, dict(response.headers), response.body, frames)
        content = pickle.dumps(kept, pickle.HIGHEST_PROTOCOL)
        self._unwritten[token] = content
        if self._folder is None:
            return
        try:
            _replace(self._folder / token, content)
        except OSError as error:
            self._failed(f"a page cannot be put aside on disk and stays in memory: {error}")
        else:
            del self._unwritten[token]

    def has(self, token: str) -> bool:
        """True if a response of this token is stored."""
        return token in self._unwritten or self.lasts(token)

    def lasts(self, token: str) -> bool:
        """True if a response of this token is stored on disk, where it outlives the process if the folder does."""
        return token not in self._unwritten and self._folder is not None and (self._folder / token).exists()

    def tokens(self, prefix: str) -> list[str]:
        """The tokens of an earlier run that begin with something."""
        found = self._lasting.glob(f"{prefix}*") if self._lasting is not None else ()
        return sorted(path.name for path in found if path.suffix != ".new")

    def take(self, token: str) -> Response | None:
        """Take a response out, None if there is none of this token."""
        response = self.read(token)
        self._unwritten.pop(token, None)
        if self._folder is not None:
            (self._folder / token).unlink(missing_ok=True)
        return response

    def read(self, token: str) -> Response | None:
        """A response that stays here, None if there is none of this token, or none that can be read."""
        if (content := self._unwritten.get(token)) is None:
            if self._folder is None or not (path := self._folder / token).exists():
                return None
            try:
                content = path.read_bytes()
            except OSError as error:
                logger.warning("%s cannot be read: %s", path, error)
                return None
        try:
            url, status, headers, body, frames = pickle.loads(content)
        except Exception as error:  # cut off, or of another version: whatever unpickling ends with
            logger.warning("a page that was put aside as %s cannot be read: %r", token, error)
            return None
        if frames:
            return RenderedResponse(url=url, status=status, headers=headers, body=body, frames=frames)
        kind = responsetypes.from_args(headers=Headers(headers), url=url, body=body)
        return kind(url=url, status=status, headers=headers, body=body)

    def close(self) -> None:
        """Remove the folder of a crawl without job directory."""
        if self._lasting is None and (folder := vars(self).get("_folder")) is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _replace(path: Path, content: bytes) -> None:
    """Write a file that is never seen half-written."""
    new = path.with_name(path.name + ".new")
    try:
        new.write_bytes(content)
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
