"""The extensions that log a summary of each site, and that prepare the process for a crawl."""

from __future__ import annotations

import logging

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from scrapy_pagelets.base.characters import visible
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.crawler.preparation import COLLECTOR, prepare
from scrapy_pagelets.papers.shared_pagelets.incremental import RepeatedPagelets
from scrapy_pagelets.session.crawl_session import Component
from scrapy_pagelets.session.scrapy_hooks import is_for_single_pages
from scrapy_pagelets.session.threads import in_thread

logger = logging.getLogger(__name__)


class SiteReport(Component):
    """Log a summary of each site when the spider closes."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawler.signals.connect(self.spider_closed, signals.spider_closed)

    def spider_closed(self) -> None:
        sites = self.session.sites.summary()
        for site, pages, page_classes in sites:
            name = site or "files without a site"
            logger.info("%s: %s, %s", name, counted(pages, "page"), counted(page_classes, "template"))
            if pages == 1:
                sentence = "%s: a single page does not reveal its template; what was stripped is a guess"
                self.session.warn("sites/of_one_page", sentence, name)
        self.session.count("sites", len(sites))
        self.session.count("templates", sum(page_classes for _, _, page_classes in sites))
        if self.session.sites.repeated is not None:
            self._report_shared(self.session.sites.repeated)
        if not is_for_single_pages(self.crawler):
            self._report_rules()

    def _report_rules(self) -> None:
        rules, name = self.session.rules, self.session.config.rules
        for stat, sentence, without in (
            ("rules/no_page", "no page came from the hosts of these rules of %s: %s", rules.without_page()),
            ("rules/no_element", "these selectors of %s matched nothing on any page: %s", rules.without_element()),
        ):
            if without:
                self.session.count(stat, len(without))
                logger.warning(sentence, visible(name), visible(", ".join(without)))

    def _report_shared(self, shared: RepeatedPagelets) -> None:
        for shares in shared.shares():
            logger.info("%s: of %d pagelets, %d repeat on the site and %d on pages that link each other", *shares[:4])
            for name in ("pagelets", "local", "linked", "near"):
                self.session.count(f"detection/{name}", getattr(shares, name))
        for sisters in shared.sisters():
            logger.info("%s and %s link each other and have %d templates in common", *sisters)
            self.session.count("detection/sisters")
        if shared.full:
            sentence = "there are more pagelets than can be counted: the last pages were not counted"
            self.session.warn("detection/full", sentence)


class Preparation(Component):
    """Call `prepare` before the first page, and let the `GarbageCollector` work as long as the crawl runs."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if is_for_single_pages(crawler):
            raise NotConfigured
        crawler.signals.connect(self.spider_opened, signals.spider_opened)
        crawler.signals.connect(self.engine_stopped, signals.engine_stopped)
        self._open = False

    async def spider_opened(self) -> None:
        await in_thread(prepare, self.session.config)
        self._open = True
        COLLECTOR.begin()

    def engine_stopped(self) -> None:
        if self._open:
            self._open = False
            COLLECTOR.end()
