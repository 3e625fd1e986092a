"""Focused crawling: links that are likely to lead to the topic go first, those of templates last."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from math import sqrt
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.job import job_dir

from scrapy_pagelets import urls
from scrapy_pagelets.links.relevance import Link, Seen, Topic, Weighed, examples, weigh
from scrapy_pagelets.session.config import focused
from scrapy_pagelets.session.crawl_session import session_of
from scrapy_pagelets.session.page_context import PageContext, context_of
from scrapy_pagelets.session.threads import in_thread

logger = logging.getLogger(__name__)

#: Priority of a link that could not be more relevant, in steps: a scheduler opens a queue, or a file, for each.
_MOST: Final = 100
_STEP: Final = 4
#: What a link loses if it stands in nothing but template and its target was seen in one before.
_TEMPLATE: Final = 10
#: Request meta: what a page hands down to those that it links to, from 0 to 1.
_INHERITED: Final = "_pagelets_inherited"
_FILE: Final = "pagelets-topic.npz"


class PriorityMiddleware(BaseSpiderMiddleware):
    """Add to the priorities of requests: 0 to 100 for what they have to do with ``PAGELETS_TOPIC``, start requests 100.

    A request is matched by its normalised URL with the links of the page that it comes from; one that is no link of it
    gets what the page hands down. To links that stand in nothing but template it hands nothing down, and they lose 10
    unless their target is seen for the first time on the site. Without a topic (``PAGELETS_PRIORITY``) only this loss
    remains.

    Pages are cut once, for this and for the pipelines, in a thread, and only if they yield requests. Responses that are
    no pages, and those with request meta ``pagelets_probe: False``, leave their requests as they are.

    Stats: ``pagelets/priority/pages`` were weighed, ``.../requests`` matched with links of theirs, ``.../unmatched``
    not; ``.../template`` lost priority; ``.../relevance`` is the mean of the pages.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.session = session_of(crawler)
        if not (self.session.config.priority or focused(crawler.settings)):
            raise NotConfigured
        job = job_dir(crawler.settings)
        self._file = Path(job, _FILE) if job else None
        self.topic = self._topic()
        self._seen = Seen()
        self._weighed: WeakKeyDictionary[Response, tuple[Weighed, set[int]] | None] = WeakKeyDictionary()
        self._relevance = 0.0
        crawler.signals.connect(self.spider_closed, signals.spider_closed)

    def _topic(self) -> Topic | None:
        """The topic of the crawl, None if there is nothing to make it of."""
        if not focused(self.crawler.settings):
            return None
        texts = [self.session.config.topic]
        for name in self.session.config.topic_pages:
            try:
                texts += examples(Path(name))
            except ValueError as error:
                self.session.tell("priority/examples_failed", "PAGELETS_TOPIC_PAGES: %s", error)
        try:
            topic = Topic(texts)
        except ValueError as error:
            self.session.tell(
                "priority/no_topic", "the crawl has no topic, %s: set PAGELETS_TOPIC to other words", error
            )
            return None
        if self._file is not None and self._file.exists():
            try:
                topic.load(self._file)
            except ValueError as error:
                self.session.tell("store/failed", "%s: words are counted anew", error)
        return topic

    async def process_spider_output_async(  # type: ignore[override]  # Scrapy deprecates the argument `spider`
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for found in result:
            if isinstance(found, Request):
                if response not in self._weighed:
                    visit = self._visit(response)
                    self._take(response, visit, await in_thread(self._look, visit, response))
                yield self.get_processed_request(found, response)
            else:
                yield found

    def get_processed_request(self, request: Request, response: Response | None) -> Request:
        if response is None:
            request.priority += _MOST if self.topic else 0
            return request
        if response not in self._weighed:  # an older Scrapy, which does not wait for what plain callbacks yield
            visit = self._visit(response)
            self._take(response, visit, self._look(visit, response))
        if (weighed := self._weighed[response]) is not None:
            self._add(request, *weighed)
        return request

    def _visit(self, response: Response) -> PageContext | None:
        """The page of a response, None if its links are not to be weighed."""
        return context_of(response, self.session) if response.meta.get("pagelets_probe", True) else None

    def _look(self, visit: PageContext | None, response: Response) -> Weighed | None:
        """Weigh the links of a page; for a thread."""
        if visit is None:
            return None
        try:
            return self.weigh(visit, response.meta.get(_INHERITED, 0.0))
        except Exception:
            visit.fail()
            return None

    def weigh(self, visit: PageContext, inherited: float) -> Weighed:
        """The links of a page by its pagelets."""
        return weigh(visit.pagelets(), self.topic, inherited)

    def _take(self, response: Response, visit: PageContext | None, weighed: Weighed | None) -> None:
        if visit is None or weighed is None:
            self._weighed[response] = None
            return
        template = [key for key, link in weighed.links.items() if link.template]
        self._weighed[response] = weighed, self._seen.again(visit.page.site, template)
        self.session.count("priority/pages")
        self._relevance += weighed.relevance

    def _add(self, request: Request, page: Weighed, again: set[int]) -> None:
        key = _key(request)
        self.session.count("priority/requests" if key in page.links else "priority/unmatched")
        link = page.links.get(key, Link(page.inherited, template=False))
        request.priority += _STEP * round(_MOST / _STEP * sqrt(link.relevance))  # the root: few are above one quarter
        if key in again:
            request.priority -= _TEMPLATE
            self.session.count("priority/template")
        if self.topic is not None:
            request.meta[_INHERITED] = 0.0 if link.template else page.inherited

    async def spider_closed(self) -> None:
        stats = self.session.stats
        pages = stats.get_value("pagelets/priority/pages", 0) if stats is not None else 0
        if stats is None or not pages:
            return
        stats.set_value("pagelets/priority/relevance", round(self._relevance / pages, 4))
        logger.info(
            "priorities for the links of %d pages, whose mean relevance was %.3f; %d lost some to templates",
            pages,
            self._relevance / pages,
            stats.get_value("pagelets/priority/template", 0),
        )
        if self.topic is not None and self._file is not None:
            try:
                await in_thread(self.topic.save, self._file)
            except OSError as error:
                self.session.tell("store/failed", "%s cannot be written: %s", self._file, error)


def _key(request: Request) -> int:
    """Key of the page that is asked for, 0 for a URL that cannot be read."""
    try:
        return urls.key(request.url)
    except ValueError:
        return 0
