"""Fingerprints of the answered requests, saved if the crawl has a job directory."""

from __future__ import annotations

from collections import deque

from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.caches import RecentKeys
from scrapy_pagelets.sites.site_store import MAX_ANSWERED, SiteStore


class AnsweredRequests:
    """The fingerprints of the last requests of the spider that were answered.

    Parameters
    ----------
    store : where they are saved
    job : the job directory; None to save nothing
    """

    def __init__(self, store: SiteStore, job: str | None) -> None:
        self._store = store
        self._job = job
        self._answered = RecentKeys(MAX_ANSWERED)
        for fingerprint in store.answered(job) if job else ():
            self._answered.add(_key(fingerprint))
        self._new: deque[str] = deque()

    def add_answered(self, fingerprint: str) -> None:
        """Remember that a request was answered, by any response or error."""
        self._answered.add(_key(fingerprint))
        if self._job:
            self._new.append(fingerprint)

    def is_answered(self, fingerprint: str) -> bool:
        """True if the request is among the last that were answered."""
        return _key(fingerprint) in self._answered

    def save(self, least: int = 1) -> None:
        """Save the new fingerprints if there are at least ``least``; runs in a thread."""
        if self._job and len(self._new) >= least:
            self._store.add_answered(self._job, [self._new.popleft() for _ in range(len(self._new))])


def _key(fingerprint: str) -> int:
    """A hash of a fingerprint, 63 bits; a fingerprinter of the project may give any text."""
    return xxh3_64_intdigest(fingerprint.encode()) >> 1
