"""Continue a job of an earlier version, which had no journal: it kept its requests and counts in Scrapy's own files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from scrapy.crawler import Crawler

from scrapy_pagelets.crawler.spiders.request_journal import RequestJournal
from scrapy_pagelets.probing.identity import STORED
from scrapy_pagelets.session.crawl_session import session_of
from scrapy_pagelets.session.fingerprints import fingerprint_of
from scrapy_pagelets.session.outgoing import FOLLOWED

#: Scrapy's files in a job directory: the requests that it has seen, and the queues that it has saved.
_SEEN: Final = "requests.seen"
_SAVED: Final = "requests.queue/active.json"


def was_killed(job: Path) -> bool:
    """True if a job without a journal was killed: Scrapy saves its queue only when a spider closes."""
    seen = job / _SEEN
    return seen.exists() and os.path.getsize(seen) > 0 and not (job / _SAVED).exists()


def take_queue(crawler: Crawler, journal: RequestJournal) -> None:
    """Move the requests of Scrapy's queue to the journal; those that cannot be written there stay in the queue."""
    engine: Any = crawler.engine
    assert crawler.spider is not None
    queue, spool, unwritten = engine._slot.scheduler, session_of(crawler).responses, []
    while (request := queue.next_request()) is not None:
        fingerprint = fingerprint_of(crawler, request)
        request.meta[FOLLOWED] = True
        request.dont_filter = True  # the dupefilter has seen it
        if spool.has(fingerprint):
            request.meta[STORED] = fingerprint
        if journal.ask(fingerprint, request, crawler.spider) is None:
            unwritten.append(request)
    for request in unwritten:
        queue.enqueue_request(request)


def take_state(state: dict[str, Any], journal: RequestJournal) -> dict[str, str]:
    """Move the counts, hosts and spare URLs of ``spider.state`` to the journal.

    Returns
    -------
    The settling pages: their tokens in the response store, and when they were fetched
    """
    held = state.pop("held", {})
    waiting = {token: time for pages in held.get("waiting", {}).values() for token, time in pages}
    received = state.pop("pages", 0) - len(waiting)
    failed = state.pop("asked", 0) - received - len(waiting) - journal.requests
    journal.add_settled(received)
    journal.add_settled(failed, page=False)
    journal.add_names("host", state.pop("hosts", ()))
    journal.add_names("settled", held.get("settled", ()))
    for url, depth in state.pop("spare", ()):
        journal.add_spare(url, depth)
    return waiting
