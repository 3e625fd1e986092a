"""The spider middleware for focused crawling: requests for links that match the topic go first, template links last."""

import logging
from collections.abc import AsyncIterator
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.job import job_dir
from scrapy.utils.misc import load_object

from scrapy_pagelets.links.relevance import Distiller, Link, PageScores, Topic, examples, score
from scrapy_pagelets.page import urls
from scrapy_pagelets.session.config import focused
from scrapy_pagelets.session.crawl_session import abort_crawl, session_of
from scrapy_pagelets.session.page_context import PageContext, context_of
from scrapy_pagelets.session.raising import RaisingQueue, waiting_of
from scrapy_pagelets.session.threads import in_thread

logger = logging.getLogger(__name__)

#: Priority of a link of relevance 1. Priorities come in steps because a scheduler opens a queue, or a file, for each.
_MOST: Final = 100
_STEP: Final = 4
_TEMPLATE: Final = 10  # what a link that appears only in the template loses in a crawl without a topic
_INHERITED: Final = "_pagelets_inherited"  # request meta: relevance that a page passes on by its links, 0 to 1
_FILE: Final = "pagelets-topic.npz"
_PAGES: Final = 10  # the hubs of a site are scored after this many of its pages
_SITES: Final = 200  # sites whose hubs are remembered


class PriorityMiddleware(BaseSpiderMiddleware):
    """Raise the priority of requests by their relevance to ``PAGELETS_TOPIC``, 0 to 100; start requests get 100.

    A request that matches no link of its page, by normalised URL, gets the relevance that the page passes on; links
    that appear only in the template inherit nothing. Without a topic (``PAGELETS_PRIORITY``) they lose 10 (Bar-Yossef &
    Rajagopalan 2002, Section 4, case 2), and others keep their priority. With `RaisingQueue` and without a job,
    requests that wait are raised if a good hub links to their pages (`Distiller`). Requests keep their priority if
    their response is no page or has the meta ``pagelets_probe: False``, or if a rule ignores their links.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.session = session_of(crawler)
        if not (self.session.config.priority or focused(crawler.settings)):
            raise NotConfigured
        job = job_dir(crawler.settings)
        self._file = Path(job, _FILE) if job else None
        self.topic = self._topic()
        self._scored: WeakKeyDictionary[Response, PageScores | None] = WeakKeyDictionary()
        self._relevance = 0.0
        self._distillers: LocalCache[str, Distiller] = LocalCache(_SITES)
        queue = load_object(crawler.settings["SCHEDULER_PRIORITY_QUEUE"])
        #: None if requests that wait cannot be raised.
        self._waiting = waiting_of(crawler) if self.topic and not job and issubclass(queue, RaisingQueue) else None
        crawler.signals.connect(self.spider_closed, signals.spider_closed)

    def _topic(self) -> Topic | None:
        if not focused(self.crawler.settings):
            return None
        if find_spec("sklearn") is None:
            abort_crawl(self.crawler, "PAGELETS_TOPIC needs scikit-learn: pip install 'scrapy-pagelets[topic]'")
        texts = [self.session.config.topic]
        for name in self.session.config.topic_pages:
            try:
                texts += examples(Path(name))
            except ValueError as error:
                self.session.warn("priority/examples_failed", "PAGELETS_TOPIC_PAGES: %s", error)
        try:
            topic = Topic(texts)
        except ValueError as error:
            sentence = "the crawl has no topic (%s): set PAGELETS_TOPIC to other words"
            self.session.warn("priority/no_topic", sentence, error)
            return None
        if self._file is not None and self._file.exists():
            try:
                topic.load(self._file)
            except ValueError as error:
                self.session.warn("store/failed", "%s; word counts start from zero", error)
        return topic

    async def process_spider_output_async(  # type: ignore[override]  # Scrapy deprecates the argument `spider`
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for output in result:
            if isinstance(output, Request):
                if response not in self._scored:
                    self._remember(response, await in_thread(self._scored_links, self._context(response), response))
                yield self.get_processed_request(output, response)
            else:
                yield output
        for request in await self._distilled(response):
            yield request

    async def _distilled(self, response: Response) -> list[Request]:
        """Requests that wait and whose links are on good hubs of the site of a response, with a higher priority."""
        scores = self._scored.get(response)
        if self._waiting is None or scores is None:
            return []
        distiller = self._distiller_of(urls.site_of(response.url))
        distiller.add(urls.key(response.url), scores.relevance, scores.lists)
        if distiller.added % _PAGES:
            return []
        expected = await in_thread(distiller.expected)
        raised = [self._waiting.raised(page, _priority(relevance)) for page, relevance in expected.items()]
        found = [request for request in raised if request is not None]
        self.session.count("priority/raised", len(found))
        return found

    def _distiller_of(self, site: str) -> Distiller:
        distiller = self._distillers[site] = self._distillers.pop(site, Distiller())
        return distiller

    def get_processed_request(self, request: Request, response: Response | None) -> Request:
        if response is None:
            request.priority += _MOST if self.topic else 0
            return request
        if response not in self._scored:  # older versions of Scrapy pass the output of plain callbacks synchronously
            self._remember(response, self._scored_links(self._context(response), response))
        if (scores := self._scored[response]) is not None:
            self._add_priority(request, scores)
        return request

    def _context(self, response: Response) -> PageContext | None:
        """The context of a response, None if its links are not scored."""
        return context_of(response, self.session) if response.meta.get("pagelets_probe", True) else None

    def _scored_links(self, context: PageContext | None, response: Response) -> PageScores | None:
        if context is None:
            return None
        try:
            scores, page = score(context.record.cut(), self.topic, response.meta.get(_INHERITED, 0.0)), context.page
            ignored = {int(page.nodes.links.key[i]) for i in page.marks.ignored_links}
            return scores._replace(ignored=frozenset(ignored - {0} - scores.links.keys()))
        except Exception:
            context.fail()
            return None

    def _remember(self, response: Response, scores: PageScores | None) -> None:
        self._scored[response] = scores
        if scores is not None:
            self.session.count("priority/pages")
            self._relevance += scores.relevance

    def _add_priority(self, request: Request, page: PageScores) -> None:
        key = urls.key(request.url)
        if key in page.ignored:
            self.session.count("priority/ignored")
            return
        self.session.count("priority/requests" if key in page.links else "priority/unmatched")
        link = page.links.get(key, Link(page.inherited, template=False))
        if link.template:
            self.session.count("priority/template")
        if self.topic is None:
            request.priority -= _TEMPLATE * link.template
            return
        added = _priority(link.relevance)
        request.priority += added
        request.meta[_INHERITED] = 0.0 if link.template else page.inherited
        if self._waiting is not None:
            self._waiting.add(request, added)

    async def spider_closed(self) -> None:
        if not (pages := self.session.stat("priority/pages")):
            return
        self.session.stats.set_value("pagelets/priority/relevance", round(self._relevance / pages, 4))
        sentence = (
            "scored the links of %d pages, whose mean relevance is %.3f; %d requests are for links of templates alone"
        )
        logger.info(sentence, pages, self._relevance / pages, self.session.stat("priority/template"))
        if self.topic is not None and self._file is not None:
            try:
                await in_thread(self.topic.save, self._file)
            except OSError as error:
                self.session.warn("store/failed", "%s cannot be written: %s", self._file, error)


def _priority(relevance: float) -> int:
    return _STEP * round(_MOST / _STEP * sqrt(relevance))  # few relevances exceed 0.25
