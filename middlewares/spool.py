"""Responses on disk, until somebody asks for them."""

from __future__ import annotations

import pickle
import shutil
import tempfile
from pathlib import Path
from typing import cast

from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes


class Spool:
    """A folder of responses by token. In the job directory they outlive the process, else they go with it.

    Parameters
    ----------
    job : job directory, None if the crawl has none
    """

    def __init__(self, job: str | None) -> None:
        self._lasting = job is not None
        self._job = job
        self._path: Path | None = None

    @property
    def folder(self) -> Path:
        """The folder, made when first used."""
        if self._path is None:
            self._path = Path(self._job, "pagelets-responses") if self._job else Path(tempfile.mkdtemp(prefix="pagelets-"))
            self._path.mkdir(parents=True, exist_ok=True)
        return self._path

    def put(self, token: str, response: Response) -> None:
        """Store a response; one of the same token is replaced."""
        kept = (response.url, response.status, dict(response.headers), response.body)
        with open(self.folder / token, "wb") as file:
            pickle.dump(kept, file, pickle.HIGHEST_PROTOCOL)

    def take(self, token: str) -> Response | None:
        """Take a response out, None if there is none of this token."""
        path = self.folder / token
        try:
            url, status, headers, body = pickle.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        path.unlink()
        kind = responsetypes.from_args(headers=Headers(headers), url=url, body=body)
        return cast(Response, kind(url=url, status=status, headers=headers, body=body))

    def close(self) -> None:
        """Remove the folder of a crawl without job directory."""
        if self._path and not self._lasting:
            shutil.rmtree(self._path, ignore_errors=True)
