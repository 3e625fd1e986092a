"""Fingerprints of the answered requests, saved if the crawl has a job directory."""

from __future__ import annotations

from collections import deque

from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.recent_keys import RecentKeys
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
            self._answered.add(key_of(fingerprint))
        self._new: deque[str] = deque()

    def add_answered(self, fingerprint: str) -> None:
        """Remember that a request was answered, by any response or error."""
        self._answered.add(key_of(fingerprint))
        if self._job:
            self._new.append(fingerprint)

    def is_answered(self, fingerprint: str) -> bool:
        """True if the request is among the last that were answered."""
        return key_of(fingerprint) in self._answered

    def save(self, least: int = 1) -> None:
        """Save the new fingerprints if there are at least ``least``; runs in a thread."""
        if self._job and len(self._new) >= least:
            self._store.add_answered(self._job, [self._new.popleft() for _ in range(len(self._new))])


def key_of(name: str) -> int:
    """Return a hash of a fingerprint or another name for `RecentKeys`, 63 bits."""
    return xxh3_64_intdigest(name.encode("utf-8", "surrogatepass")) >> 1
