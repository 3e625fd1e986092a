"""What is learnt in a crawl and outlives the process, if the crawl has a job directory."""

from __future__ import annotations

import logging
import pickle
import threading
from collections import OrderedDict
from io import BytesIO
from pathlib import Path
from typing import Any, Final, Self

from scrapy_pagelets.templates.site import Sites

logger = logging.getLogger(__name__)

_MAX_ANSWERED: Final = 100_000


class Memory:
    """The sites, and the fingerprints of the last requests of the spider that were answered."""

    def __init__(self, path: Path | None, model: str) -> None:
        self.sites = Sites(model)
        self._answered: OrderedDict[str, None] = OrderedDict()
        self._path = path

    @classmethod
    def load(cls, path: Path | None, model: str) -> Self:
        """The memory of the job, an empty one where there is none."""
        memory = cls(path, model)
        if path is not None and path.exists():
            try:
                memory.sites, memory._answered = pickle.loads(path.read_bytes())
            except Exception as error:  # cut off, or of another version: whatever unpickling ends with
                logger.warning("%s cannot be read, the templates are learnt again: %r", path, error)
        return memory

    def save(self) -> None:
        """Keep it for the next run of the job."""
        if self._path is None:
            return
        file = BytesIO()
        try:
            _Pickler(file, pickle.HIGHEST_PROTOCOL).dump((self.sites, self._answered))
            replace(self._path, file.getvalue())
        except (OSError, pickle.PicklingError) as error:
            logger.error(
                "%s cannot be written, the next run of the job learns the templates again: %s", self._path, error
            )

    def add_answered(self, fingerprint: str) -> None:
        """Remember that a request was answered, by whatever."""
        self._answered[fingerprint] = None
        if len(self._answered) > _MAX_ANSWERED:
            self._answered.popitem(last=False)

    def is_answered(self, fingerprint: str) -> bool:
        """True if the request was answered not too long ago."""
        return fingerprint in self._answered


class _Pickler(pickle.Pickler):
    """Locks guard what is learnt while it is learnt; the next process makes its own."""

    def reducer_override(self, value: Any) -> Any:
        return (threading.Lock, ()) if isinstance(value, _LOCK) else NotImplemented


_LOCK: Final = type(threading.Lock())


def replace(path: Path, content: bytes) -> None:
    """Write a file that is never seen half-written."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(content)
    new.replace(path)
