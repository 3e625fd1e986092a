"""A priority queue of Scrapy whose requests can be raised while they wait."""

from typing import Final
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.utils.datatypes import LocalCache

from scrapy_pagelets.base.caches import RecentKeys
from scrapy_pagelets.page import urls
from scrapy_pagelets.session.requests import fingerprint_of, key_of

_COPY: Final = "_pagelets_raised"  # request meta of a copy that overtakes its original
_MOST: Final = 50_000  # requests that can be raised, and that have left the queue; the oldest are forgotten


class WaitingRequests:
    """The requests of a crawl that wait in its queue, and those that have left it."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        #: Key of the URL -> the request, and how much of its priority can be replaced.
        self._waiting: LocalCache[int, tuple[Request, int]] = LocalCache(_MOST)
        self._left = RecentKeys(_MOST)
        #: Key of the fingerprint -> a raised request that still waits, and whether its copy has overtaken it.
        self._raised: dict[int, tuple[Request, bool]] = {}
        crawler.signals.connect(self.dropped, signals.request_dropped)

    def add(self, request: Request, added: int = 0) -> None:
        """Remember a request that is about to be queued; being raised replaces the ``added`` part of its priority."""
        if request.method == "GET" and not request.body and self._key(request) not in self._left:
            self._waiting.setdefault(urls.key(request.url), (request, added))

    def dropped(self, request: Request) -> None:
        """Forget a request that is not queued, because the dupefilter knows it."""
        page = urls.key(request.url)
        if self._waiting.get(page, (None, 0))[0] is request:
            del self._waiting[page]

    def raised(self, page: int, priority: int) -> Request | None:
        """Return a copy of the request for a page, by its key, with another added priority; None without one."""
        request, added = self._waiting.get(page, (None, 0))
        if request is None or added >= priority:
            return None
        del self._waiting[page]
        self._raised[self._key(request)] = request, False
        higher = request.priority - added + priority
        return request.replace(priority=higher, dont_filter=True, meta={**request.meta, _COPY: True})

    def leaves(self, request: Request) -> bool:
        """Note that a request left the queue. Return False if it or its copy left before; retries do not count."""
        key = self._key(request)
        self._left.add(key)
        self._waiting.pop(urls.key(request.url), None)
        original, is_overtaken = self._raised.get(key, (None, False))
        if request.meta.pop(_COPY, False):  # a retry of the copy would inherit it
            if original is not None:
                self._raised[key] = original, True
            return original is not None
        if request is original:
            del self._raised[key]
            return not is_overtaken
        return True

    def _key(self, request: Request) -> int:
        return key_of(fingerprint_of(self._crawler, request))


_crawls: WeakKeyDictionary[Crawler, WaitingRequests] = WeakKeyDictionary()


def waiting_of(crawler: Crawler) -> WaitingRequests:
    """The waiting requests of a crawl."""
    if crawler not in _crawls:
        _crawls[crawler] = WaitingRequests(crawler)
    return _crawls[crawler]


class RaisingQueue(ScrapyPriorityQueue):
    """Scrapy's queue that serves all requests strictly by priority; of a raised request, the second one is dropped."""

    def pop(self) -> Request | None:
        """Take the next request."""
        while (request := super().pop()) is not None:
            if waiting_of(self.crawler).leaves(request):
                return request
        return None
